/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds names for the frames of new stacks in a thread of its own, because reading the symbols of a
 * large program takes longer than a ring holds events. Jobs read the files. The thread that submits
 * a stack takes it back with its names later.
 */
#ifndef STACKS_SYMBOLIZER_H
#define STACKS_SYMBOLIZER_H

#include "stacks/jitkeys.h"
#include "store/row.h"
#include "symbol/symbol.h"

struct stack_frame {
	struct row_frame row;  /* all but the name; address and offset as if there were none */
	struct elf_file *file; /* a reference, or NULL: no name to be had from a file */
	uint64_t vaddr;	       /* in it; of JIT code: in the process */
	bool jit;	       /* the process may have said what is there */
	char *jit_name;	       /* the job's: what it said */
	bool asked;	       /* private: .symbol is what the file says */
	struct symbol symbol;  /* the answer; .name NULL: none. Lives as long as the reference, or
				  the job */
};

struct stack_job {
	struct stack_job *next;
	uint64_t stack_id;
	struct stack_owner owner;
	bool has_jit; /* the answer: there was a .jit frame, and this is
			 jit__generation() */
	uint32_t jit_generation;
	bool gave_up;	   /* the answer: files of its process did not answer in time */
	uint64_t since_ns; /* private: when it began to wait for files, or for its process */
	bool files_done;   /* private */
	size_t cnt;
	struct stack_frame frames[];
};

struct symbolizer;

struct symbolizer *symbolizer__new(void); /* NULL + errno */
/* Gives what was submitted a moment, then frees it. */
void symbolizer__free(struct symbolizer *);

/*
 * Takes the job, which was malloc()ed. Blocks for at most a second when far too many wait. Returns
 * false, with the job still the caller's, if there is no room after that.
 */
bool symbolizer__submit(struct symbolizer *, struct stack_job *);
/* A job that is done, for the caller to release, or NULL: none yet. */
struct stack_job *symbolizer__take(struct symbolizer *);
size_t symbolizer__pending(const struct symbolizer *); /* submitted and not taken yet */
/*
 * Waits until all that was submitted is done, at most `patience_ns`. Then gives the rest back
 * without names, `gave_up` set, and returns false.
 */
bool symbolizer__wait(struct symbolizer *, uint64_t patience_ns);
void stack_job__free(struct stack_job *);

/*
 * Like elf_file__known_symbol(), for the thread that submits. Waits for the name thread only while
 * that looks up one name. A job with the frame has found out when it is done.
 */
int symbolizer__symbol(struct symbolizer *, struct elf_file *, uint64_t vaddr, struct symbol *);

#endif
