// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A PLT stub of x86-64 either jumps through a slot of the GOT (the slot's relocation names the
 * function), or pushes the number of its relocation (System V ABI, AMD64 supplement, 5.2).
 */
#include "elf/symlist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

#define SLOTS_MAX (1U << 20)

struct slot {
	uint64_t got; /* address */
	uint32_t sym; /* index in .dynsym */
};

struct plt {
	struct symlist *list;
	const struct elf_file *file;
	struct symbol_section dynsym;
	struct slot *slots; /* ascending by got */
	size_t cnt;
	uint32_t *lazy; /* pushed number → index in .dynsym */
	size_t lazy_cnt;
};

static int compare(const void *pa, const void *pb)
{
	const struct slot *a = pa, *b = pb;

	return a->got < b->got ? -1 : a->got > b->got;
}

static int grow(void **v, size_t cnt, size_t entry_sz)
{
	void *bigger;

	if (cnt & (cnt - 1)) /* doubles at powers of two */
		return 0;
	if (cnt >= SLOTS_MAX)
		return -E2BIG;
	bigger = realloc(*v, (cnt ? 2 * cnt : 1) * entry_sz);
	if (!bigger)
		return -ENOMEM;
	*v = bigger;
	return 0;
}

static int add_slots(struct plt *p, struct cursor rela)
{
	int err = 0;

	while (cursor__left(&rela) >= sizeof(Elf64_Rela) && !err) {
		uint64_t got = cursor__u64(&rela), info = cursor__u64(&rela);
		uint32_t type = ELF64_R_TYPE(info);

		cursor__u64(&rela);
		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;
		err = grow((void **)&p->slots, p->cnt, sizeof(*p->slots));
		if (!err)
			p->slots[p->cnt++] = (struct slot){ got, (uint32_t)ELF64_R_SYM(info) };
	}
	return err;
}

/* Adds the relocations of .rela.plt, in order. */
static int add_lazy(struct plt *p, struct cursor rela)
{
	int err = 0;

	while (cursor__left(&rela) >= sizeof(Elf64_Rela) && !err) {
		uint64_t info;

		cursor__u64(&rela);
		info = cursor__u64(&rela);
		cursor__u64(&rela);
		err = grow((void **)&p->lazy, p->lazy_cnt, sizeof(*p->lazy));
		if (!err)
			p->lazy[p->lazy_cnt++] = (uint32_t)ELF64_R_SYM(info);
	}
	return err;
}

static int read_relocations(struct plt *p)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	int err = 0;

	while (!err && (scn = section__next(p->file, scn, &shdr)) != NULL) {
		uint8_t *data;
		size_t sz;

		if (shdr.sh_type != SHT_RELA || !(shdr.sh_flags & SHF_ALLOC))
			continue;
		data = section__read(p->file, scn, &sz);
		if (!data)
			continue;
		err = add_slots(p, cursor__on(data, sz));
		if (!err && strcmp(section__name(p->file, &shdr), ".rela.plt") == 0)
			err = add_lazy(p, cursor__on(data, sz));
		free(data);
	}
	if (p->cnt)
		qsort(p->slots, p->cnt, sizeof(*p->slots), compare);
	return err;
}

static uint32_t by_slot(const struct plt *p, uint64_t got)
{
	const struct slot key = { .got = got };
	const struct slot *s =
		p->cnt ? bsearch(&key, p->slots, p->cnt, sizeof(key), compare) : NULL;

	return s ? s->sym : 0;
}

/* Returns the symbol that the stub at `addr` jumps to, or 0 if it is unknown. */
static uint32_t target(const struct plt *p, const uint8_t *code, size_t sz, uint64_t addr)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = sz >= 4 && memcmp(code, endbr64, sizeof(endbr64)) == 0 ? 4 : 0;
	int32_t operand;

	if (at < sz && code[at] == 0xf2) /* bnd */
		at++;
	if (at + 6 <= sz && code[at] == 0xff && code[at + 1] == 0x25) { /* jmp *operand(%rip) */
		memcpy(&operand, code + at + 2, sizeof(operand));
		return by_slot(p, addr + at + 6 + (uint64_t)(int64_t)operand);
	}
	if (at + 5 <= sz && code[at] == 0x68) { /* push $operand */
		memcpy(&operand, code + at + 1, sizeof(operand));
		return operand >= 0 && (size_t)operand < p->lazy_cnt ? p->lazy[operand] : 0;
	}
	return 0;
}

static int add_stub(struct plt *p, uint32_t sym_idx, uint64_t addr, uint64_t sz)
{
	const GElf_Sym sym = symbol_section__at(&p->dynsym, sym_idx);
	struct raw_symbol s = {
		.addr = addr,
		.sz = sz,
		.name = symbol_section__name(&p->dynsym, &sym),
		.rank = UINT32_MAX, /* a stub that the symbol table names keeps that name */
		.plt = true,
	};

	if (sym_idx == 0 || s.name[0] == '\0' || !symlist__code(p->list, addr))
		return 0;
	s.name_sz = (uint32_t)strnlen(s.name, SYMBOL_NAME_MAX);
	return symlist__add(p->list, &s);
}

static int add_section(struct plt *p, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	const size_t step = shdr->sh_entsize == 8 ? 8 : 16;
	size_t sz;
	uint8_t *code = section__read(p->file, scn, &sz);
	int err = 0;

	if (!code)
		return 0;
	for (size_t at = 0; at + step <= sz && !err; at += step) {
		uint32_t sym = target(p, code + at, step, shdr->sh_addr + at);

		err = add_stub(p, sym, shdr->sh_addr + at, step);
	}
	free(code);
	return err;
}

static int add_sections(struct plt *p)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	int err = 0;

	while (!err && (scn = section__next(p->file, scn, &shdr)) != NULL)
		if (shdr.sh_type == SHT_PROGBITS &&
		    strncmp(section__name(p->file, &shdr), ".plt", 4) == 0)
			err = add_section(p, scn, &shdr);
	return err;
}

int symlist__add_plt(struct symlist *l, const struct elf_file *f)
{
	struct plt p = { .list = l, .file = f };
	GElf_Ehdr ehdr;
	int err;

	if (!gelf_getehdr(elf_file__elf(f), &ehdr) || ehdr.e_machine != EM_X86_64)
		return 0;
	err = symbol_section__read(&p.dynsym, l, f, SHT_DYNSYM);
	if (!err)
		err = read_relocations(&p);
	if (!err)
		err = add_sections(&p);
	symbol_section__free(&p.dynsym);
	free(p.slots);
	free(p.lazy);
	return err == -ENOENT ? 0 : err;
}
