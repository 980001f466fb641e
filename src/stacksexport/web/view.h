/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recordings that the page shows, one or two, and the answers to its requests. */
#ifndef STACKSEXPORT_WEB_VIEW_H
#define STACKSEXPORT_WEB_VIEW_H

#include "stacksexport/web/source.h"

#define VIEW_SOURCES_MAX 2

struct view {
	const struct export_options *options;
	struct source sources[VIEW_SOURCES_MAX];
	size_t source_cnt;
	struct model model;
	struct running running;
};

/* Opens the recordings of the command line. Returns STATUS_OK, or an exit status (already logged);
 * call view__close() in either case. */
int view__open(struct view *, const struct export_options *);
void view__close(struct view *);

/* A request, and the source that it queries. */
struct web_request {
	struct view *view;
	struct source *source;
	struct query_params params; /* `from` and `to` in unix time, both set: view__select() */
	const char *body;	    /* of POST; ends with NUL */
	char from[24], to[24];
};

/* The response. Errors are text for users. */
struct answer {
	struct buf json, error;
	int status; /* of HTTP */
};

/* Sets the recording's time range in the parameters: `from` and `to` count from its beginning.
 * Returns 0 or -errno, with the answer's error. */
int view__select(struct web_request *, struct answer *);

/* Waits until the stacks have been read. Returns 0 or -errno, with the answer's error. */
int view__await_stacks(struct web_request *, struct answer *);

/* Sets status and error of the answer. Returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int answer__fail(struct answer *, int status, const char *fmt,
						       ...);

/* Runs sql/view/… with the request's parameters. The caller destroys *out in either case. Returns 0
 * or -errno, with the answer's error. */
int view__query(struct web_request *, const char *path, duckdb_result *out, struct answer *);

/* Appends the rows as an array of objects. Returns 0 or -errno, with the answer's error. */
int view__rows(struct web_request *, const char *path, struct answer *);

#endif
