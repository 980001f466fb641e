/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of addresses: ELF files (elf/elffile.h) and the kernel. */
#ifndef SYMBOL_SYMBOL_H
#define SYMBOL_SYMBOL_H

#include "elf/elffile.h"

struct symbol {
	const char *name; /* demangled, valid UTF-8, NUL-terminated; lives as long as its file or
			     kallsyms */
	uint64_t address; /* its start: link-time address in the ELF file; kernel: where it runs */
	const char *module; /* kernel only: "[kernel]", "[ext4]" …; NULL for files */
	uint64_t base;	    /* kernel only: _text, or where the module was loaded */
};

/*
 * The function that holds the link-time address `vaddr`, or false. The file's table is built at
 * first use from .symtab, .dynsym, .gnu_debugdata, .gopclntab and separate debug files (by build
 * ID, then debuglink).
 */
bool elf_file__symbol(struct elf_file *, uint64_t vaddr, struct symbol *);
/* Like elf_file__symbol(), without reading or demangling. Returns -EAGAIN if the table must be
 * built or the function has not been looked up before, 0, or -ENOENT if there is no name. */
int elf_file__known_symbol(const struct elf_file *, uint64_t vaddr, struct symbol *);

struct jobs;
enum symbol_answer { SYMBOL_NONE, SYMBOL_NAMED, SYMBOL_READS };
/*
 * Non-blocking variant: a job of `jobs`, which the caller collects, reads the file. Returns
 * SYMBOL_READS while it is being read; call again after jobs__collect(). A file that could not be
 * read has no names, and is read again after 30 s.
 */
enum symbol_answer elf_file__ask_symbol(struct elf_file *, uint64_t vaddr, struct jobs *,
					struct symbol *);

struct kallsyms;
/* Reads /proc/kallsyms (path is for tests). NULL + errno; EPERM when kptr_restrict hides the
 * addresses. */
struct kallsyms *kallsyms__new(const char *path);
void kallsyms__free(struct kallsyms *);
/* The function that holds addr, or false. Reads the file again for an address that it does not
 * know, at most once a second: a module may have come. */
bool kallsyms__symbol(struct kallsyms *, uint64_t addr, struct symbol *);

#endif
