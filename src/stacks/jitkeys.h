/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The known names of JIT code, by which such frames count in stack IDs. The name thread finds them
 * (jit/jit.h); this thread keeps what it found.
 */
#ifndef STACKS_JITKEYS_H
#define STACKS_JITKEYS_H

#include <stdbool.h>
#include <stdint.h>

struct jit_keys;

struct jit_keys *jit_keys__new(void); /* NULL + errno */
void jit_keys__free(struct jit_keys *);

/* The place and time at which a stack was taken. */
struct stack_owner {
	uint32_t tgid;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	bool last;	  /* do not wait for symbol tables any more: IDs do without */
};

/*
 * Begins a stack; the functions below refer to its process. Returns false if the process is known
 * to publish no names. Such a process is queried again from time to time.
 */
bool jit_keys__begin(struct jit_keys *, const struct stack_owner *);
/* Returns true once when the known names are so old that the process must be queried again. */
bool jit_keys__due(struct jit_keys *);
/* Returns true and the hash of the name at the address. Otherwise returns false and a number that
 * identifies the address until it has another name. */
bool jit_keys__name(const struct jit_keys *, uint64_t addr, uint64_t *hash);

/* Keeps what was found: jit__generation(), and hashes of names. */
void jit_keys__learn(struct jit_keys *, const struct stack_owner *, uint32_t generation);
void jit_keys__learn_name(struct jit_keys *, uint64_t addr, uint64_t hash);

#endif
