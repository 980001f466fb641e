/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs this program again with other arguments, with bounds on its time and its output. */
#ifndef STACKSEXPORT_MCP_BOUNDEDRUN_H
#define STACKSEXPORT_MCP_BOUNDEDRUN_H

#include <stdbool.h>

#include "base/buf.h"

enum bounded_stream { BOUNDED_OUT, BOUNDED_ERR, BOUNDED_STREAM_CNT };

struct bounded_run {
	unsigned limit_s; /* set by the caller */
	size_t size_max;  /* set by the caller: bytes of each stream */
	struct buf text[BOUNDED_STREAM_CNT];
	bool timed_out, cut; /* cut: standard output had more bytes */
	int status;	     /* of exit; -1: a signal ended it */
};

/* `argv` ends with NULL. Returns 0 when the program has ended or was killed, or -errno if it cannot
 * be started; bounded_run__free() in either case. */
int bounded_run__go(struct bounded_run *, char *const *argv);
void bounded_run__free(struct bounded_run *);

#endif
