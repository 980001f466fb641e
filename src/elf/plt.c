// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A PLT stub jumps through a slot of the GOT (the slot's relocation names the function). On x86-64
 * some stubs push the number of their relocation instead (System V ABI, AMD64 supplement, 5.2).
 */
#include "elf/symlist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "elf/section.h"

#define SLOTS_MAX (1U << 20)

struct plt_slot {
	uint64_t got; /* address */
	uint32_t sym; /* index in .dynsym */
};

struct plt;

/* How stubs look on one architecture. */
struct plt_machine {
	uint32_t elf, jump_slot, glob_dat;
	/* Returns the size of the stub at `code`, and sets the symbol that it leads to; 0: the code
	 * does not say. */
	size_t (*stub)(const struct plt *, struct cursor code, uint64_t addr, uint32_t *sym);
};

struct plt {
	const struct plt_machine *machine;
	struct symlist *list;
	const struct elf_file *file;
	struct symbol_section dynsym;
	struct plt_slot *slots; /* ascending by got */
	size_t cnt;
	uint32_t *lazy; /* pushed number → index in .dynsym */
	size_t lazy_cnt;
	size_t entry_sz; /* of the section that is read, as its header says */
};

static int plt_compare(const void *pa, const void *pb)
{
	const struct plt_slot *a = pa, *b = pb;

	return a->got < b->got ? -1 : a->got > b->got;
}

static int plt_grow(void **v, size_t cnt, size_t entry_sz)
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

static int plt_add_slots(struct plt *p, struct cursor rela)
{
	int err = 0;

	while (cursor__left(&rela) >= sizeof(Elf64_Rela) && !err) {
		uint64_t got = cursor__u64(&rela), info = cursor__u64(&rela);
		uint32_t type = ELF64_R_TYPE(info);

		cursor__u64(&rela);
		if (type != p->machine->jump_slot && type != p->machine->glob_dat)
			continue;
		err = plt_grow((void **)&p->slots, p->cnt, sizeof(*p->slots));
		if (!err)
			p->slots[p->cnt++] = (struct plt_slot){ got, (uint32_t)ELF64_R_SYM(info) };
	}
	return err;
}

/* Adds the relocations of .rela.plt, in order. */
static int plt_add_lazy(struct plt *p, struct cursor rela)
{
	int err = 0;

	while (cursor__left(&rela) >= sizeof(Elf64_Rela) && !err) {
		uint64_t info;

		cursor__u64(&rela);
		info = cursor__u64(&rela);
		cursor__u64(&rela);
		err = plt_grow((void **)&p->lazy, p->lazy_cnt, sizeof(*p->lazy));
		if (!err)
			p->lazy[p->lazy_cnt++] = (uint32_t)ELF64_R_SYM(info);
	}
	return err;
}

static int plt_read_relocations(struct plt *p)
{
	GElf_Shdr shdr;
	int err = 0;

	for (size_t i = 1; !err && section__at(p->file, i, &shdr); i++) {
		uint8_t *data;
		size_t sz;

		if (shdr.sh_type != SHT_RELA || !(shdr.sh_flags & SHF_ALLOC))
			continue;
		data = section__read(p->file, &shdr, &sz);
		if (!data)
			continue;
		err = plt_add_slots(p, cursor__on(data, sz));
		if (!err && strcmp(section__name(p->file, &shdr), ".rela.plt") == 0)
			err = plt_add_lazy(p, cursor__on(data, sz));
		free(data);
	}
	if (p->cnt)
		qsort(p->slots, p->cnt, sizeof(*p->slots), plt_compare);
	return err;
}

static uint32_t plt_by_slot(const struct plt *p, uint64_t got)
{
	const struct plt_slot key = { .got = got };
	const struct plt_slot *s =
		p->cnt ? bsearch(&key, p->slots, p->cnt, sizeof(key), plt_compare) : NULL;

	return s ? s->sym : 0;
}

/* Returns the symbol that the stub at `addr` jumps to, or 0 if it is unknown. */
static uint32_t plt_target_x86_64(const struct plt *p, const uint8_t *code, size_t sz,
				  uint64_t addr)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = sz >= 4 && memcmp(code, endbr64, sizeof(endbr64)) == 0 ? 4 : 0;
	int32_t operand;

	if (at < sz && code[at] == 0xf2) /* bnd */
		at++;
	if (at + 6 <= sz && code[at] == 0xff && code[at + 1] == 0x25) { /* jmp *operand(%rip) */
		memcpy(&operand, code + at + 2, sizeof(operand));
		return plt_by_slot(p, addr + at + 6 + (uint64_t)(int64_t)operand);
	}
	if (at + 5 <= sz && code[at] == 0x68) { /* push $operand */
		memcpy(&operand, code + at + 1, sizeof(operand));
		return operand >= 0 && (size_t)operand < p->lazy_cnt ? p->lazy[operand] : 0;
	}
	return 0;
}

