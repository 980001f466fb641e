// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/tablebuild.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "elf/debugfile.h"
#include "elf/section.h"
#include "cfi/tablerows.h"
#include "elf/sectionheaders.h"
#include "cfi/sigreturn.h"

#define SEGMENTS_MAX 64
#define SECTION_MAX  (64u << 20) /* bytes, also when decompressed */
#define GAPS_MAX     256	 /* that are searched */

struct gathered {
	struct cfi_section sections[TABLE_SECTION_MAX];
	uint8_t *bytes[TABLE_SECTION_MAX]; /* owned bytes of the sections */
	size_t section_cnt;
	struct table_segment segments[SEGMENTS_MAX];
	size_t segment_cnt;
	struct table_override marks[OVERRIDE_MAX];
};

static void tablebuild_gather_segments(struct gathered *g, const struct elf_file *f)
{
	for (size_t i = 0; i < f->segment_cnt && g->segment_cnt < SEGMENTS_MAX; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (s->flags & PF_X)
			g->segments[g->segment_cnt++] =
				(struct table_segment){ s->vaddr, s->off, s->sz };
	}
}

/* Checks the declared size before libelf decompresses the section. */
static bool tablebuild_unpack(Elf_Scn *scn)
{
	GElf_Chdr chdr;

	return gelf_getchdr(scn, &chdr) && chdr.ch_size <= SECTION_MAX &&
	       elf_compress(scn, 0, 0) >= 0;
}

static uint8_t *tablebuild_read_unpacked(const struct elf_file *f, const GElf_Shdr *shdr,
					 size_t *sz)
{
	Elf_Scn *scn = elf_getscn(elf_file__elf(f), section__idx(f, shdr));
	Elf_Data *data = tablebuild_unpack(scn) ? elf_rawdata(scn, NULL) : NULL;
	uint8_t *copy = data && data->d_buf ? malloc(data->d_size) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, data->d_buf, data->d_size);
	*sz = data->d_size;
	return copy;
}

static bool tablebuild_gather_section(struct gathered *g, const struct elf_file *f,
				      const char *name, bool eh)
{
	struct cfi_section *s = &g->sections[g->section_cnt];
	GElf_Shdr shdr;
	uint8_t *data;
	size_t sz = 0;

	if (!section__named(f, name, &shdr) || shdr.sh_size > SECTION_MAX)
		return false;
	data = shdr.sh_flags & SHF_COMPRESSED ? tablebuild_read_unpacked(f, &shdr, &sz)
					      : section__read(f, &shdr, &sz);
	if (!data)
		return false;
	*s = (struct cfi_section){ data, sz, shdr.sh_addr, eh };
	g->bytes[g->section_cnt++] = data;
	return true;
}

static bool tablebuild_gather_debug_frame(struct gathered *g, const struct elf_file *f)
{
	return tablebuild_gather_section(g, f, ".debug_frame", false);
}

/* Used only for a file without call-frame information, because separate debug files are large and
 * on disk. */
static void tablebuild_gather_separate(struct gathered *g, const struct elf_file *f)
{
	struct elf_file *debug = debug_data__open(f);
	bool found = debug && tablebuild_gather_debug_frame(g, debug);

	elf_file__put(debug);
	debug = found ? NULL : debug_file__open(f, DEBUG_DIR);
	if (debug)
		tablebuild_gather_debug_frame(g, debug);
	elf_file__put(debug);
}

/* ---- code ---------------------------------------------------------------------------------------
 */

#define WINDOW_SZ (64u << 10)

/* The code that was read last: it is read in ascending order. */
struct code_window {
	const struct elf_file *file;
	uint64_t off;
	size_t sz;
	uint8_t bytes[WINDOW_SZ];
};

static bool tablebuild_move_window(struct code_window *w, uint64_t off)
{
	w->off = off;
	w->sz = off < w->file->sz && w->file->sz - off < WINDOW_SZ ? w->file->sz - off : WINDOW_SZ;
	if (elf_file__read(w->file, off, w->bytes, w->sz))
		w->sz = 0;
	return w->sz;
}

/* A table_code_fn. */
static bool tablebuild_read_code(void *arg, uint64_t off, void *to, size_t sz)
{
	struct code_window *w = arg;

	if ((off < w->off || off - w->off > w->sz || w->sz - (off - w->off) < sz) &&
	    (!tablebuild_move_window(w, off) || w->sz < sz))
		return false;
	memcpy(to, w->bytes + (off - w->off), sz);
	return true;
}

/* ---- building -----------------------------------------------------------------------------------
 */

