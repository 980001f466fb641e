/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of jit-PID.dump (tools/perf/Documentation/jitdump-specification.txt), in which a runtime
 * records when it makes, moves and frees code.
 */
#ifndef JIT_JITDUMP_H
#define JIT_JITDUMP_H

#include <pthread.h>

#include "jit/codemap.h"

/* How far a file has been read. */
struct jitdump {
	uint64_t off; /* 0: nothing yet */
	/* Set by the caller: held while functions are added. NULL: none is needed. */
	pthread_mutex_t *lock;
	uint16_t machine; /* EM_*, of the code */
	bool untimed;	  /* its times are ticks of a counter, not CLOCK_MONOTONIC */
};

/*
 * Adds the functions of all records that have become complete since the last call, from at most
 * some 512 MB of the file; if .off has grown there may be more. Returns 0, -EBADMSG if the file is
 * broken or no jitdump of this byte order, or another -errno.
 */
int jitdump__read(struct jitdump *, int fd, struct codemap *);

#endif
