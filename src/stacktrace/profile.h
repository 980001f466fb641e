/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of a stream as a profile of google/pprof. */
#ifndef STACKTRACE_PROFILE_H
#define STACKTRACE_PROFILE_H

#include "event/trace.h"
#include "formats/item.h"
#include "jit/jitfile.h"

struct profile;

struct profile_options {
	bool live;  /* the kernel is this one */
	bool clock; /* periods are nanoseconds of CPU time, else they count events */
	const struct jit_places *jit; /* who is asked for names of code that was made; borrowed */
};

struct profile *profile__new(const struct profile_options *); /* NULL + errno */
void profile__free(struct profile *);

/* Where the recorded kernel has its symbol _text: only when this one has it there, too, are its
 * names the recorded one's. */
void profile__kernel_text(struct profile *, uint64_t addr);

struct profile_sample {
	const struct item *item;
	size_t kernel_cnt;	  /* of the item's chain: the kernel's part */
	const struct trace *user; /* NULL: none */
};

void profile__add(struct profile *, const struct profile_sample *);

/* Gzipped, to the open file. 0 or -errno. */
int profile__write(struct profile *, int fd);

#endif
