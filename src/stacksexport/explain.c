// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport explain`: a recording in one page of Markdown. Each sentence is a row of a query in
 * sql/explain/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "stacksexport/commands.h"
#include "stacksexport/explain.h"
#include "stacksexport/outfile.h"
#include "stacksexport/progress.h"
#include "stacksexport/topbase.h"

/* Rows that are one sentence each: "- …" is an item of a list, other rows a paragraph each. */
static const struct explain_section {
	const char *title, *path;
	const char *none; /* what is said if there is no row; NULL: the section is left out */
} sections[] = {
	{ "What was recorded", "sql/explain/recorded.sql", NULL },
	{ "What ran, and what it cost", "sql/explain/commands.sql", NULL },
	{ "Where CPU time went", "sql/explain/cpu.sql", NULL },
	{ "Where it waited", "sql/explain/waits.sql", NULL },
	{ "For whom it waited", "sql/explain/wakers.sql", NULL },
	{ "Spans", "sql/explain/spans.sql", NULL },
	{ "What grew", "sql/explain/growth.sql", NULL },
	{ "What stands out", "sql/explain/stands_out.sql", "Nothing stands out." },
	{ "What the recording does not know", "sql/explain/unknown.sql",
	  "No event was lost, and all stacks reach their root." },
	{ "How to know more from the next recording", "sql/explain/advice.sql", NULL },
	{ "What to run next", "sql/explain/next.sql", NULL },
};

/* The tables of top, under the names by which the queries of the page read them. */
static const struct {
	const char *table, *path;
} top_tables[] = {
	{ "top_commands", "sql/top/commands.sql" },
	{ "top_cpu", "sql/top/cpu_functions.sql" },
	{ "top_offcpu", "sql/top/offcpu_functions.sql" },
	{ "top_advice", "sql/top/advice.sql" },
};

static int explain_make_tables(struct request *r)
{
	static const struct top_base_options options = { .by = "command" };
	struct top_base_rows rows;
	int err = top_base__samples(&r->db, &options, &rows);

	if (!err)
		err = top_base__functions(&r->db);
	for (size_t i = 0; i < sizeof(top_tables) / sizeof(*top_tables) && !err; i++)
		err = top_base__keep(&r->db, top_tables[i].table, top_tables[i].path);
	return err ? err : db__script(&r->db, "sql/explain/words.sql");
}

/* ---- the page ------------------------------------------------------------------------------- */

/* One section, as its rows come. */
struct explain_lines {
	struct buf *out;
	const struct explain_section *section;
	size_t cnt;
	bool in_list;
};

static void explain_start_section(struct explain_lines *l)
{
	buf__printf(l->out, "\n## %s\n", l->section->title);
}

static void explain_append_line(const char *s, size_t sz, void *lines)
{
	struct explain_lines *l = lines;
	bool item = sz > 2 && s[0] == '-' && s[1] == ' ';

	if (!sz)
		return;
	if (l->cnt++ == 0)
		explain_start_section(l);
	if (!l->in_list || !item)
		buf__u8(l->out, '\n');
	l->in_list = item;
	utf8__sanitize_printable(l->out, s, sz);
	buf__u8(l->out, '\n');
}

static int explain_add_section(struct request *r, const struct explain_section *section,
			       struct buf *out)
{
	struct explain_lines lines = { .out = out, .section = section };
	int err = request__each_text(r, section->path, explain_append_line, &lines);

	if (err || (!lines.cnt && !section->none))
		return err;
	if (!lines.cnt) {
		explain_start_section(&lines);
		buf__printf(out, "\n%s\n", section->none);
	}
	buf__printf(out, "\nQuery: `%s`\n", section->path);
	return 0;
}

static void explain_add_title(struct request *r, struct buf *out)
{
	struct buf label = { 0 };

	utf8__sanitize_printable(&label, r->files.label, strlen(r->files.label));
	for (size_t i = 0; i < label.sz; i++)
		label.data[i] = label.data[i] == '`' ? '\'' : label.data[i];
	buf__str(out, "# Recording `");
	buf__append(out, label.data, label.sz);
	buf__str(out, "`\n");
	buf__free(&label);
}

static int explain_is_empty(struct request *r, bool *empty)
{
	int64_t cnt = 0, *const fields[] = { &cnt };
	int err = db__read_integers(&r->db, "sql/explain/selected.sql", fields, 1);

	*empty = cnt == 0;
	return err;
}

int explain__page(struct request *r, struct buf *out)
{
	bool empty = false;
	int err = explain_is_empty(r, &empty);

	explain_add_title(r, out);
	if (!err && empty)
		buf__str(out, r->options->given & (OPTION_COMM | OPTIONS_SELECTION)
				      ? "\nThe recording has no event in this selection.\n"
				      : "\nThe recording has no events: nothing that its sources "
					"record happened, or it was just begun.\n");
	if (err || empty)
		return err ? err : buf__err(out);
	if (r->options->recording_cnt)
		err = db__set_variable(&r->db, "explain_recording",
				       duckdb_create_varchar(r->options->recordings[0]));
	if (!err)
		err = explain_make_tables(r);
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections) && !err; i++)
		err = explain_add_section(r, &sections[i], out);
	return err ? err : buf__err(out);
}

/* ---- the command ---------------------------------------------------------------------------- */

int explain__run(const struct export_options *options)
{
	struct request r = { 0 };
	struct buf page = { 0 };
	int status;

	status = request__open(&r, options);
	if (status == STATUS_OK && explain__page(&r, &page) != 0)
		status = STATUS_FAILED;
	progress__end();
	if (status == STATUS_OK &&
	    outfile__write(options->output ? options->output : "-",
			   &(struct outfile_piece){ page.data, page.sz }, 1) != 0)
		status = STATUS_FAILED;
	buf__free(&page);
	request__close(&r);
	return status;
}
