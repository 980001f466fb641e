// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport top`: where time went, in a terminal. The numbers are sql/top/'s. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/utf8.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/sources.h"
#include "stacksexport/commands.h"
#include "stacksexport/lossshare.h"
#include "stacksexport/moment.h"
#include "stacksexport/printer.h"
#include "stacksexport/progress.h"
#include "stacksexport/grouping.h"
#include "stacksexport/request.h"
#include "stacksexport/topbase.h"
#include "stacksexport/toptable.h"

#define ROWS_DEFAULT 10
#define SHOWN	     "profile,switch" /* sources */

struct top {
	struct request request;
	FILE *out; /* memory: nothing is printed before all of it is known */
	size_t row_max;
	const char *by; /* what rows are by: the title of their column */
};

static int top_print_table(struct top *top, const char *title, const char *path)
{
	const struct top_table_options o = { .title = title,
					     .by = top->by,
					     .row_max = top->row_max,
					     .width = terminal__width(STDOUT_FILENO),
					     .out = top->out };

	return top_table__print(&top->request.db, path, &o);
}

/* "no_cfi 19, truncated 5" */
static int top_print_counts(struct top *top, const char *path)
{
	duckdb_result result;
	duckdb_data_chunk chunk;
	const char *between = "";
	int err = db__run_file(&top->request.db, path, &result);

	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		struct cells what = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
		struct cells cnt = cells__on(duckdb_data_chunk_get_vector(chunk, 1));

		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
			size_t sz;
			const char *s = cells__str(&what, row, &sz);

			fprintf(top->out, "%s%.*s %" PRId64, between, (int)sz, s ? s : "",
				cells__int(&cnt, row));
			between = ", ";
		}
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	return err;
}

/* Columns of sql/top/recording.sql. */
enum fact { FACT_START, FACT_END, FACT_EVENTS, FACT_STACKS, FACT_AT_ROOT, FACT_LOST, FACT_CNT };

static int top_read_facts(struct top *top, int64_t facts[FACT_CNT])
{
	duckdb_result result;
	duckdb_data_chunk chunk = NULL;
	int err = db__run_file(&top->request.db, "sql/top/recording.sql", &result);

	if (!err)
		chunk = duckdb_fetch_chunk(result);
	for (idx_t i = 0; chunk && i < FACT_CNT; i++) {
		struct cells c = cells__on(duckdb_data_chunk_get_vector(chunk, i));

		facts[i] = cells__int(&c, 0);
	}
	duckdb_destroy_data_chunk(&chunk);
	duckdb_destroy_result(&result);
	return err;
}

/* Percent, cut to one decimal: 100.0 means all. */
static double top_percent(int64_t part, int64_t all)
{
	return (double)(int64_t)(1000.0 * (double)part / (double)all) / 10;
}

static int top_print_facts(struct top *top, const int64_t f[FACT_CNT])
{
	char when[MOMENT_TEXT_SZ];
	int64_t missing = 0;
	int err = 0;

	moment__format(f[FACT_START], when);
	fprintf(top->out, "%s: %.1f s from %s, %" PRId64 " events\n", top->request.files.label,
		(double)(f[FACT_END] - f[FACT_START]) / 1e9, when, f[FACT_EVENTS]);
	if (f[FACT_STACKS])
		fprintf(top->out, "User stacks: %" PRId64 ", %.1f %% reach the root",
			f[FACT_STACKS], top_percent(f[FACT_AT_ROOT], f[FACT_STACKS]));
	if (f[FACT_STACKS] > f[FACT_AT_ROOT]) {
		fputs("; the others: ", top->out);
		err = top_print_counts(top, "sql/top/unwinds.sql");
	}
	fprintf(top->out, "%sLost events: %" PRId64, f[FACT_STACKS] ? "\n" : "", f[FACT_LOST]);
	if (!err && f[FACT_LOST]) {
		fputs(" (", top->out);
		err = top_print_counts(top, "sql/top/lost.sql");
		fputs(")", top->out);
		if (!err)
			err = loss_share__of(&top->request.db,
					     sources__of_list(SHOWN, strlen(SHOWN)), &missing);
		fputs(missing ? ": times are too small" : "", top->out);
	}
	fputs("\n", top->out);
	return err;
}

/* What the tables of off-CPU time leave out: one line, or with --waiting a table. */
static int top_print_idle(struct top *top)
{
	bool opened = top->request.options->waiting;
	int64_t idle_ns = 0, kernel_ns = 0, *const fields[] = { &idle_ns, &kernel_ns };
	int err = db__read_integers(&top->request.db, "sql/top/idle.sql", fields, 2);

	if (!err && idle_ns)
		fprintf(top->out, "Not counted: %.3f s in which threads waited for work%s\n",
			(double)idle_ns / 1e9, opened ? "." : " (--waiting shows where).");
	if (!err && kernel_ns)
		fprintf(top->out,
			"Not counted: %.3f s in which threads of the kernel waited for work.\n",
			(double)kernel_ns / 1e9);
	if (!err && opened)
		err = top_print_table(top, "WAITING FOR WORK BY FUNCTION",
				      "sql/top/idle_functions.sql");
	return err;
}

