// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/symtab_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/debugfile.h"
#include "symbol/demangle.h"
#include "elf/symlist.h"

void symtab__free(void *data)
{
	struct symtab *t = data;

	if (!t)
		return;
	strtab__free(t->names);
	free(t->block);
	if (!t->block) {
		range_map__free(&t->map);
		free(t->functions);
		buf__free(&t->raw);
		buf__free(&t->lines_block);
	}
	free(t);
}

/* Adds the functions of a separate file and puts it. Returns 0 or -errno. */
static int symtab_add_other(struct symlist *l, struct elf_file *other)
{
	int err = other ? symlist__add_table(l, other, SHT_SYMTAB) : -ENOENT;

	elf_file__put(other);
	return err;
}

/* Skips unreadable tables: some names are better than none. */
static void symtab_collect(struct symlist *l, const struct elf_file *f)
{
	if (symlist__add_table(l, f, SHT_SYMTAB) != 0) {
		symlist__add_table(l, f, SHT_DYNSYM);
		if (symtab_add_other(l, debug_file__open(f, DEBUG_DIR)) != 0 &&
		    symtab_add_other(l, debug_data__open(f)) != 0)
			symlist__add_go(l, f);
	}
	symlist__add_plt(l, f);
}

static int symtab_compare(const void *pa, const void *pb)
{
	const struct raw_symbol *a = pa, *b = pb;
	uint32_t sz = a->name_sz < b->name_sz ? a->name_sz : b->name_sz;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->sz != b->sz) /* unsized ones last */
		return a->sz > b->sz ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return memcmp(a->name, b->name, sz);
}

/* Returns the range of the symbol at `i` of the sorted list; `covered` is the end of the sized ones
 * before it. */
static struct addr_range symtab_extent(const struct symlist *l, size_t i, uint64_t covered)
{
	const struct raw_symbol *s = &l->syms[i];
	const struct code_range *code = symlist__code(l, s->addr);
	struct addr_range span = { s->addr, code->end, (uint32_t)i };
	size_t next = i + 1;

	if (s->sz) {
		if (s->sz < code->end - s->addr)
			span.end = s->addr + s->sz;
		return span;
	}
	while (next < l->cnt && l->syms[next].addr == s->addr)
		next++;
	if (next < l->cnt && l->syms[next].addr < span.end)
		span.end = l->syms[next].addr;
	if (covered > s->addr && covered < span.end)
		span.end = covered;
	return span;
}

/*
 * Makes one range per place: the best ranked of symbols with the same start and size, an unsized
 * symbol only if no other starts there, a label only outside functions. Returns their number.
 */
static size_t symtab_make_spans(const struct symlist *l, struct addr_range *spans)
{
	uint64_t covered = 0;
	size_t cnt = 0;

	for (size_t i = 0; i < l->cnt; i++) {
		const struct raw_symbol *s = &l->syms[i], *before = i ? s - 1 : NULL;
		bool alias =
			before && before->addr == s->addr && (before->sz == s->sz || s->sz == 0);

		if (alias || (s->sz == 0 && s->label && covered > s->addr))
			continue;
		spans[cnt] = symtab_extent(l, i, covered);
		if (s->sz && spans[cnt].end > covered)
			covered = spans[cnt].end;
		cnt++;
	}
	return cnt;
}

/* Copies the name. Names may overlap in a forged string table; copies that take more memory than
 * the table itself are refused. */
static uint32_t symtab_keep_name(struct symtab *t, const struct symlist *l,
				 const struct raw_symbol *s)
{
	size_t at = t->raw.sz;

	if (at + s->name_sz > 2 * l->strings_sz + 64 || at > UINT32_MAX - 2 * SYMBOL_NAME_MAX)
		return 0;
	buf__append(&t->raw, s->name, s->name_sz);
	if (s->plt)
		buf__append(&t->raw, "@plt", 4);
	buf__u8(&t->raw, 0);
	return buf__err(&t->raw) ? 0 : (uint32_t)at;
}

/* Keeps the functions that the map refers to, and replaces its owners by their indexes. */
static int symtab_keep(struct symtab *t, const struct symlist *l)
{
	uint32_t *kept = calloc(l->cnt + 1, sizeof(*kept));

	t->functions = malloc((l->cnt + 1) * sizeof(*t->functions));
	if (!kept || !t->functions) {
		free(kept);
		return -ENOMEM;
	}
	buf__u8(&t->raw, 0); /* offset 0: no name */
	for (size_t i = 0; i < t->map.cnt; i++) {
		uint32_t owner = t->map.owners[i];

		if (owner == RANGE_NONE)
			continue;
		if (!kept[owner]) {
			const struct raw_symbol *s = &l->syms[owner];
			const struct symtab_function f = { s->addr, symtab_keep_name(t, l, s), 0 };

			t->functions[t->cnt] = f;
			kept[owner] = (uint32_t)++t->cnt;
		}
		t->map.owners[i] = kept[owner] - 1;
	}
	free(kept);
	return buf__err(&t->raw);
}

static int symtab_fill(struct symtab *t, struct symlist *l)
{
	struct addr_range *spans = malloc((l->cnt + 1) * sizeof(*spans));
	int err = -ENOMEM;

	if (!spans)
		return err;
	if (l->cnt)
		qsort(l->syms, l->cnt, sizeof(*l->syms), symtab_compare);
	err = range_map__build(&t->map, spans, symtab_make_spans(l, spans));
	free(spans);
	return err ? err : symtab_keep(t, l);
}

static void symtab_shrink(struct symtab *t)
{
	struct symtab_function *functions =
		realloc(t->functions, (t->cnt + 1) * sizeof(*functions));
	uint8_t *raw = realloc(t->raw.data, t->raw.sz);

	t->functions = functions ? functions : t->functions;
	if (raw) {
		t->raw.data = raw;
		t->raw.cap = t->raw.sz;
	}
}

