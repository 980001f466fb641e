/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that a process made while it ran: which function lies where, and since when. Places are used
 * again: of those that fit, what was added last counts. Bounded, whatever is added.
 */
#ifndef JIT_CODEMAP_H
#define JIT_CODEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codemap;

struct code {
	uint64_t start, sz; /* addresses in the process, bytes */
	uint64_t time_ns;   /* since when, CLOCK_MONOTONIC; 0: unknown */
	const char *name;   /* raw, NUL-terminated */
	const void *frames; /* its call-frame information, as in .eh_frame, or NULL; from
			       codemap__find() until the next codemap__add() */
	size_t frames_sz;
	uint16_t machine;   /* of the frames, EM_*; not known to a codemap, as is: */
	uint64_t frames_at; /* where .eh_frame lies, for its pc-relative addresses; 0: it is a
			       .debug_frame */
};

struct codemap *codemap__new(void); /* NULL + errno */
void codemap__free(struct codemap *);

/* Copies. 0, -EINVAL for what is no function (empty, too large), -E2BIG when there is no more room,
 * -ENOMEM. */
int codemap__add(struct codemap *, const struct code *);

/* Makes room: keeps the half that was added last. 0 or -ENOMEM, then nothing changed. Names that
 * codemap__find() gave before end. */
int codemap__keep_newest(struct codemap *);

/*
 * What was at the address at that time: of those that were there by then the last, else the first
 * that came after, whose maker was late in saying so. The name lives as long as the map.
 */
bool codemap__find(const struct codemap *, uint64_t addr, uint64_t time_ns, struct code *);

size_t codemap__cnt(const struct codemap *);
size_t codemap__sz(const struct codemap *); /* bytes of memory */
/* Grows with each place that got another owner. */
uint32_t codemap__reused(const struct codemap *);

#endif
