// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/go.h"

#include <stdlib.h>
#include <string.h>
#include "symbol/section.h"

/*
 * Functions of Go's runtime (asm_amd64.s, sys_linux_amd64.s). Go's linker marks the ends of stacks
 * on other architectures only, and rows describe rsp as if no function changed stacks.
 */
static const struct {
	const char *name;
	enum go_kind kind;
} known[] = {
	{ "runtime.goexit", GO_ROOT },
	{ "runtime.mstart", GO_ROOT },
	{ "runtime.rt0_go", GO_ROOT },
	{ "_rt0_amd64", GO_ROOT },
	{ "_rt0_amd64_linux", GO_ROOT },
	/* called on a goroutine's stack, they call on the thread's */
	{ "runtime.mcall", GO_SWITCH },
	{ "runtime.systemstack", GO_SWITCH },
	{ "runtime.morestack", GO_SWITCH },
	{ "runtime.asmcgocall", GO_SWITCH },
	/* call the vdso on the thread's stack; rbp stays */
	{ "runtime.nanotime1", GO_FRAME_POINTER },
	{ "runtime.walltime", GO_FRAME_POINTER },
};

/* Assembly functions have a suffix where the compiler made a wrapper with the plain name. */
static bool is_name(const char *symbol, const char *name)
{
	size_t len = strlen(name);

	return strncmp(symbol, name, len) == 0 &&
	       (symbol[len] == '\0' || strcmp(symbol + len, ".abi0") == 0);
}

static void mark(struct go_marks *m, const char *name, const Elf64_Sym *sym)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!is_name(name, known[i].name) || m->cnt == GO_MARK_MAX)
			continue;
		m->marks[m->cnt].start = sym->st_value;
		m->marks[m->cnt].sz = sym->st_size;
		m->marks[m->cnt++].kind = known[i].kind;
	}
}

static void mark_symbols(struct go_marks *m, const struct elf_file *f, Elf_Scn *table,
			 const GElf_Shdr *shdr)
{
	size_t sz, names_sz;
	uint8_t *syms = section__read(f, table, &sz);
	Elf_Scn *strings = elf_getscn(f->elf, shdr->sh_link);
	uint8_t *names = strings ? section__read(f, strings, &names_sz) : NULL; /* NUL at the end */
	Elf64_Sym sym;

	for (size_t at = 0; syms && names && sz - at >= sizeof(sym); at += sizeof(sym)) {
		memcpy(&sym, syms + at, sizeof(sym));
		if (ELF64_ST_TYPE(sym.st_info) == STT_FUNC && sym.st_name < names_sz)
			mark(m, (const char *)names + sym.st_name, &sym);
	}
	free(names);
	free(syms);
}

void go_marks__find(struct go_marks *m, const struct elf_file *f)
{
	GElf_Shdr shdr;
	Elf_Scn *table;

	m->cnt = 0;
	if (gelf_getclass(f->elf) != ELFCLASS64 ||
	    (!elf_file__section(f, ".gopclntab", &shdr) &&
	     !elf_file__section(f, ".data.rel.ro.gopclntab", &shdr)))
		return;
	table = section__typed(f, SHT_SYMTAB, &shdr);
	if (table)
		mark_symbols(m, f, table, &shdr);
}

enum go_kind go_marks__at(const struct go_marks *m, uint64_t vaddr)
{
	for (size_t i = 0; i < m->cnt; i++)
		if (vaddr - m->marks[i].start < m->marks[i].sz)
			return m->marks[i].kind;
	return GO_NONE;
}
