// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/symlist.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "elf/gopclntab.h"
#include "elf/section.h"

#define SYMBOLS_MAX (1U << 22) /* functions; a browser has 1.5 million */
#define CODE_MAX    4096

static int symlist_compare_code(const void *pa, const void *pb)
{
	const struct code_range *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void symlist_add_code(struct symlist *l, uint64_t start, uint64_t sz)
{
	struct code_range r = { start, start + sz };

	if (l->code_cnt < CODE_MAX && r.end > r.start)
		l->code[l->code_cnt++] = r;
}

int symlist__init(struct symlist *l, const struct elf_file *f)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	GElf_Shdr shdr;

	*l = (struct symlist){ .code = malloc(CODE_MAX * sizeof(*l->code)) };
	if (!l->code)
		return -ENOMEM;
	for (size_t i = 1; section__at(f, i, &shdr); i++)
		if ((shdr.sh_flags & code) == code)
			symlist_add_code(l, shdr.sh_addr, shdr.sh_size);
	for (size_t i = 0; i < f->segment_cnt && l->code_cnt == 0; i++)
		if (f->segments[i].flags & PF_X)
			symlist_add_code(l, f->segments[i].vaddr, f->segments[i].sz);
	qsort(l->code, l->code_cnt, sizeof(*l->code), symlist_compare_code);
	return 0;
}

void symlist__free(struct symlist *l)
{
	for (size_t i = 0; i < l->block_cnt; i++)
		free(l->blocks[i]);
	free(l->syms);
	free(l->code);
	*l = (struct symlist){ 0 };
}

const struct code_range *symlist__code(const struct symlist *l, uint64_t addr)
{
	size_t lo = SEARCH_COUNT(l->code, l->code_cnt, c, c->start <= addr);

	return lo && addr < l->code[lo - 1].end ? &l->code[lo - 1] : NULL;
}

int symlist__keep(struct symlist *l, void *block, size_t sz)
{
	if (l->block_cnt == SYMLIST_BLOCKS) {
		free(block);
		return -E2BIG;
	}
	l->blocks[l->block_cnt++] = block;
	l->strings_sz += sz;
	return 0;
}

int symlist__add(struct symlist *l, const struct raw_symbol *s)
{
	struct raw_symbol *syms;

	if (l->cnt == SYMBOLS_MAX)
		return -E2BIG;
	syms = array__room(l->syms, l->cnt, &l->cap, sizeof(*syms));
	if (!syms)
		return -ENOMEM;
	l->syms = syms;
	l->syms[l->cnt++] = *s;
	return 0;
}

static int symlist_read_strings(struct symbol_section *s, struct symlist *l,
				const struct elf_file *f, uint32_t link)
{
	GElf_Shdr shdr;
	bool found = section__at(f, link, &shdr);
	uint8_t *strings = found ? section__read(f, &shdr, &s->strings_sz) : NULL;

	s->strings = (const char *)strings;
	if (!strings)
		return found ? -errno : -EINVAL;
	return symlist__keep(l, strings, s->strings_sz);
}

int symbol_section__read(struct symbol_section *s, struct symlist *l, const struct elf_file *f,
			 uint32_t type)
{
	GElf_Shdr shdr;
	size_t sz;
	int err;

	*s = (struct symbol_section){ 0 };
	if (!section__typed(f, type, &shdr))
		return -ENOENT;
	s->is64 = f->section_table.entry_sz == sizeof(Elf64_Shdr);
	s->entry_sz = s->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	s->data = section__read(f, &shdr, &sz);
	if (!s->data)
		return -errno;
	s->cnt = sz / s->entry_sz;
	err = symlist_read_strings(s, l, f, shdr.sh_link);
	if (err)
		symbol_section__free(s);
	return err;
}

void symbol_section__free(struct symbol_section *s)
{
	free(s->data);
	*s = (struct symbol_section){ 0 };
}

