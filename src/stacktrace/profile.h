/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the samples of a stream to a google/pprof profile. */
#ifndef STACKTRACE_PROFILE_H
#define STACKTRACE_PROFILE_H

#include "event/trace.h"
#include "formats/item.h"
#include "jit/jit.h"

struct profile;

struct profile_options {
	bool live;	 /* the recorded kernel is the running one */
	bool clock;	 /* periods are nanoseconds of CPU time; if false, they count events */
	struct jit *jit; /* names JIT code; borrowed */
	struct workers *workers; /* read symbols; borrowed; NULL: none */
};

struct profile *profile__new(const struct profile_options *); /* NULL + errno on failure */
void profile__free(struct profile *);

/* Reports the address of _text in the recorded kernel. Symbols of the running kernel are used only
 * if it has _text at the same address. */
void profile__kernel_text(struct profile *, uint64_t addr);

struct profile_sample {
	const struct item *item;
	size_t kernel_cnt;	  /* entries of the item's chain in the kernel part */
	const struct trace *user; /* NULL if there is no user stack */
};

void profile__add(struct profile *, const struct profile_sample *);

/* Writes the profile to the open file, compressed with gzip. Returns 0 or -errno. */
int profile__write(struct profile *, int fd);

#endif
