/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds where threads keep a pointer to their state, relative to the thread pointer: a thread-local
 * variable, or a slot of pthread_setspecific(). Looks for the states' addresses near the threads'
 * descriptors, so that it needs no disassembly and no knowledge of the C library.
 */
#ifndef RUNTIME_THREADSLOT_H
#define RUNTIME_THREADSLOT_H

#include "bpf/config.h"
#include "event/machine.h"
#include "runtime/remote.h"

#define THREAD_SLOT_WINDOW 4096 /* bytes below the descriptor, and as many above */
#define THREAD_SLOT_VOTERS 32
#define THREAD_SLOT_WORDS  (2 * THREAD_SLOT_WINDOW / 8)

#define THREAD_SLOT_POINTERS 32 /* words from the descriptor on */
#define THREAD_SLOT_KEYS     128

struct thread_slot {
	uint64_t self; /* pthread_self() of a thread that voted */
	uint8_t votes[THREAD_SLOT_WORDS];
	/* For words of an array to which a word of the descriptor points: musl keeps there what
	 * pthread_setspecific() sets. */
	uint8_t key_votes[THREAD_SLOT_POINTERS * THREAD_SLOT_KEYS];
	size_t voter_cnt;
};

/* Sets *off to pthread_self(), `self`, less the thread pointer of that thread. Returns false if the
 * thread pointer is not found: on AArch64, with a C library other than glibc. */
bool thread_slot__self_off(struct remote *, const struct machine *, uint64_t self, int64_t *off);

bool thread_slot__wants_more(const struct thread_slot *);
/* One thread: what pthread_self() is in it, and the address of its state. */
void thread_slot__vote(struct thread_slot *, struct remote *, uint64_t self, uint64_t state);
/* Sets where BPF finds the state: .self_off, .state_off, .key_off. Returns 0, -EAGAIN without
 * votes, or -ENOTSUP if the thread pointer is not found. */
int thread_slot__place(const struct thread_slot *, struct remote *, struct capture_runtime *);

#endif