static size_t plt_stub_x86_64(const struct plt *p, struct cursor code, uint64_t addr, uint32_t *sym)
{
	const size_t sz = p->entry_sz == 8 ? 8 : 16;

	*sym = cursor__left(&code) >= sz ? plt_target_x86_64(p, code.pos, sz, addr) : 0;
	return sz;
}

/* Arm Architecture Reference Manual, C6.2; the operands are those that linkers use. */
#define BTI_C	      0xd503245f
#define ADRP_X16_MASK 0x9f00001f
#define ADRP_X16      0x90000010
#define LDR_X17_MASK  0xffc003ff /* ldr x17, [x16, #8 * imm12] */
#define LDR_X17	      0xf9400211
#define BR_X17	      0xd61f0220
#define STUB_INSNS    7 /* bti, adrp, ldr, add, autia1716, br and one more */

/* Returns the address that both instructions load from; 0 if they are others. */
static uint64_t plt_loaded_aarch64(uint32_t adrp, uint32_t ldr, uint64_t addr)
{
	uint32_t page = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3); /* 21 bits, signed */

	if ((adrp & ADRP_X16_MASK) != ADRP_X16 || (ldr & LDR_X17_MASK) != LDR_X17)
		return 0;
	return (addr & ~0xfffull) + (uint64_t)((int64_t)((uint64_t)page << 43) >> 31) +
	       (ldr >> 10 & 0xfff) * 8;
}

/* The stub ends with its br. */
static size_t plt_stub_aarch64(const struct plt *p, struct cursor code, uint64_t addr,
			       uint32_t *sym)
{
	uint32_t insns[STUB_INSNS];
	size_t cnt = 0, at;

	while (cnt < STUB_INSNS && cursor__left(&code) >= sizeof(*insns) &&
	       (cnt == 0 || insns[cnt - 1] != BR_X17))
		insns[cnt++] = cursor__u32(&code);
	at = cnt > 0 && insns[0] == BTI_C;
	*sym = 0;
	if (at + 2 < cnt && insns[cnt - 1] == BR_X17)
		*sym = plt_by_slot(p, plt_loaded_aarch64(insns[at], insns[at + 1], addr + 4 * at));
	return (*sym ? cnt : 1) * sizeof(*insns);
}

static const struct plt_machine machines[] = {
	{ EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, plt_stub_x86_64 },
	{ EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, plt_stub_aarch64 },
};

static const struct plt_machine *plt_machine_of(const struct elf_file *f)
{
	for (size_t i = 0; f->machine && i < sizeof(machines) / sizeof(*machines); i++)
		if (machines[i].elf == f->machine->elf)
			return &machines[i];
	return NULL;
}

static int plt_add_stub(struct plt *p, uint32_t sym_idx, uint64_t addr, uint64_t sz)
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

static int plt_add_section(struct plt *p, const GElf_Shdr *shdr)
{
	size_t sz, at = 0, stub_sz;
	uint8_t *code = section__read(p->file, shdr, &sz);
	int err = 0;

	if (!code)
		return 0;
	p->entry_sz = shdr->sh_entsize;
	for (; at < sz && !err; at += stub_sz) {
		uint64_t addr = shdr->sh_addr + at;
		uint32_t sym;

		stub_sz = p->machine->stub(p, cursor__on(code + at, sz - at), addr, &sym);
		err = plt_add_stub(p, sym, addr, stub_sz);
	}
	free(code);
	return err;
}

static int plt_add_sections(struct plt *p)
{
	GElf_Shdr shdr;
	int err = 0;

	for (size_t i = 1; !err && section__at(p->file, i, &shdr); i++)
		if (shdr.sh_type == SHT_PROGBITS &&
		    strncmp(section__name(p->file, &shdr), ".plt", 4) == 0)
			err = plt_add_section(p, &shdr);
	return err;
}

int symlist__add_plt(struct symlist *l, const struct elf_file *f)
{
	struct plt p = { .machine = plt_machine_of(f), .list = l, .file = f };
	int err;

	if (!p.machine)
		return 0;
	err = symbol_section__read(&p.dynsym, l, f, SHT_DYNSYM);
	if (!err)
		err = plt_read_relocations(&p);
	if (!err)
		err = plt_add_sections(&p);
	symbol_section__free(&p.dynsym);
	free(p.slots);
	free(p.lazy);
	return err == -ENOENT ? 0 : err;
}
