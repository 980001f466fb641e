/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of addresses in ELF files (elf/elffile.h) and in the kernel. */
#ifndef SYMBOL_SYMBOL_H
#define SYMBOL_SYMBOL_H

#include "elf/elffile.h"

struct symbol {
	/* Demangled, valid UTF-8, with a NUL; lives as long as kallsyms, or as its file if
	 * ELF_SLOT_SYMBOLS is pinned. */
	const char *name;
	uint64_t address; /* start: link-time address in the ELF file; kernel: address in memory */
	const char *module; /* kernel only: "[kernel]", "[ext4]" …; NULL for files */
	uint64_t base;	    /* kernel only: _text, or the address of the module */
};

/*
 * Finds the function at the link-time address `vaddr`. The file's table is built at first use from
 * .symtab, .dynsym, .gnu_debugdata, .gopclntab and separate debug files (by build ID, then
 * debuglink). Returns false if there is none.
 */
bool elf_file__symbol(struct elf_file *, uint64_t vaddr, struct symbol *);
/* Like elf_file__symbol(), without reading or demangling. Returns 0, -EAGAIN if the table must be
 * built or the function has not been looked up before, or -ENOENT if there is no name. */
int elf_file__known_symbol(struct elf_file *, uint64_t vaddr, struct symbol *);

/* A place in the source. The strings live like symbol.name. */
struct code_line {
	const char *function; /* one that is inlined there; NULL: the symbol itself, or unknown */
	const char *file;     /* NULL: unknown */
	uint32_t line;
};

#define CODE_LINES_MAX 32

struct code_lines {
	size_t cnt;
	struct code_line v[CODE_LINES_MAX]; /* innermost first; the last one is the symbol itself */
};

/* Finds the lines at the link-time address, if the file's own symbols have them (Go) and were read
 * before. Returns false if there are none. */
bool elf_file__code_lines(const struct elf_file *, uint64_t vaddr, struct code_lines *);

struct jobs;
enum symbol_answer { SYMBOL_NONE, SYMBOL_NAMED, SYMBOL_READS, SYMBOL_MANGLED };
/*
 * Non-blocking variant: a job of `jobs`, which the caller collects, reads the file. Returns
 * SYMBOL_READS while it is being read; call again after jobs__collect(). A file that could not be
 * read has no names, and is read again after 30 s. If the jobs have workers, returns SYMBOL_MANGLED
 * for a name that must be demangled first: call elf_file__set_name() with the readable form of
 * elf_file__mangled().
 */
enum symbol_answer elf_file__symbol_now(struct elf_file *, uint64_t vaddr, struct jobs *,
					struct symbol *);
/* Returns NULL if the function at `vaddr` has no mangled name, or has been named before. Valid as
 * long as its file if ELF_SLOT_SYMBOLS is pinned. */
const char *elf_file__mangled(struct elf_file *, uint64_t vaddr);
void elf_file__set_name(struct elf_file *, uint64_t vaddr, const char *readable);

struct kallsyms;
/* Reads /proc/kallsyms (path is for tests). Returns NULL and sets errno; EPERM if kptr_restrict
 * hides the addresses. */
struct kallsyms *kallsyms__new(const char *path);
void kallsyms__free(struct kallsyms *);
size_t kallsyms__sz(const struct kallsyms *); /* bytes in memory */
/* Finds the function at addr. For an unknown address, reads the file again, at most once a second,
 * because a module may be new. Returns false if there is none. */
bool kallsyms__symbol(struct kallsyms *, uint64_t addr, struct symbol *);

#endif
