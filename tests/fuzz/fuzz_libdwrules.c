// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Forged call-frame information. The first byte selects the section (even: .eh_frame, odd:
 * .debug_frame), the rest are its bytes; look-ups are for code from 0x1000 on.
 */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

#include "cfi/libdwrules.h"

#define FRAMES_VADDR 0x2000
#define CODE_VADDR   0x1000
#define CODE_SZ	     0x80
#define STACK_ADDR   0x7ffd00001000

struct file {
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdrs[3]; /* none, the frames, the names */
	char names[32];
	uint8_t frames[];
};

static struct elf_file *wrap(const uint8_t *data, size_t sz)
{
	struct file *f = calloc(1, sizeof(*f) + sz);
	size_t file_sz = sizeof(*f) + sz;

	FUZZ_CHECK(f);
	memcpy(f->ehdr.e_ident, ELFMAG "\2\1\1", 7);
	f->ehdr.e_type = ET_DYN;
	f->ehdr.e_machine = EM_X86_64;
	f->ehdr.e_version = EV_CURRENT;
	f->ehdr.e_ehsize = sizeof(f->ehdr);
	f->ehdr.e_shoff = offsetof(struct file, shdrs);
	f->ehdr.e_shentsize = sizeof(f->shdrs[0]);
	f->ehdr.e_shnum = 3;
	f->ehdr.e_shstrndx = 2;
	memcpy(f->names, "\0.eh_frame\0.debug_frame", 24);
	f->shdrs[1] = (Elf64_Shdr){ .sh_name = data[0] & 1 ? 11 : 1,
				    .sh_type = SHT_PROGBITS,
				    .sh_addr = FRAMES_VADDR,
				    .sh_offset = sizeof(*f),
				    .sh_size = sz - 1,
				    .sh_addralign = 1 };
	f->shdrs[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				    .sh_offset = offsetof(struct file, names),
				    .sh_size = sizeof(f->names),
				    .sh_addralign = 1 };
	memcpy(f->frames, data + 1, sz - 1);
	return elf_file__from_memory(f, file_sz, "forged");
}

/* Any rule may read only the snapshot, and must return a valid result. */
static void apply(const struct full_rule *rule, uint64_t pc)
{
	uint64_t words[32], cfa;
	struct snapshot s = { .addr = STACK_ADDR,
			      .sz = sizeof(words),
			      .bytes = (const uint8_t *)words };
	struct regs regs = { .machine = &machine_x86_64,
			     .valid = (1ull << machine_x86_64.reg_cnt) - 1 };
	int err;

	for (size_t i = 0; i < 32; i++)
		words[i] = STACK_ADDR + i * 8;
	for (size_t i = 0; i < machine_x86_64.reg_cnt; i++)
		regs.v[i] = STACK_ADDR + i * 8;
	regs.v[DWARF_RIP] = pc;
	err = full_rule__apply(rule, &s, &regs, &cfa);
	FUZZ_CHECK(err <= 0);
	FUZZ_CHECK(err || regs__has(&regs, DWARF_RIP));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	struct elf_file *f = sz > 1 ? wrap(data, sz) : NULL;
	struct libdw_rules *cfi;

	if (f)
		f->trusted = false;
	cfi = f ? libdw_rules__of(f, NULL) : NULL;
	for (uint64_t pc = CODE_VADDR; cfi && pc < CODE_VADDR + CODE_SZ; pc++) {
		const struct full_rule *rule = libdw_rules__rule(cfi, pc, pc & 1);

		if (rule && !(rule->flags & (RULE_ROOT | RULE_SWITCH)))
			apply(rule, pc);
	}
	elf_file__put(f);
	return 0;
}
