// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/gopclntab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "elf/section.h"

#define MAGIC_1_16  0xfffffffau
#define MAGIC_1_18  0xfffffff0u
#define MAGIC_1_20  0xfffffff1u
#define POINTER_SZ  8
#define HEADER_MIN  64		/* bytes of the smallest header */
#define HEADER_STEP 8		/* alignment of headers, at least */
#define TABLE_MAX   (64u << 20) /* bytes; the tables of large programs have half of that */

/* The fields of a header after its first 8 bytes, in words. */
static const struct layout {
	uint32_t magic;
	uint8_t text;	      /* 0: absent, entries are absolute */
	uint8_t names;	      /* the parts for units, files, values and functions follow */
	uint8_t entry_half;   /* bytes of an address in the list of functions */
	uint8_t module_trees; /* of the runtime's moduledata; 0: trees have absolute addresses */
} layouts[] = {
	{ MAGIC_1_16, 0, 2, 8, 0 },
	{ MAGIC_1_18, 2, 3, 4, 38 },
	{ MAGIC_1_20, 2, 3, 4, 40 },
};

/* ---- the section --------------------------------------------------------------------------------
 */

static const char *const table_names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };

/* Up to Go 1.25, external linkers put the table of a PIE among other data. */
#define MERGED_NAME ".data.rel.ro"

static bool gopclntab_is_go(const struct elf_file *f)
{
	GElf_Shdr shdr;

	return section__named(f, ".go.buildinfo", &shdr) ||
	       section__named(f, ".note.go.buildid", &shdr);
}

bool gopclntab__section(const struct elf_file *f, GElf_Shdr *shdr)
{
	for (size_t i = 0; i < sizeof(table_names) / sizeof(*table_names); i++)
		if (section__named(f, table_names[i], shdr))
			return true;
	return gopclntab_is_go(f) && section__named(f, MERGED_NAME, shdr);
}

/* ---- the header ---------------------------------------------------------------------------------
 */

static uint64_t gopclntab_word_at(const uint8_t *p)
{
	struct cursor c = cursor__on(p, POINTER_SZ);

	return cursor__u64(&c);
}

/* Bytes 4 to 7: two zeros, the size of the smallest instruction, of a pointer. */
static const struct layout *layout_of(const uint8_t *p)
{
	struct cursor c = cursor__on(p, 8);
	uint32_t magic = cursor__u32(&c);

	if (p[4] || p[5] || (p[6] != 1 && p[6] != 2 && p[6] != 4) || p[7] != POINTER_SZ)
		return NULL;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].magic == magic)
			return &layouts[i];
	return NULL;
}

/* Tries to use `p` as the header of the table. Returns false if a part is outside the table. */
static bool gopclntab_take_header(struct gopclntab *t, const uint8_t *p, size_t left)
{
	const struct layout *l = layout_of(p);

	if (!l)
		return false;
	t->header = p;
	t->sz = left;
	t->cnt = gopclntab_word_at(p + 8);
	t->text = l->text ? gopclntab_word_at(p + 8 + 8 * l->text) : 0;
	t->names = gopclntab_word_at(p + 8 + 8 * l->names);
	t->units = gopclntab_word_at(p + 16 + 8 * l->names);
	t->files = gopclntab_word_at(p + 24 + 8 * l->names);
	t->values = gopclntab_word_at(p + 32 + 8 * l->names);
	t->functions = gopclntab_word_at(p + 40 + 8 * l->names);
	t->step = p[6];
	t->has_start_line = l->magic == MAGIC_1_20;
	t->entry_sz = 2 * l->entry_half;
	/* The end of the last function follows its entry. */
	return t->names < left && t->functions < left && t->cnt &&
	       t->cnt < (left - t->functions) / t->entry_sz;
}

static bool gopclntab_find_header(struct gopclntab *t, size_t sz)
{
	for (size_t at = 0; at < sz && sz - at >= HEADER_MIN + POINTER_SZ; at += HEADER_STEP)
		if (gopclntab_take_header(t, t->block + at, sz - at))
			return true;
	return false;
}

/* ---- the runtime's moduledata
 * ---------------------------------------------------------------------
 */

/* In words: the address of the header, of the names behind it, of the code. */
#define MODULE_HEADER 0
#define MODULE_NAMES  1
#define MODULE_TEXT   22
#define MODULE_WORDS  41
#define MODULE_MAX    (16u << 20) /* bytes of the section */

/* Since Go 1.26 it has a section of its own. */
static const char *const module_names[] = { ".go.module", ".noptrdata", ".data", ".data.rel.ro" };

static bool gopclntab_is_code(const struct elf_file *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->segment_cnt; i++)
		if ((f->segments[i].flags & PF_X) &&
		    vaddr - f->segments[i].vaddr < f->segments[i].sz)
			return true;
	return false;
}

/* Takes what the header lacks if `p` is the moduledata of this table. */
static bool gopclntab_take_module(struct gopclntab *t, const struct elf_file *f, const uint8_t *p,
				  uint64_t header)
{
	uint64_t text = gopclntab_word_at(p + POINTER_SZ * MODULE_TEXT);
	uint8_t trees = layout_of(t->header)->module_trees;

	if (gopclntab_word_at(p + POINTER_SZ * MODULE_HEADER) != header ||
	    gopclntab_word_at(p + POINTER_SZ * MODULE_NAMES) - header >= t->sz ||
	    !gopclntab_is_code(f, text))
		return false;
	if (!t->text)
		t->text = text;
	t->trees = trees ? gopclntab_word_at(p + POINTER_SZ * trees) : 0;
	return true;
}

