// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/reload.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "collector/optiontable.h"

static bool reload_apply_keep(const struct reload *r, struct collector_options *fresh)
{
	r->options->recording.keep = fresh->recording.keep;
	recording__set_keep(r->recording, &fresh->recording.keep);
	return true;
}

static bool reload_apply_max_memory(const struct reload *r, struct collector_options *fresh)
{
	r->options->max_memory_sz = fresh->max_memory_sz;
	memory__set_max(r->memory, fresh->max_memory_sz);
	return true;
}

/* The programs can only thin if they were loaded for that. */
static bool reload_apply_budget(const struct reload *r, struct collector_options *fresh)
{
	if (!r->governor || !fresh->budget_percent)
		return false;
	r->options->budget_percent = fresh->budget_percent;
	governor__set_percent(r->governor, fresh->budget_percent);
	return true;
}

static bool reload_apply_poll(const struct reload *r, struct collector_options *fresh)
{
	r->options->poll_ns = fresh->poll_ns;
	return true;
}

static bool reload_apply_bill(const struct reload *r, struct collector_options *fresh)
{
	r->options->bill_ns = fresh->bill_ns;
	return true;
}

static bool reload_apply_metrics(const struct reload *r, struct collector_options *fresh)
{
	metrics__free(*r->metrics);
	*r->metrics = metrics__new(fresh->metrics_path, &r->metrics_sources);
	return true;
}

static bool reload_apply_conditions(const struct reload *r, struct collector_options *fresh)
{
	struct collector_options *o = r->options;
	struct condition *old = o->conditions;

	if (!o->recording.flight.keep_ns)
		return false;
	o->conditions = fresh->conditions;
	o->condition_cnt = fresh->condition_cnt;
	fresh->conditions = NULL;
	fresh->condition_cnt = 0;
	trigger__watch(r->trigger, o->conditions, o->condition_cnt, r->session);
	free(old);
	return true;
}

/* All other options need a restart. */
static const struct live_option {
	int key;
	/* Returns false if this change needs a restart. May move members out of `fresh`. */
	bool (*apply)(const struct reload *, struct collector_options *fresh);
} live_options[] = {
	{ KEY_KEEP, reload_apply_keep },       { KEY_MAX_MEMORY, reload_apply_max_memory },
	{ KEY_BUDGET, reload_apply_budget },   { KEY_POLL, reload_apply_poll },
	{ KEY_BILL, reload_apply_bill },       { KEY_METRICS, reload_apply_metrics },
	{ KEY_WHEN, reload_apply_conditions },
};

static const struct live_option *live_option__find(int key)
{
	for (size_t i = 0; i < sizeof(live_options) / sizeof(*live_options); i++)
		if (live_options[i].key == key)
			return &live_options[i];
	return NULL;
}

/* ---- what changed -------------------------------------------------------------------------------
 */

/* Returns the next value of the option at *i or behind it, and moves *i behind it. NULL: there is
 * none. */
static const struct given_option *reload_given_next(const struct given_options *g, int key,
						    size_t *i)
{
	while (*i < g->cnt)
		if (g->v[(*i)++].key == key)
			return &g->v[*i - 1];
	return NULL;
}

static bool reload_given_equal(const struct given_option *a, const struct given_option *b)
{
	if (!a || !b)
		return a == b;
	return a->value && b->value ? strcmp(a->value, b->value) == 0 : a->value == b->value;
}

static bool reload_given_is_same(const struct given_options *a, const struct given_options *b,
				 int key)
{
	const struct given_option *x, *y;
	size_t i = 0, j = 0;

	do {
		x = reload_given_next(a, key, &i);
		y = reload_given_next(b, key, &j);
		if (!reload_given_equal(x, y))
			return false;
	} while (x);
	return true;
}

/* Makes the next comparison start from what is in force. */
static void reload_given_take(struct given_options *into, struct given_options *from, int key)
{
	struct given_options both = { 0 };

	both.v = calloc(into->cnt + from->cnt + 1, sizeof(*both.v));
	if (!both.v)
		return;
	for (size_t i = 0; i < into->cnt; i++)
		if (into->v[i].key != key)
			both.v[both.cnt++] = into->v[i];
		else
			free(into->v[i].value);
	for (size_t i = 0; i < from->cnt; i++)
		if (from->v[i].key == key) {
			both.v[both.cnt++] = from->v[i];
			from->v[i].value = NULL;
		}
	free(into->v);
	*into = both;
}

static void reload_name_option(struct buf *names, const struct argp_option *o)
{
	buf__printf(names, "%s--%s", names->sz ? ", " : "", o->name);
}

struct reload_result {
	struct buf applied, refused;
};

static void reload_option(const struct reload *r, struct collector_options *fresh,
			  const struct argp_option *o, struct reload_result *result)
{
	const struct live_option *live = live_option__find(o->key);
	struct given_options *now = &r->options->given;

	if (reload_given_is_same(now, &fresh->given, o->key))
		return;
	if (!live || !live->apply(r, fresh)) {
		reload_name_option(&result->refused, o);
		return;
	}
	reload_given_take(now, &fresh->given, o->key);
	reload_name_option(&result->applied, o);
}

/* Answers the request, with --quiet too: the service's log is the only place where to see it. */
static void reload_report(struct reload_result *result)
{
	buf__u8(&result->applied, 0);
	buf__u8(&result->refused, 0);
	if (buf__err(&result->applied) || buf__err(&result->refused))
		return;
	if (result->refused.sz > 1)
		log__warn("the options were read again, but a change of these needs a restart: %s",
			  (char *)result->refused.data);
	if (result->applied.sz > 1)
		log__answer("the options were read again, and are in force: %s",
			    (char *)result->applied.data);
	else if (result->refused.sz == 1)
		log__answer("the options were read again: nothing has changed");
}

void reload__options(const struct reload *r)
{
	struct reload_result result = { 0 };
	struct collector_options fresh;

	if (options__parse_again(&fresh, r->options) != 0) {
		log__warn("the options stay as they were");
		options__free(&fresh);
		return;
	}
	for (const struct argp_option *o = collector_argp_options; o->name || o->doc; o++)
		if (o->name && !(o->flags & OPTION_ALIAS))
			reload_option(r, &fresh, o, &result);
	reload_report(&result);
	buf__free(&result.applied);
	buf__free(&result.refused);
	options__free(&fresh);
}
