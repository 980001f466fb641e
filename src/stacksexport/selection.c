// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/selection.h"

#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "stacksexport/duck/sources.h"
#include "stacksexport/moment.h"

/* How the text of an option becomes a value. */
enum selection_type { SELECTION_MOMENT, SELECTION_NUMBER, SELECTION_KIND, SELECTION_TEXT };

static const struct selection_row {
	const char *option, *variable;
	size_t field; /* offset of the text in struct export_options */
	enum selection_type type;
} rows[] = {
	{ "from", "selected_from", offsetof(struct export_options, from), SELECTION_MOMENT },
	{ "to", "selected_to", offsetof(struct export_options, to), SELECTION_MOMENT },
	{ "pid", "selected_pid", offsetof(struct export_options, pid), SELECTION_NUMBER },
	{ "tid", "selected_tid", offsetof(struct export_options, tid), SELECTION_NUMBER },
	{ "thread", "selected_thread", offsetof(struct export_options, thread), SELECTION_TEXT },
	{ "span", "selected_span", offsetof(struct export_options, span), SELECTION_TEXT },
	{ "kind", "selected_kind", offsetof(struct export_options, kind), SELECTION_KIND },
	{ "cgroup", "selected_cgroup", offsetof(struct export_options, cgroup), SELECTION_TEXT },
	{ "host", "selected_host", offsetof(struct export_options, host), SELECTION_TEXT },
};

#define ROW_CNT (sizeof(rows) / sizeof(rows[0]))

static const char *row__text(const struct selection_row *row, const struct export_options *o)
{
	return *(const char *const *)((const char *)o + row->field);
}

/* NULL, or what the text should have been. */
static const char *row__expected(const struct selection_row *row, const char *text)
{
	struct moment moment;
	uint64_t number;

	switch (row->type) {
	case SELECTION_MOMENT: return moment__parse(text, &moment) ? MOMENT_FORMS : NULL;
	case SELECTION_NUMBER:
		return parse__u64(text, &number) || number > INT32_MAX ? "a number" : NULL;
	case SELECTION_KIND:
		return sources__kind(text, strlen(text))
			       ? NULL
			       : "a kind of event; see: stacksexport query 'SELECT DISTINCT kind "
				 "FROM events'";
	case SELECTION_TEXT: return NULL;
	}
	return NULL;
}

int selection__check(const struct export_options *o)
{
	for (size_t i = 0; i < ROW_CNT; i++) {
		const char *text = row__text(&rows[i], o);
		const char *expected = text ? row__expected(&rows[i], text) : NULL;

		if (expected)
			return export_options__wrong(o, "--%s '%s': expected %s", rows[i].option,
						     text, expected);
	}
	return STATUS_OK;
}

static duckdb_value row__value(const struct selection_row *row, const char *text,
			       const struct selection_extent *extent)
{
	struct moment moment = { 0 };
	uint64_t number = 0;

	switch (row->type) {
	case SELECTION_MOMENT:
		moment__parse(text, &moment);
		return duckdb_create_int64(
			moment__resolve(&moment, extent->start_ns, extent->end_ns));
	case SELECTION_NUMBER:
		parse__u64(text, &number);
		return duckdb_create_int32((int32_t)number);
	case SELECTION_KIND:
	case SELECTION_TEXT: return duckdb_create_varchar(text);
	}
	return NULL;
}

/* Times count from the beginning of the recording, whatever is selected. Without a selection that
 * is the first event that is read. */
static bool selection_needs_extent(const struct export_options *o)
{
	bool needs = o->from || o->to || o->before || o->after || (o->shows_times && o->comm);

	for (size_t i = 0; i < ROW_CNT && o->shows_times && !needs; i++)
		needs = row__text(&rows[i], o);
	return needs;
}

int selection__read_extent(struct db *db, const struct export_options *o,
			   struct selection_extent *extent)
{
	int64_t *const fields[] = { &extent->start_ns, &extent->end_ns };

	*extent = (struct selection_extent){ 0 };
	return selection_needs_extent(o) ? db__read_integers(db, "sql/extent.sql", fields, 2) : 0;
}

static int selection_set_extent(struct db *db, const struct selection_extent *extent)
{
	int err = db__set_variable(db, "recording_begins", duckdb_create_int64(extent->start_ns));

	return err ? err
		   : db__set_variable(db, "recording_ends", duckdb_create_int64(extent->end_ns));
}

int selection__set(struct db *db, const struct export_options *o,
		   const struct selection_extent *extent)
{
	int err = selection_needs_extent(o) ? selection_set_extent(db, extent) : 0;

	for (size_t i = 0; i < ROW_CNT && !err; i++) {
		const char *text = row__text(&rows[i], o);

		if (text)
			err = db__set_variable(db, rows[i].variable,
					       row__value(&rows[i], text, extent));
	}
	return err;
}

int selection__set_command(struct db *db, const char *command)
{
	return db__set_variable(db, "selected_command",
				command ? duckdb_create_varchar(command)
					: duckdb_create_null_value());
}

void selection__describe(struct buf *out, const struct export_options *o)
{
	for (size_t i = 0; i < ROW_CNT; i++) {
		const char *text = row__text(&rows[i], o);

		if (text)
			buf__printf(out, "%s--%s %s", out->sz ? " " : "", rows[i].option, text);
	}
}