GElf_Sym symbol_section__at(const struct symbol_section *s, size_t idx)
{
	GElf_Sym sym = { 0 };
	Elf32_Sym sym32;

	if (idx >= s->cnt)
		return sym;
	if (s->is64) {
		memcpy(&sym, s->data + idx * s->entry_sz, sizeof(sym));
		return sym;
	}
	memcpy(&sym32, s->data + idx * s->entry_sz, sizeof(sym32));
	return (GElf_Sym){
		.st_name = sym32.st_name,
		.st_info = sym32.st_info,
		.st_other = sym32.st_other,
		.st_shndx = sym32.st_shndx,
		.st_value = sym32.st_value,
		.st_size = sym32.st_size,
	};
}

const char *symbol_section__name(const struct symbol_section *s, const GElf_Sym *sym)
{
	return sym->st_name < s->strings_sz ? s->strings + sym->st_name : "";
}

/* Returns the length without "@VERSION" or "@@VERSION", which static symbol tables append. */
static uint32_t symlist_unversioned(const char *name, size_t sz)
{
	const char *at = memchr(name, '@', sz), *p = at;

	if (!at || at == name)
		return (uint32_t)sz;
	while (*p == '@' && p - at < 2)
		p++;
	while (p < name + sz && (isalnum((unsigned char)*p) || *p == '_' || *p == '.'))
		p++;
	return p == name + sz ? (uint32_t)(at - name) : (uint32_t)sz;
}

/* Ranks types before labels, sized before unsized, global before weak before local, plain before
 * underscored, short before long. */
static uint32_t symlist_rank(const GElf_Sym *sym, const struct raw_symbol *s)
{
	unsigned bind = GELF_ST_BIND(sym->st_info);
	uint32_t binding = bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 0
			   : bind == STB_WEAK				? 1
									: 2;
	uint32_t underscores = 0;

	while (underscores < 15 && s->name[underscores] == '_')
		underscores++;
	return (uint32_t)s->label << 31 | (uint32_t)(s->sz == 0) << 30 | binding << 28 |
	       underscores << 24 | s->name_sz;
}

/* Returns whether a symbol names code; assemblers' marks (".L", "$x", ".annobin") do not. */
static bool symlist_is_function(const GElf_Sym *sym, const char *name)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || name[0] == '\0' ||
	    (sym->st_shndx >= SHN_LORESERVE && sym->st_shndx != SHN_XINDEX))
		return false;
	if (type == STT_NOTYPE)
		return name[0] != '.' && name[0] != '$';
	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

int symlist__add_table(struct symlist *l, const struct elf_file *f, uint32_t type)
{
	struct symbol_section sec;
	int err = symbol_section__read(&sec, l, f, type);

	for (size_t i = 1; i < sec.cnt && !err; i++) {
		const GElf_Sym sym = symbol_section__at(&sec, i);
		struct raw_symbol s = {
			.addr = sym.st_value,
			.sz = sym.st_size,
			.name = symbol_section__name(&sec, &sym),
			.label = GELF_ST_TYPE(sym.st_info) == STT_NOTYPE,
		};

		if (!symlist_is_function(&sym, s.name) || !symlist__code(l, s.addr))
			continue;
		s.name_sz = symlist_unversioned(s.name, strnlen(s.name, SYMBOL_NAME_MAX));
		s.rank = symlist_rank(&sym, &s);
		err = symlist__add(l, &s);
	}
	symbol_section__free(&sec);
	return err;
}

int symlist__add_go(struct symlist *l, const struct elf_file *f)
{
	struct gopclntab t;
	struct go_function g;
	int err = gopclntab__read(&t, f);

	if (!err) /* names point into the table */
		err = symlist__keep(l, t.block, t.sz);
	for (uint64_t i = 0; !err && i < t.cnt; i++) {
		if (!gopclntab__at(&t, i, &g) || !g.name[0] || !symlist__code(l, g.addr))
			continue;
		err = symlist__add(l, &(struct raw_symbol){
					      .addr = g.addr,
					      .sz = g.sz,
					      .name = g.name,
					      .name_sz = (uint32_t)strnlen(g.name, SYMBOL_NAME_MAX),
				      });
	}
	return err;
}