/* Without memory for them, there are none. */
static void symtab_read_lines(struct symtab *t, const struct elf_file *f)
{
	if (go_lines__build(f, &t->lines_block) != 0 ||
	    !go_lines__open(&t->lines, t->lines_block.data, t->lines_block.sz))
		buf__free(&t->lines_block);
}

/* Reads the file through its own section headers, and nothing that can change: another thread may
 * be counting references and reading its call-frame information. */
static int symtab_read_symbols(struct symtab *t, const struct elf_file *f)
{
	struct elf_file own = { .build_id = f->build_id,
				.trusted = f->trusted,
				.machine = f->machine,
				.path = f->path,
				.fd = f->fd,
				.image = f->image,
				.sz = f->sz,
				.segments = f->segments,
				.segment_cnt = f->segment_cnt,
				.section_table = f->section_table,
				.debug_opener = f->debug_opener };
	struct symlist l = { 0 };
	int err = symlist__init(&l, &own);

	if (!err) {
		symtab_collect(&l, &own);
		err = symtab_fill(t, &l);
		symtab_read_lines(t, &own);
	}
	symlist__free(&l);
	free(own.sections);
	return err;
}

struct symtab *symtab__new(const struct elf_file *f)
{
	struct symtab *t = calloc(1, sizeof(*t));
	int err = -ENOMEM;

	if (!t)
		return NULL;
	t->names = strtab__new();
	if (t->names)
		err = symtab_read_symbols(t, f);
	if (err) {
		symtab__free(t);
		return errno = -err, NULL;
	}
	symtab_shrink(t);
	return t;
}

/* Returns the function at an address, or NULL. */
static struct symtab_function *symtab_find(const struct symtab *t, uint64_t vaddr)
{
	uint32_t idx = range_map__find(&t->map, vaddr);

	return idx == RANGE_NONE ? NULL : &t->functions[idx];
}

/* raw 0: it has no name. */
static void symtab_set_name(struct symtab *t, struct symtab_function *f, const char *readable,
			    size_t sz)
{
	f->name = strtab__id(t->names, readable, sz);
	if (!f->name)
		f->raw = 0;
}

/* Demangles the name, once. */
static void symtab_make_name(struct symtab *t, struct symtab_function *f)
{
	char readable[SYMBOL_NAME_MAX];
	size_t sz = symbol_name((const char *)t->raw.data + f->raw, readable);

	symtab_set_name(t, f, readable, sz);
}

const char *elf_file__mangled(struct elf_file *f, uint64_t vaddr)
{
	const struct symtab *t = f->slots[ELF_SLOT_SYMBOLS].data;
	const struct symtab_function *function = t ? symtab_find(t, vaddr) : NULL;
	const char *raw;

	if (!function || !function->raw || function->name)
		return NULL;
	raw = (const char *)t->raw.data + function->raw;
	return symbol_name_is_mangled(raw) ? raw : NULL;
}

void elf_file__set_name(struct elf_file *f, uint64_t vaddr, const char *readable)
{
	struct symtab *t = f->slots[ELF_SLOT_SYMBOLS].data;
	struct symtab_function *function = t ? symtab_find(t, vaddr) : NULL;

	if (function && function->raw && !function->name)
		symtab_set_name(t, function, readable, strlen(readable));
}

/* Returns 0, -ENOENT if it has no name, or -EAGAIN before the first look-up. */
static int symtab_take_name(const struct symtab *t, const struct symtab_function *f,
			    struct symbol *sym)
{
	if (!f || !f->raw)
		return -ENOENT;
	if (!f->name)
		return -EAGAIN;
	*sym = (struct symbol){ .name = strtab__str(t->names, f->name, NULL), .address = f->addr };
	return 0;
}

static size_t symtab_sz(const struct symtab *t)
{
	return t->map.cnt * (sizeof(*t->map.starts) + sizeof(*t->map.owners)) +
	       t->cnt * sizeof(*t->functions) + t->raw.sz + t->lines_block.sz +
	       strtab__sz(t->names);
}

void elf_file__set_symtab(struct elf_file *f, struct symtab *t)
{
	struct elf_attachment *a = &f->slots[ELF_SLOT_SYMBOLS];

	a->data = t;
	a->free = symtab__free;
	a->sz = symtab_sz(t);
}

bool elf_file__symbol(struct elf_file *f, uint64_t vaddr, struct symbol *sym)
{
	struct symtab *t = f->slots[ELF_SLOT_SYMBOLS].data;
	struct symtab_function *function;

	if (!t) {
		t = symtab__new(f);
		if (!t)
			return false;
		elf_file__set_symtab(f, t);
	}
	function = symtab_find(t, vaddr);
	if (function && function->raw && !function->name) {
		symtab_make_name(t, function);
		f->slots[ELF_SLOT_SYMBOLS].sz = symtab_sz(t);
	}
	return symtab_take_name(t, function, sym) == 0;
}

int elf_file__known_symbol(struct elf_file *f, uint64_t vaddr, struct symbol *sym)
{
	const struct symtab *t = f->slots[ELF_SLOT_SYMBOLS].data;

	f->slots[ELF_SLOT_SYMBOLS].age = 0;
	return t ? symtab_take_name(t, symtab_find(t, vaddr), sym) : -EAGAIN;
}

bool elf_file__code_lines(const struct elf_file *f, uint64_t vaddr, struct code_lines *out)
{
	const struct symtab *t = f->slots[ELF_SLOT_SYMBOLS].data;

	return t && t->lines_block.sz && go_lines__at(&t->lines, vaddr, out);
}
