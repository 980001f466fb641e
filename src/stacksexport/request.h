/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every subcommand begins with: a recording, open in DuckDB, and what -c and -b stand for. */
#ifndef STACKSEXPORT_REQUEST_H
#define STACKSEXPORT_REQUEST_H

#include "pprof/binary.h"
#include "stacksexport/duck/db.h"
#include "stacksexport/export_options.h"
#include "stacksexport/duck/recfiles.h"
#include "stacksexport/selection.h"

struct request {
	const struct export_options *options;
	struct recfiles files;
	struct db db;
	struct binaries *binaries;
	char build_id[BUILD_ID_HEX_SZ]; /* of -b; "" without */
	char comm[16];			/* -c, as long as the kernel keeps it */
	struct selection_extent extent;
	uint64_t reads;	 /* kinds that the queries name (sources.h) */
	bool reads_lost; /* and the notices of lost events */
};

/* Opens it all. STATUS_OK, or an exit status after reporting; request__close() in either case. */
int request__open(struct request *, const struct export_options *);
void request__close(struct request *);

/*
 * Parses a query and checks that -c and -b are there for what it uses. STATUS_OK, or an exit status
 * after reporting; `name` is what the query is called then.
 */
int request__parse(struct request *, const char *name, const char *text, struct statements *);

/* What sql/recording.sql says. */
struct recording_facts {
	int64_t start_ns, wall_ns, period_ns;
};

/* 0 or -errno; reports. */
int request__facts(struct request *, struct recording_facts *);

/* Calls fn with the texts of the first column of the result of a script of ours. 0 or -errno;
 * reports. */
int request__each_text(struct request *, const char *path,
		       void (*fn)(const char *s, size_t sz, void *arg), void *arg);

/* How many events were lost while recording. Warns if that matters to what the queries read
 * (losses.h), unless they read the losses themselves. 0 or -errno; reports. */
int request__lost(struct request *, int64_t *lost);

/* Warns of what the query reads and the recording does not have: it is 0 in a result that has other
 * rows, or missing. */
void request__partly(struct request *);

/* Says that the result is empty and why: what would have to be recorded for it, which of it did not
 * happen, or, as -c is easily mistyped, which commands there are. Returns STATUS_FAILED. */
int request__empty(struct request *);

/* Warns that no event of the result has a stack, and how they are recorded with stacks. */
void request__stackless(const struct request *);

#endif
