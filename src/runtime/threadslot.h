/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds where threads keep a pointer to their state, relative to the thread pointer: a thread-local
 * variable, or a slot of pthread_setspecific(). Looks for the states' addresses near the threads'
 * descriptors, so that it needs no disassembly and no knowledge of the C library.
 */
#ifndef RUNTIME_THREADSLOT_H
#define RUNTIME_THREADSLOT_H

#include "event/machine.h"
#include "runtime/remote.h"

#define THREAD_SLOT_WINDOW 4096 /* bytes below the descriptor, and as many above */
#define THREAD_SLOT_VOTERS 32
#define THREAD_SLOT_WORDS  (2 * THREAD_SLOT_WINDOW / 8)

struct thread_slot {
	uint64_t self; /* pthread_self() of a thread that voted */
	uint8_t votes[THREAD_SLOT_WORDS];
	size_t voter_cnt;
};

/* Sets *off to pthread_self(), `self`, less the thread pointer of that thread. Returns false if the
 * thread pointer is not found: on AArch64, with a C library other than glibc. */
bool thread_slot__self_off(struct remote *, const struct machine *, uint64_t self, int64_t *off);

bool thread_slot__wants_more(const struct thread_slot *);
/* One thread: what pthread_self() is in it, and the address of its state. */
void thread_slot__vote(struct thread_slot *, struct remote *, uint64_t self, uint64_t state);
/* Sets both to the two best places with the same number of votes; to the same if there is one.
 * Returns false without votes. */
bool thread_slot__winners(const struct thread_slot *, int64_t off[2]);

#endif
