/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known already of the names of JIT code, so that frames in it count by name in the ids of
 * stacks. Who knows names is another thread (jit/jit.h); what it finds is learnt here.
 */
#ifndef STACKS_JITKEYS_H
#define STACKS_JITKEYS_H

#include <stdbool.h>
#include <stdint.h>

struct jit_keys;

struct jit_keys *jit_keys__new(void); /* NULL + errno */
void jit_keys__free(struct jit_keys *);

/* Where and when a stack was taken. */
struct stack_owner {
	uint32_t tgid;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	bool last;	  /* it waits no longer for symbol tables that ids need: they do without */
};

/*
 * Begins a stack: what follows is about its process. False when the process is known to tell
 * nothing of its code; it is asked again now and then.
 */
bool jit_keys__begin(struct jit_keys *, const struct stack_owner *);
/* Whether what is known of it is so old that it is to be asked again; true once, then it is. */
bool jit_keys__due(struct jit_keys *);
/* Hash of the name at the address; else false, and a number that stands for the address for as long
 * as no other name is there. */
bool jit_keys__name(const struct jit_keys *, uint64_t addr, uint64_t *hash);

/* What was found: jit__generation(), and names' hashes. */
void jit_keys__learn(struct jit_keys *, const struct stack_owner *, uint32_t generation);
void jit_keys__learn_name(struct jit_keys *, uint64_t addr, uint64_t hash);

#endif
