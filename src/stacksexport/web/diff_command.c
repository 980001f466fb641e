// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport diff`: what changed from one recording, or time range, to another, as a table. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "stacksexport/commands.h"
#include "stacksexport/duck/sources.h"
#include "stacksexport/grouping.h"
#include "stacksexport/moment.h"
#include "stacksexport/progress.h"
#include "stacksexport/web/diffgroups.h"
#include "stacksexport/web/difflimit.h"
#include "stacksexport/web/diffprofile.h"
#include "stacksexport/web/difftable.h"

#define RANGE_SEP ".."

struct diff_command {
	const struct export_options *options;
	struct view view;
	struct web_request request;
	char times[SIDE_CNT][2][24];
	struct diff_limit limit;
	struct sides sides;
	struct diff_functions functions;
	struct diff_groups groups; /* empty without --by */
};

/* ---- the request ---------------------------------------------------------------------------- */

/* The text of --before and --after: where a side begins and ends. */
struct diff_range {
	struct moment ends[2];
	bool has[2]; /* an empty text is the end of the recording */
};

static bool diff_moment_read(const char *s, size_t sz, struct moment *moment)
{
	char copy[64];

	if (sz >= sizeof(copy))
		return false;
	memcpy(copy, s, sz);
	copy[sz] = '\0';
	return moment__parse(copy, moment) == 0;
}

static bool diff_range_parse(const char *text, struct diff_range *range)
{
	const char *sep = strstr(text, RANGE_SEP), *end;

	*range = (struct diff_range){ 0 };
	if (!sep)
		return false;
	end = sep + strlen(RANGE_SEP);
	range->has[0] = sep > text;
	range->has[1] = *end;
	return (!range->has[0] || diff_moment_read(text, (size_t)(sep - text), &range->ends[0])) &&
	       (!range->has[1] || diff_moment_read(end, strlen(end), &range->ends[1]));
}

static int diff_range_check(const struct export_options *o, const char *name, const char *text)
{
	struct diff_range range;

	return !text || diff_range_parse(text, &range)
		       ? STATUS_OK
		       : export_options__wrong(o,
					       "--%s '%s': expected FROM" RANGE_SEP
					       "TO, each empty or " MOMENT_FORMS,
					       name, text);
}

/* Moments count from the beginning of the side's recording. */
static int diff_set_range(struct diff_command *d, enum diff_side side, const char *text)
{
	static const char *const names[SIDE_CNT][2] = { { "afrom", "ato" }, { "bfrom", "bto" } };
	struct source *source = &d->view.sources[side == SIDE_B ? d->view.source_cnt - 1 : 0];
	struct diff_range range;

	if (!text || !diff_range_parse(text, &range))
		return STATUS_OK;
	if (source__await(source, PART_TOTALS) != 0) {
		log__error("cannot read the recording: %s", source->error);
		return STATUS_FAILED;
	}
	for (int i = 0; i < 2; i++) {
		if (!range.has[i])
			continue;
		snprintf(d->times[side][i], sizeof(d->times[side][i]), "%" PRId64,
			 moment__resolve(&range.ends[i], source->begins_ns, source->ends_ns) -
				 source->begins_ns);
		query_params__set(&d->request.params, names[side][i], d->times[side][i]);
	}
	return STATUS_OK;
}

static int diff_set_params(struct diff_command *d)
{
	const struct export_options *o = d->options;
	const struct query_param params[] = {
		{ "metric", o->metric }, { "normalise", o->normalise },
		{ "command", o->comm },	 { "tgid", o->pid },
		{ "pid", o->tid },	 { "thread", o->thread },
		{ "span", o->span },	 { "cgroup", o->cgroup },
		{ "host", o->host },	 { "other", d->view.source_cnt > 1 ? "1" : NULL },
	};
	int status;

	d->request.view = &d->view;
	d->request.source = &d->view.sources[0];
	for (size_t i = 0; i < sizeof(params) / sizeof(*params); i++)
		if (params[i].value)
			query_params__set(&d->request.params, params[i].name, params[i].value);
	status = diff_set_range(d, SIDE_A, o->before);
	return status == STATUS_OK ? diff_set_range(d, SIDE_B, o->after) : status;
}

/* ---- the table ------------------------------------------------------------------------------ */

static void diff_print_function(const void *command, struct printer *p, size_t row)
{
	const struct diff_command *d = command;
	const struct stackset *stacks = d->view.model.stacks;
	const struct function *f = stackset__function(stacks, d->functions.functions[row]);
	const struct frame_text name = stackset__text(stacks, f->name);
	const struct frame_text module = stackset__text(stacks, f->module);

	printer__cell(p, module.s, module.sz);
	printer__cell(p, name.s, name.sz);
}

