/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A piece of code that a managed runtime has made, as it was read once. */
#ifndef RUNTIME_CODEBLOB_H
#define RUNTIME_CODEBLOB_H

#include "runtime/script.h"

enum code_kind {
	CODE_NONE,	  /* there is no code */
	CODE_STUB,	  /* of the runtime itself */
	CODE_INTERPRETER, /* its frames say which function they run */
	CODE_COMPILED,
	CODE_NATIVE,   /* calls a function in native code */
	CODE_JIT,      /* of the runtime itself, made for a task: it may be freed */
	CODE_BASELINE, /* its frames are those of the interpreter; a scope is a bytecode's offset */
	CODE_BARRIER,  /* a stub that returns to frames which are not on the stack */
	CODE_BYTECODE, /* no code: what interpreters run; .scripts is empty if it has no name */
};

/* A call in the code of a function: of itself, or of one that was inlined. */
struct code_scope {
	uint32_t caller; /* index; CODE_NOWHERE: the code's own function */
	uint32_t function;
	uint32_t line, line_in; /* see struct script_call */
};

/* The code from the end of the previous place up to this one is in this scope. */
struct code_place {
	uint32_t off, scope;
};

#define CODE_NOWHERE UINT32_MAX

struct code_blob {
	enum code_kind kind;
	uint64_t start, end; /* of the code */
	/* Tells it from another one at the same address later. */
	uint64_t header;
	uint32_t id;
	uint32_t frame_sz; /* bytes, with the return address; 0: none, or unknown */
	uint32_t complete; /* offset in the code from which on the frame is complete */
	uint32_t handlers; /* offset of what follows the function's own code */
	uint8_t *bytes;	   /* of the code of functions; else NULL */
	uint32_t orig_pc;  /* offset in a frame of the real pc of one that returns to a handler */
	struct code_place *places; /* ascending */
	size_t place_cnt;
	struct code_scope *scopes; /* each after its caller */
	size_t scope_cnt;
	struct script *scripts; /* strings are its own */
	size_t script_cnt;
	/* For the table of a process's code: */
	uint64_t checked_ns;
	uint64_t hint; /* that did not lead to the function of this bytecode; 0: none */
	uint32_t tries;
};

struct remote;

/* Reads .bytes, from .start to .end: the caller bounds how many. Returns 0 or -errno. */
int code_blob__read(struct code_blob *, struct remote *);
/* Makes the one script of code that is no function of the program. Returns 0 or -errno. */
int code_blob__name(struct code_blob *, const char *language, const char *module, const char *name);
void code_blob__free(struct code_blob *);	    /* accepts NULL */
size_t code_blob__memory(const struct code_blob *); /* bytes */

/* Returns the innermost scope at a place, or CODE_NOWHERE. `exact`: only at the end of a place, as
 * for a return address. */
uint32_t code_blob__scope(const struct code_blob *, uint64_t pc, bool exact);

#endif
