/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds names for the frames of new stacks in a thread of its own, because reading the symbols of a
 * large program takes longer than a ring holds events. Jobs read the files. The thread that submits
 * a stack takes it back with its names later.
 */
#ifndef STACKS_SYMBOLIZER_H
#define STACKS_SYMBOLIZER_H

#include "jit/jit.h"
#include "stacks/jitkeys.h"
#include "store/row.h"
#include "symbol/symbol.h"

struct stack_frame {
	struct row_frame
		row; /* complete except for the name; address and offset as if there were no name */
	struct elf_file *file; /* a reference, or NULL if no file can name it */
	uint64_t vaddr;	       /* address in the file; of JIT code: in the process */
	bool jit;	       /* the process may publish a name for this place */
	char *jit_name;	       /* owned by the job: the published name */
	bool asked;	       /* private: .symbol was looked up in the file */
	struct symbol symbol;  /* result; .name is NULL if there is none. Lives as long as the
				  reference, or the job */
};

/* Takes a reference to the file of the frame, and keeps the names that .symbol points to. */
static inline void stack_frame__keep_file(const struct stack_frame *f)
{
	elf_file__get(f->file);
	elf_file__pin(f->file, ELF_SLOT_SYMBOLS);
}

static inline void stack_frame__release_file(const struct stack_frame *f)
{
	elf_file__unpin(f->file, ELF_SLOT_SYMBOLS);
	elf_file__put(f->file);
}

struct stack_job {
	struct stack_job *next;
	uint64_t stack_id;
	struct stack_owner owner;
	bool has_jit; /* result: there was a .jit frame, and this is jit__generation() */
	uint32_t jit_generation;
	bool gave_up;	   /* result: files of its process were not read in time */
	uint64_t since_ns; /* private: time at which it began to wait for files, or for its process
			    */
	bool files_done;   /* private */
	size_t cnt;
	struct stack_frame frames[];
};

struct symbolizer;

/* Borrows `jit`; NULL: there are no names of JIT code. Returns NULL and sets errno on failure. */
struct symbolizer *symbolizer__new(struct jit *jit);
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
/*
 * Waits until all submitted jobs are finished, at most `patience_ns`. Then returns the others
 * without names, with `gave_up` set, and returns false.
 */
bool symbolizer__wait(struct symbolizer *, uint64_t patience_ns);
void stack_job__free(struct stack_job *);

/*
 * Like elf_file__known_symbol(), for the submitting thread. Waits for the name thread only while it
 * looks up one name. When a job with this frame is finished, the symbol is known.
 */
int symbolizer__symbol(struct symbolizer *, struct elf_file *, uint64_t vaddr, struct symbol *);

#endif
