/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds symbols by their names, in a worker if there are workers (worker/workers.h). */
#ifndef ELF_ADDRESSTASK_H
#define ELF_ADDRESSTASK_H

#include "elf/namedsymbol.h"
#include "worker/workers.h"

#define ADDRESS_NAMES_MAX    128  /* names of one search */
#define ADDRESS_NAMES_SZ_MAX 8192 /* bytes of them, with NULs */

/* A search in several files. */
struct symbol_search {
	struct workers *workers; /* borrowed; NULL: this thread reads the files */
	size_t left;		 /* bytes of symbols that may still be looked through */
	bool failed;		 /* set if workers failed, so that symbols may be missing */
};

/* Like elf_symbol__find_all(). Finds nothing if the file cannot be read, or workers fail. */
uint64_t address_task__find(struct symbol_search *, const struct elf_file *,
			    const struct elf_symbol_names *, uint64_t *found);
/* Like elf_symbol__code(). */
bool address_task__code(struct symbol_search *, const struct elf_file *, const char *name,
			struct elf_symbol_code *);

/* What an answer of a worker may set. */
struct address_values {
	uint64_t left; /* of the limit, before the search and after it */
	size_t cnt;    /* of values */
	uint64_t *values;
};

/* Copies an answer of `sz` bytes, which are aligned. Returns false, and changes nothing, if no
 * working task gives it. Exported for fuzzing. */
bool address_answer__take(const void *answer, size_t sz, struct address_values *);

/* The function for TASK_ADDRESSES, in a worker. */
int address_task__run(struct task *);

#endif
