/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit-PID.dump (jitdump, tools/perf/Documentation/jitdump-specification.txt): what a runtime writes
 * about its code while it makes, moves and frees it, with times.
 */
#ifndef JIT_JITDUMP_H
#define JIT_JITDUMP_H

#include "jit/codemap.h"

/* How far a file has been read. */
struct jitdump {
	uint64_t off;	  /* 0: nothing yet */
	bool with_frames; /* set by who wants call-frame information, too */
	uint16_t machine; /* EM_*, whose code it is */
	bool untimed;	  /* its times are in ticks of a counter, not of CLOCK_MONOTONIC */
};

/*
 * Adds the functions of all records that are whole now and were not before, of some 512 MB at a
 * time: while .off has grown there may be more. 0; -EBADMSG when it is no jitdump of this byte
 * order, or broken, and will not get better; another -errno.
 */
int jitdump__read(struct jitdump *, int fd, struct codemap *);

#endif
