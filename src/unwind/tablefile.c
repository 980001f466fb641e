// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/tablefile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/debugfile.h"
#include "symbol/section.h"
#include "unwind/go.h"

#define SEGMENTS_MAX 64
#define SECTION_MAX  (64u << 20) /* bytes, also when decompressed */

struct gathered {
	struct frame_section sections[TABLE_SECTION_MAX];
	uint8_t *bytes[TABLE_SECTION_MAX]; /* theirs */
	size_t section_cnt;
	struct table_segment segments[SEGMENTS_MAX];
	size_t segment_cnt;
};

static void gather_segments(struct gathered *g, const struct elf_file *f)
{
	for (size_t i = 0; i < f->segment_cnt && g->segment_cnt < SEGMENTS_MAX; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (s->flags & PF_X)
			g->segments[g->segment_cnt++] =
				(struct table_segment){ s->vaddr, s->off, s->sz };
	}
}

/* What the section claims to have when it is unpacked, and libelf will make of it. */
static bool unpack(Elf_Scn *scn)
{
	GElf_Chdr chdr;

	return gelf_getchdr(scn, &chdr) && chdr.ch_size <= SECTION_MAX &&
	       elf_compress(scn, 0, 0) >= 0;
}

static uint8_t *read_unpacked(Elf_Scn *scn, size_t *sz)
{
	Elf_Data *data = unpack(scn) ? elf_rawdata(scn, NULL) : NULL;
	uint8_t *copy = data && data->d_buf ? malloc(data->d_size) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, data->d_buf, data->d_size);
	*sz = data->d_size;
	return copy;
}

static bool gather_section(struct gathered *g, const struct elf_file *f, const char *name, bool eh)
{
	struct frame_section *s = &g->sections[g->section_cnt];
	GElf_Shdr shdr;
	Elf_Scn *scn = elf_file__section(f, name, &shdr);
	uint8_t *data;
	size_t sz = 0;

	if (!scn || shdr.sh_size > SECTION_MAX)
		return false;
	data = shdr.sh_flags & SHF_COMPRESSED ? read_unpacked(scn, &sz)
					      : section__read(f, scn, &sz);
	if (!data)
		return false;
	*s = (struct frame_section){ data, sz, shdr.sh_addr, eh };
	g->bytes[g->section_cnt++] = data;
	return true;
}

static bool gather_debug_frame(struct gathered *g, const struct elf_file *f)
{
	return gather_section(g, f, ".debug_frame", false);
}

/* Only for a file that has nothing itself: a separate one is large and far away. */
static void gather_separate(struct gathered *g, const struct elf_file *f)
{
	struct elf_file *debug = debug_data__open(f);
	bool found = debug && gather_debug_frame(g, debug);

	elf_file__put(debug);
	debug = found ? NULL : debug_file__open(f, DEBUG_DIR);
	if (debug)
		gather_debug_frame(g, debug);
	elf_file__put(debug);
}

static bool is_plain(const struct elf_file *f)
{
	struct go_marks go;
	GElf_Ehdr ehdr;

	go_marks__find(&go, f);
	return !go.cnt && gelf_getehdr(f->elf, &ehdr) && ehdr.e_ident[EI_CLASS] == ELFCLASS64 &&
	       ehdr.e_machine == EM_X86_64;
}

struct frame_table *frame_table__of_file(struct elf_file *f)
{
	struct gathered g = { 0 };
	struct table_source source = { .machine = &callframe_x86_64, .build_id = f->build_id };
	struct frame_table *t;
	int err;

	if (!is_plain(f))
		return errno = ENOTSUP, NULL;
	gather_segments(&g, f);
	gather_section(&g, f, ".eh_frame", true);
	gather_debug_frame(&g, f);
	if (!g.section_cnt)
		gather_separate(&g, f);
	source.segments = g.segments;
	source.segment_cnt = g.segment_cnt;
	source.sections = g.sections;
	source.section_cnt = g.section_cnt;
	t = frame_table__make(&source);
	err = errno;
	for (size_t i = 0; i < g.section_cnt; i++)
		free(g.bytes[i]);
	errno = err;
	return t;
}