static bool gopclntab_find_module_in(struct gopclntab *t, const struct elf_file *f,
				     const char *name, uint64_t header)
{
	GElf_Shdr shdr;
	uint8_t *data = NULL;
	bool found = false;
	size_t sz;

	if (section__named(f, name, &shdr) && shdr.sh_size <= MODULE_MAX)
		data = section__read(f, &shdr, &sz);
	for (size_t at = 0; data && !found && at < sz && sz - at >= POINTER_SZ * MODULE_WORDS;
	     at += POINTER_SZ)
		found = gopclntab_take_module(t, f, data + at, header);
	free(data);
	return found;
}

static void gopclntab_find_module(struct gopclntab *t, const struct elf_file *f, uint64_t header)
{
	for (size_t i = 0; i < sizeof(module_names) / sizeof(*module_names); i++)
		if (gopclntab_find_module_in(t, f, module_names[i], header))
			return;
}

/* Since Go 1.26, the header lacks the start of the code. */
static int gopclntab_find_text(struct gopclntab *t, const struct elf_file *f, uint64_t section)
{
	if (t->entry_sz == 2 * sizeof(uint64_t))
		return 0;
	gopclntab_find_module(t, f, section + (uint64_t)(t->header - t->block));
	return gopclntab_is_code(f, t->text) ? 0 : -ENOENT;
}

/* ---- the functions ------------------------------------------------------------------------------
 */

int gopclntab__read(struct gopclntab *t, const struct elf_file *f)
{
	GElf_Shdr shdr;
	size_t sz;
	int err = 0;

	*t = (struct gopclntab){ 0 };
	if (!gopclntab__section(f, &shdr))
		return -ENOENT;
	if (shdr.sh_size > TABLE_MAX)
		return -EFBIG;
	t->block = section__read(f, &shdr, &sz);
	if (!t->block)
		return -errno;
	err = gopclntab_find_header(t, sz) ? gopclntab_find_text(t, f, shdr.sh_addr) : -ENOENT;
	if (err)
		gopclntab__free(t);
	return err;
}

void gopclntab__free(struct gopclntab *t)
{
	free(t->block);
	*t = (struct gopclntab){ 0 };
}

/* The address of a function, and the offset of its struct _func from the start of the list. The
 * last entry, at `cnt`, has only the end address of the last function. */
struct gopclntab_entry {
	uint64_t addr, at;
};

static struct gopclntab_entry gopclntab_entry_at(const struct gopclntab *t, uint64_t idx)
{
	struct cursor c = cursor__on(t->header + t->functions + idx * t->entry_sz, t->entry_sz);
	struct gopclntab_entry e;

	if (t->entry_sz == 2 * sizeof(uint64_t)) {
		e.addr = cursor__u64(&c);
		e.at = cursor__u64(&c);
	} else {
		e.addr = t->text + cursor__u32(&c);
		e.at = cursor__u32(&c);
	}
	return e;
}

bool gopclntab__at(const struct gopclntab *t, uint64_t idx, struct go_function *out)
{
	struct gopclntab_entry e = gopclntab_entry_at(t, idx),
			       next = gopclntab_entry_at(t, idx + 1);
	size_t half = t->entry_sz / 2, left = t->sz - t->functions;
	uint64_t name;
	struct cursor c;

	if (e.at >= left || left - e.at < half + sizeof(uint32_t) || next.addr <= e.addr)
		return false;
	/* struct _func: the entry, then the name's offset. */
	c = cursor__on(t->header + t->functions + e.at + half, sizeof(uint32_t));
	name = cursor__u32(&c);
	if (name >= t->sz - t->names)
		return false;
	*out = (struct go_function){ e.addr, next.addr - e.addr,
				     (const char *)t->header + t->names + name };
	return true;
}

/* ---- their lines
 * ----------------------------------------------------------------------------------
 */

#define PCDATA_INLINED 2 /* src/internal/abi/symtab.go */
#define FUNCDATA_TREE  3

bool gopclntab__places(const struct gopclntab *t, uint64_t idx, struct go_places *out)
{
	struct gopclntab_entry e = gopclntab_entry_at(t, idx);
	size_t half = t->entry_sz / 2, left = t->sz - t->functions;
	uint32_t value_cnt, tree_cnt;
	struct cursor c;

	if (e.at >= left || left - e.at < half)
		return false;
	/* struct _func: name, args, deferreturn and pcsp are before these */
	c = cursor__on(t->header + t->functions + e.at + half, left - e.at - half);
	cursor__bytes(&c, 4 * sizeof(uint32_t));
	*out = (struct go_places){ .tree = GO_NO_TREE };
	out->file = cursor__u32(&c);
	out->line = cursor__u32(&c);
	value_cnt = cursor__u32(&c);
	out->unit = cursor__u32(&c);
	if (t->has_start_line)
		cursor__u32(&c);
	tree_cnt = cursor__u32(&c) >> 24; /* function's ID, flags, a zero, this */
	for (uint32_t i = 0; i < value_cnt && !c.err; i++) {
		uint32_t at = cursor__u32(&c);

		if (i == PCDATA_INLINED)
			out->inlined = at;
	}
	if (t->trees && tree_cnt > FUNCDATA_TREE) {
		cursor__bytes(&c, FUNCDATA_TREE * sizeof(uint32_t));
		out->tree = cursor__u32(&c);
	}
	return !c.err;
}