static void top_print_none(struct top *top, const char *time, const char *kind)
{
	unsigned selects = OPTION_COMM | OPTION_BINARY | OPTIONS_SELECTION;

	fprintf(top->out, "\nNo %s time: nothing of kind '%s' was %s (collector -p %s).\n", time,
		kind, top->request.options->given & selects ? "selected, or recorded" : "recorded",
		kind);
}

static void top_append_advice(const char *s, size_t sz, void *lines)
{
	struct buf *out = lines;

	buf__str(out, out->sz ? "" : "\nTO GET MORE FROM A RECORDING\n");
	utf8__sanitize_printable(out, s, sz);
	buf__str(out, "\n");
}

/* What to do about stacks that end early and functions without names. */
static int top_print_advice(struct top *top)
{
	struct buf lines = { 0 };
	int err =
		request__each_text(&top->request, "sql/top/advice.sql", top_append_advice, &lines);

	if (!err)
		err = buf__err(&lines) ? -ENOMEM : 0;
	if (!err)
		fwrite(lines.data, 1, lines.sz, top->out);
	buf__free(&lines);
	return err;
}

static int top_print_by(struct top *top)
{
	char title[32] = "TIME BY ";
	size_t at = strlen(title);

	for (const char *by = top->by; *by && at < sizeof(title) - 1; by++)
		title[at++] = (char)toupper((unsigned char)*by);
	return top_print_table(top, title, "sql/top/commands.sql");
}

static int top_print_all(struct top *top, bool has_cpu, bool has_offcpu)
{
	int err = top_print_by(top);

	if (!err && has_cpu)
		err = top_print_table(top, "CPU TIME BY FUNCTION", "sql/top/cpu_functions.sql");
	if (!err && has_offcpu)
		err = top_print_table(top, "OFF-CPU TIME BY FUNCTION",
				      "sql/top/offcpu_functions.sql");
	if (!err && has_offcpu)
		err = top_print_table(top, "OFF-CPU TIME BY STATE (how threads left the CPU)",
				      "sql/top/states.sql");
	if (!err && has_offcpu)
		err = top_print_idle(top);
	if (!err && !has_cpu)
		top_print_none(top, "CPU", "profile");
	if (!err && !has_offcpu)
		top_print_none(top, "off-CPU", "switch");
	if (!err)
		err = top_print_advice(top);
	return err;
}

static int top_fill(struct top *top)
{
	struct db *db = &top->request.db;
	const struct top_base_options options = { top->by,
						  top_base__by_total(top->request.options) };
	int64_t facts[FACT_CNT] = { 0 };
	struct top_base_rows rows;

	if (top_base__samples(db, &options, &rows) != 0 || top_read_facts(top, facts) != 0)
		return STATUS_FAILED;
	top->request.reads = 1ull << EVENT_PROFILE | 1ull << EVENT_SWITCH;
	if (rows.cpu == 0 && rows.offcpu == 0)
		return request__empty(&top->request);
	if (top_base__functions(db) != 0 || top_print_facts(top, facts) != 0 ||
	    top_print_all(top, rows.cpu > 0, rows.offcpu > 0) != 0)
		return STATUS_FAILED;
	return STATUS_OK;
}

static int top_print_memory(struct top *top)
{
	char *text = NULL;
	size_t sz = 0;
	int status = STATUS_FAILED;

	top->out = open_memstream(&text, &sz);
	if (top->out)
		status = top_fill(top);
	else
		log__error("out of memory");
	if (top->out && fclose(top->out) != 0)
		status = STATUS_FAILED;
	progress__end();
	if (status == STATUS_OK && (fwrite(text, 1, sz, stdout) != sz || fflush(stdout) != 0)) {
		log__error("cannot write to the standard output: %s", strerror(errno));
		status = STATUS_FAILED;
	}
	free(text);
	return status;
}

int top__run(const struct export_options *o)
{
	struct top top = { .row_max = o->rows ? o->rows : ROWS_DEFAULT,
			   .by = o->by ? o->by : "command" };
	int status = top_base__check_order(o);

	if (status == STATUS_OK)
		status = grouping__check(o);
	if (status != STATUS_OK)
		return status;
	status = request__open(&top.request, o);
	if (status == STATUS_OK)
		status = top_print_memory(&top);
	request__close(&top.request);
	return status;
}
