// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/mergeevents.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "stacksexport/fleet/mergerows.h"

/* What is known of the inputs before their rows are read. */
struct inputs {
	struct merge_columns columns;
	struct merge_ranges ranges;
};

static int mergeevents_write_rows(const struct merge_events *e, struct merge_rows *rows,
				  uint64_t expected, uint64_t *cnt, char *why)
{
	int err = merge_rows__write(rows, why);

	if (!err)
		err = merge_rows__finish(rows, cnt);
	if (err || *cnt == expected)
		return err;
	log__error("cannot merge: %" PRIu64 " of %" PRIu64
		   " rows were written to %s; nothing was changed",
		   *cnt, expected, e->path);
	return -EPROTO;
}

static int mergeevents_write_file(const struct merge_events *e, const struct inputs *in,
				  uint64_t *cnt, char *why)
{
	struct merge_rows_options o = { .db = e->db,
					.columns = &in->columns,
					.ranges = &in->ranges,
					.sources = e->sources,
					.dir = e->dir };
	struct fleet_events table;
	struct merge_rows *rows;
	int err;

	fleet_events__init(&table);
	o.events = &table;
	o.fd = open(e->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (o.fd < 0)
		return -errno;
	rows = merge_rows__new(&o);
	err = rows ? mergeevents_write_rows(e, rows, in->ranges.row_cnt, cnt, why) : -errno;
	merge_rows__free(rows);
	close(o.fd);
	return err;
}

static int mergeevents_cannot_write(const struct merge_events *e, int err)
{
	log__error("cannot write %s: %s", e->path, strerror(-err));
	return err;
}

int merge_events__write(const struct merge_events *e, uint64_t *cnt, char why[MERGE_WHY_SZ])
{
	struct inputs in = { 0 };
	int err;

	*cnt = 0;
	*why = '\0';
	err = merge_columns__read(&in.columns, e->db, e->with_values, why);
	if (!err)
		err = merge_ranges__read(&in.ranges, e->db, merge_rows__max(&in.columns),
					 e->at_most);
	if (!err)
		err = mergeevents_write_file(e, &in, cnt, why);
	merge_columns__free(&in.columns);
	merge_ranges__free(&in.ranges);
	return err && err != -EIO && err != -EBADMSG && err != -EPROTO
		       ? mergeevents_cannot_write(e, err)
		       : err;
}