/* The hash does not resist chosen collisions: only tables of root's files get into the cache. */
static uint64_t gathered__digest(const struct gathered *g)
{
	uint64_t digest = XXH3_64bits(g->segments, g->segment_cnt * sizeof(*g->segments));

	for (size_t i = 0; i < g->section_cnt; i++) {
		const struct cfi_section *s = &g->sections[i];

		digest = XXH3_64bits_withSeed(s->data, s->sz, digest ^ s->vaddr);
	}
	return digest;
}

static struct cfi_table *tablebuild_make(struct gathered *g, const struct elf_file *f)
{
	struct sigreturns search = sigreturn__in(f, elf_file__read, GAPS_MAX);
	struct table_source source = { .machine = f->machine,
				       .build_id = f->build_id,
				       .digest = gathered__digest(g),
				       .segments = g->segments,
				       .segment_cnt = g->segment_cnt,
				       .sections = g->sections,
				       .section_cnt = g->section_cnt,
				       .marks = g->marks,
				       .find_trampoline = sigreturn__find,
				       .find_arg = &search };
	struct cfi_table *t;
	struct overrides marks;
	int err;

	source.code_arg = malloc(sizeof(struct code_window));
	if (source.code_arg && table_source__may_read_code(g->segments, g->segment_cnt)) {
		source.read_code = tablebuild_read_code;
		*(struct code_window *)source.code_arg = (struct code_window){ .file = f };
	}
	overrides__find(&marks, f);
	source.mark_cnt = table_rows__marks(&source, &marks, g->marks);
	t = cfi_table__make(&source);
	err = errno;
	sigreturn__free(&search);
	free(source.code_arg);
	return errno = err, t;
}

static void tablebuild_gather(struct gathered *g, const struct elf_file *f)
{
	tablebuild_gather_segments(g, f);
	tablebuild_gather_section(g, f, ".eh_frame", true);
	tablebuild_gather_debug_frame(g, f);
	if (!g->section_cnt)
		tablebuild_gather_separate(g, f);
}

static void gathered__free(struct gathered *g)
{
	for (size_t i = 0; i < g->section_cnt; i++)
		free(g->bytes[i]);
}

struct cfi_table *cfi_table__of_file(struct elf_file *f)
{
	struct gathered g = { 0 };
	struct cfi_table *t;
	int err;

	if (!f->machine)
		return errno = ENOTSUP, NULL;
	tablebuild_gather(&g, f);
	t = tablebuild_make(&g, f);
	err = errno;
	gathered__free(&g);
	errno = err;
	return t;
}

uint64_t cfi_table__digest(const struct elf_file *f)
{
	struct gathered g = { 0 };
	uint64_t digest;

	tablebuild_gather(&g, f);
	digest = gathered__digest(&g);
	gathered__free(&g);
	return digest;
}

/* ---- lazy tables --------------------------------------------------------------------------------
 */

static bool tablebuild_find_section(const struct section_headers *h, const char *name,
				    struct lazy_section *s)
{
	const Elf64_Shdr *shdr = section_headers__find(h, name);

	if (!shdr || shdr->sh_size > SECTION_MAX)
		return false;
	*s = (struct lazy_section){ shdr->sh_offset, shdr->sh_addr, shdr->sh_size };
	return true;
}

/* Returns whether the file has frames that the search table does not cover, or functions that get
 * overrides. */
static bool tablebuild_has_more(const struct section_headers *h)
{
	return section_headers__find(h, ".debug_frame") || section_headers__find(h, ".gopclntab") ||
	       section_headers__find(h, ".data.rel.ro.gopclntab") ||
	       section_headers__find(h, ".go.buildinfo");
}

struct lazy_table *lazy_table__of_file(const struct elf_file *f, struct lazy_reader reader)
{
	struct lazy_source s = { 0 };
	struct section_headers h;
	struct gathered g;
	const char *name;
	int err = section_headers__read(&h, f, reader.read);

	if (!err &&
	    (!tablebuild_find_section(&h, ".eh_frame_hdr", &s.hdr) ||
	     !tablebuild_find_section(&h, ".eh_frame", &s.frames) || tablebuild_has_more(&h)))
		err = -EINVAL;
	if (err)
		return errno = -err, NULL;
	for (size_t n = 0; (name = overrides__section(f->machine, n)); n++)
		tablebuild_find_section(&h, name, &s.marked[n]);
	g.segment_cnt = 0;
	tablebuild_gather_segments(&g, f);
	s.segments = g.segments;
	s.segment_cnt = g.segment_cnt;
	return lazy_table__new(&s, f, reader);
}
