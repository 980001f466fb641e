/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signed requests to a store that speaks S3 (AWS Signature Version 4). */
#ifndef STACKSEXPORT_PUSH_S3REQUEST_H
#define STACKSEXPORT_PUSH_S3REQUEST_H

#include "base/buf.h"
#include "stacksexport/push/curllib.h"
#include "stacksexport/push/s3target.h"

struct s3 {
	struct curllib curl;
	struct s3_target target;
	CURL *handle;
};

struct s3_request {
	const char *method;
	const char *object; /* "events/day=2026-11-26/…" */
	const char *query;  /* "partNumber=1&uploadId=x", sorted and encoded; NULL: none */
	const void *body;
	size_t body_sz;
};

#define S3_ETAG_SZ 256

struct s3_answer {
	long status;
	char etag[S3_ETAG_SZ]; /* "" without one */
	struct buf body;       /* the first 64 KB, with a NUL */
};

/* Returns 0 or -errno (already logged). Call s3__close() in either case. */
int s3__open(struct s3 *, const char *url);
void s3__close(struct s3 *);

/*
 * Sends a request. Returns 0 if the server accepted it. -EAGAIN, after a warning: the network or
 * the server failed, and another try can work. -EIO, after an error: it cannot. The caller frees
 * answer->body in every case.
 */
int s3__send(struct s3 *, const struct s3_request *, struct s3_answer *);

/* Appends a text, encoded for a path (slashes stay) or, if `is_value`, for a query. */
void s3__encode(struct buf *, const char *text, int is_value);

#endif
