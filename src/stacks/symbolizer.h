/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds names for the frames of new stacks in a thread of its own, because reading the symbols of a
 * large program takes longer than a ring holds events. Jobs read the files. The thread that submits
 * a stack takes it back with its names later.
 */
#ifndef STACKS_SYMBOLIZER_H
#define STACKS_SYMBOLIZER_H

#include "jit/jit.h"
#include "stacks/stackjob.h"

struct workers; /* worker/workers.h */

struct symbolizer;

/* Borrows both. Without `jit` there are no names of JIT code; without `workers` this process reads
 * files and demangles names. Returns NULL and sets errno on failure. */
struct symbolizer *symbolizer__new(struct jit *jit, struct workers *workers);
/* Waits briefly for the submitted jobs, then frees everything. */
void symbolizer__free(struct symbolizer *);

/*
 * Takes ownership of the job, which was malloc()ed. Blocks for at most a second if too many jobs
 * wait. Returns false, without taking ownership, if there is still no room.
 */
bool symbolizer__submit(struct symbolizer *, struct stack_job *);
/* Returns a finished job, which the caller frees, or NULL if there is none yet. */
struct stack_job *symbolizer__take(struct symbolizer *);
size_t symbolizer__pending(const struct symbolizer *); /* submitted and not taken yet */
size_t symbolizer__sz(const struct symbolizer *);      /* bytes of these jobs, without names */
/*
 * Waits until all submitted jobs are finished, at most `patience_ns`. Then returns the others
 * without names, with `gave_up` set, and returns false.
 */
bool symbolizer__wait(struct symbolizer *, uint64_t patience_ns);

/*
 * Like elf_file__known_symbol(), for the submitting thread. Waits for the name thread only while it
 * looks up one name. When a job with this frame is finished, the symbol is known.
 */
int symbolizer__symbol(struct symbolizer *, struct elf_file *, uint64_t vaddr, struct symbol *);

/* Like elf_file__code_lines(), for the submitting thread. */
bool symbolizer__lines(struct symbolizer *, const struct elf_file *, uint64_t vaddr,
		       struct code_lines *);

#endif
