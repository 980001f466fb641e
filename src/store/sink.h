/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is appended to through a buffer. Errors are sticky: the first -errno is kept. */
#ifndef STORE_SINK_H
#define STORE_SINK_H

#include "base/buf.h"

struct sink {
	int fd;		/* borrowed */
	uint64_t off;	/* bytes appended so far */
	struct buf buf; /* not yet written */
	int err;
};

void sink__append(struct sink *, const void *data, size_t sz);
int sink__flush(struct sink *); /* returns 0 or the -errno */
void sink__free(struct sink *); /* drops unflushed bytes */

#endif
