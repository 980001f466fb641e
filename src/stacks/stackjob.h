/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A new stack on its way through the name thread. */
#ifndef STACKS_STACKJOB_H
#define STACKS_STACKJOB_H

#include "stacks/jitkeys.h"
#include "store/row.h"
#include "symbol/symbol.h"

struct stack_frame {
	/* complete except for the name; address and offset as if there were no name */
	struct row_frame row;
	struct elf_file *file; /* a reference, or NULL if no file can name it */
	uint64_t vaddr;	       /* address in the file; of JIT code: in the process */
	bool jit;	       /* the process may publish a name for this place */
	char *jit_name;	       /* owned by the job: the published name */
	bool asked;	       /* private: .symbol was looked up in the file */
	bool mangled;	       /* private: its name must be demangled */
	bool has_inlined;      /* private: row_frames__inlined() has some */
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

void stack_job__free(struct stack_job *);

#endif