static void diff_print_group(const void *command, struct printer *p, size_t row)
{
	const struct diff_command *d = command;
	size_t sz;
	const char *name = diff_groups__name(&d->groups, row, &sz);

	printer__cell(p, name, sz);
}

static int diff_print_functions(const struct diff_command *d, enum diff_field field,
				const char *name)
{
	const struct diff_table table = {
		.title = field == DIFF_SELF ? "SELF BY FUNCTION" : "TOTAL BY FUNCTION",
		.field = name,
		.labels = { "module", "function" },
		.unit = diff_unit__of(d->sides.metric),
		.series = &d->functions.fields[field],
		.all = diff_functions__change(&d->functions, DIFF_ALL, 0).a,
		.print_labels = diff_print_function,
		.arg = d,
	};

	return diff_table__print(&table, d->options);
}

/* "CPU BY PROCESS" */
static int diff_print_groups(const struct diff_command *d)
{
	char title[64];
	const struct diff_table table = {
		.title = title,
		.field = "",
		.labels = { d->options->by },
		.unit = diff_unit__of(d->sides.metric),
		.series = &d->groups.series,
		.all = diff_functions__change(&d->functions, DIFF_ALL, 0).a,
		.print_labels = diff_print_group,
		.arg = d,
	};

	snprintf(title, sizeof(title), "%s by %s", d->sides.metric->label, d->options->by);
	for (char *c = title; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return diff_table__print(&table, d->options);
}

static void diff_print_side(const struct diff_command *d, enum diff_side side)
{
	const struct web_request *r = &d->sides.of[side].request;
	const struct diff_unit *u = diff_unit__of(d->sides.metric);
	const struct diff_series *all = &d->functions.fields[DIFF_ALL];
	int64_t from = 0, to = 0;
	char when[MOMENT_TEXT_SZ];

	query_params__int(&r->params, "from", &from);
	query_params__int(&r->params, "to", &to);
	moment__format(from, when);
	printf("%c: %s: %.1f s from %s: %.*f%s%s %s\n", "AB"[side],
	       r -> source -> request.files.label, (double)(to - from) / 1e9, when, u->decimals,
	       side_series__sum(&all->series, side, 0) / u->divisor /
		       (side == SIDE_B ? d->sides.scale : 1),
	       *u->name ? " " : "", u->name, d->sides.metric->label);
}

static int diff_print_all(const struct diff_command *d)
{
	const struct diff_unit *u = diff_unit__of(d->sides.metric);
	struct diff_change c = diff_functions__change(&d->functions, DIFF_ALL, 0);
	bool by_spans = d->options->normalise && strcmp(d->options->normalise, "spans") == 0;
	int err;

	for (int i = 0; i < SIDE_CNT; i++)
		diff_print_side(d, i);
	printf("In the %s of A, B has %.*f%s%s", by_spans ? "number of spans" : "time", u->decimals,
	       c.b / u->divisor, *u->name ? " " : "", u->name);
	if (c.a != 0)
		printf(", %+.1f %% (95 %% interval %+.1f to %+.1f)", 100 * (c.b - c.a) / fabs(c.a),
		       100 * c.lo / fabs(c.a), 100 * c.hi / fabs(c.a));
	puts(". Percentages below are of all of A.");
	err = d->options->by ? diff_print_groups(d) : 0;
	if (!err)
		err = diff_print_functions(d, DIFF_SELF, "self");
	if (!err)
		err = diff_print_functions(d, DIFF_TOTAL, "total");
	if (!err && fflush(stdout) != 0)
		err = errno ? -errno : -EIO;
	if (err)
		log__error("cannot print the table: %s", strerror(-err));
	return err;
}

/* ---- the command ---------------------------------------------------------------------------- */

/* "|blk_read|blk_write|" */
static uint64_t diff_kinds_of(const struct metric *m)
{
	uint64_t kinds = 0;

	for (const char *s = m->kinds; *s;) {
		size_t sz = strcspn(s, "|");

		kinds |= sources__kind(s, sz);
		s += sz + (s[sz] == '|');
	}
	return kinds;
}

/* Warns of lost events, and says that there is nothing to compare. */
static int diff_check_sides(struct diff_command *d)
{
	const struct diff_series *all = &d->functions.fields[DIFF_ALL];
	bool has_some = d->functions.cnt > 0;
	int64_t lost;

	for (size_t i = 0; i < d->view.source_cnt; i++) {
		struct request *r = &d->view.sources[i].request;

		r->reads = diff_kinds_of(d->sides.metric);
		if (has_some && request__lost(r, &lost) != 0)
			return STATUS_FAILED;
	}
	for (int side = 0; side < SIDE_CNT && has_some; side++)
		if (side_series__sum(&all->series, side, 0) == 0)
			log__warn("%c has no %s of this selection", "AB"[side],
				  d -> sides.metric->label);
	return has_some ? STATUS_OK : request__empty(&d->view.sources[0].request);
}

static int diff_check_limit(const struct diff_command *d)
{
	ssize_t found = d->options->fail_if ? diff_limit__exceeded(&d->limit, &d->functions) : -1;
	const struct stackset *stacks = d->view.model.stacks;
	double all = diff_functions__change(&d->functions, DIFF_ALL, 0).a;
	struct diff_change c;
	struct frame_text name = { "all", 3 };

	if (found < 0)
		return STATUS_OK;
	c = diff_functions__change(&d->functions, d->limit.field, (size_t)found);
	if (d->limit.field != DIFF_ALL)
		name = stackset__text(
			stacks, stackset__function(stacks, d->functions.functions[found])->name);
	log__error("%.*s grew by %.2f %% of A: --fail-if '%s'", (int)name.sz, name.s,
		   all != 0 ? 100 * (c.b - c.a) / fabs(all) : INFINITY, d->options->fail_if);
	return STATUS_EXCEEDED;
}

static int diff_compare_functions(struct diff_command *d)
{
	static const struct calltree_options by_function = { 0 };
	struct model *model = &d->view.model;
	struct metric_shape shape = { .model = model,
				      .metric = d->sides.metric,
				      .waits = SHAPE_WAITING };
	int err;

	pthread_mutex_lock(&model->lock);
	shape.tree = model__tree(model, &by_function);
	err = shape.tree ? sides__list(&d->sides, &shape) : -ENOMEM;
	if (!err)
		err = diff_functions__make(&d->functions, &shape, &d->sides);
	if (!err && d->options->by)
		err = diff_groups__make(&d->groups, &d->sides);
	pthread_mutex_unlock(&model->lock);
	if (err)
		log__error("cannot compare: %s", strerror(-err));
	return err;
}

static int diff_read(struct diff_command *d)
{
	struct answer a = { 0 };
	int err;

	d->sides.by = d->options->by;
	err = sides__read(&d->sides, &d->request, &a);

	if (err)
		log__error("%.*s", (int)a.error.sz,
			   a.error.sz ? (const char *)a.error.data : "out of memory");
	buf__free(&a.error);
	return err;
}

static int diff_show(struct diff_command *d)
{
	const char *output = d->options->output;
	int status = diff_check_sides(d);

	progress__end();
	if (status == STATUS_OK && !(output && strcmp(output, "-") == 0) && diff_print_all(d) != 0)
		status = STATUS_FAILED;
	if (status == STATUS_OK && output && diff_profile__write(&d->sides, output) != 0)
		status = STATUS_FAILED;
	return status == STATUS_OK ? diff_check_limit(d) : status;
}

/* Returns STATUS_OK, or STATUS_USAGE after a message. */
static int diff_check_options(struct diff_command *d)
{
	const struct export_options *o = d->options;
	const struct metric *m = metrics;

	while (m->id && o->metric && strcmp(m->id, o->metric) != 0)
		m++;
	if (!m->id)
		return export_options__wrong(o, "--metric '%s': there is no such metric",
					     o->metric);
	if (o->normalise && strcmp(o->normalise, "time") != 0 && strcmp(o->normalise, "spans") != 0)
		return export_options__wrong(o, "--normalise '%s': expected time or spans",
					     o->normalise);
	if (o->fail_if && diff_limit__parse(o->fail_if, &d->limit) != 0)
		return export_options__wrong(o, "--fail-if '%s': expected %s", o->fail_if,
					     DIFF_LIMIT_FORMS);
	if (o->argument_cnt < 2 && !o->before && !o->after)
		return export_options__wrong(
			o, "give two recordings, or --before and --after for two ranges of one");
	if (o->output && strcmp(o->output, "-") == 0 && isatty(STDOUT_FILENO))
		return export_options__wrong(o, "a profile is not for a terminal: give -o FILE");
	if (grouping__check(o) != STATUS_OK || diff_table__check_order(o) != STATUS_OK)
		return STATUS_USAGE;
	return diff_range_check(o, "before", o->before) == STATUS_OK
		       ? diff_range_check(o, "after", o->after)
		       : STATUS_USAGE;
}

int diff__run(const struct export_options *o)
{
	struct diff_command d = { .options = o };
	int status = diff_check_options(&d);

	if (status != STATUS_OK)
		return status;
	status = view__open(&d.view, o);
	if (status == STATUS_OK)
		status = diff_set_params(&d);
	if (status == STATUS_OK && (diff_read(&d) != 0 || diff_compare_functions(&d) != 0))
		status = STATUS_FAILED;
	if (status == STATUS_OK)
		status = diff_show(&d);
	diff_groups__free(&d.groups);
	diff_functions__free(&d.functions);
	sides__free(&d.sides);
	view__close(&d.view);
	return status;
}
