// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/governor.h"

#include <stdlib.h>
#include <string.h>

#include "base/cputime.h"
#include "collector/rows.h"
#include "event/kind.h"

#define EVERY_NS    500000000
#define CALM_ENOUGH 4  /* intervals with room before a step back */
#define SMALL	    16 /* a source below this part of the budget is left alone */

/* ---- what to do ---------------------------------------------------------------------------------
 */

static uint64_t governor_plan_cost_ns(const struct governor_plan *p)
{
	uint64_t sum_ns = p->other_ns;

	for (size_t i = 0; i < p->cnt; i++)
		sum_ns += p->sources[i].cost_ns;
	return sum_ns;
}

/* Hooks in every system call cost the same whatever is recorded. Returns true if the last step
 * gained nothing, and the load is still the same. */
static bool governor_source_is_fixed(const struct governor_source *s)
{
	return s->cost_ns > s->thinned_ns / 10 * 9 && s->cost_ns < s->thinned_ns / 2 * 3;
}

/* Returns the costliest source that can be thinned further, or -1. */
static int governor_plan_costliest(const struct governor_plan *p)
{
	int found = -1;

	for (size_t i = 0; i < p->cnt; i++) {
		const struct governor_source *s = &p->sources[i];

		if (!s->can_thin || s->every >= GOVERNOR_EVERY_MAX ||
		    s->cost_ns < p->budget_ns / SMALL || governor_source_is_fixed(s))
			continue;
		if (found < 0 || s->cost_ns > p->sources[found].cost_ns)
			found = (int)i;
	}
	return found;
}

/* Returns the most thinned source with room for twice its cost in four fifths of the budget, or -1.
 */
static int governor_plan_recoverable(const struct governor_plan *p)
{
	uint64_t cost_ns = governor_plan_cost_ns(p);
	int found = -1;

	for (size_t i = 0; i < p->cnt; i++) {
		const struct governor_source *s = &p->sources[i];

		if (s->every <= 1 || cost_ns + s->cost_ns > p->budget_ns / 5 * 4)
			continue;
		if (found < 0 || s->every > p->sources[found].every)
			found = (int)i;
	}
	return found;
}

int governor_plan__step(struct governor_plan *p)
{
	int i;

	if (governor_plan_cost_ns(p) > p->budget_ns) {
		p->calm = 0;
		i = governor_plan_costliest(p);
		if (i >= 0) {
			p->sources[i].thinned_ns = p->sources[i].cost_ns;
			p->sources[i].every *= 2;
		}
		return i;
	}
	i = governor_plan_recoverable(p);
	p->calm = i < 0 ? 0 : p->calm + 1;
	if (p->calm < CALM_ENOUGH)
		return -1;
	p->calm = 0;
	p->sources[i].thinned_ns = 0;
	p->sources[i].every /= 2;
	return i;
}

/* ---- doing it -----------------------------------------------------------------------------------
 */

/* Sums since the start. */
struct governor_sums {
	uint64_t bpf_ns, own_ns;
	uint64_t source_ns[PROBE_CHOICE_MAX]; /* of BPF programs */
	uint64_t events[PROBE_CHOICE_MAX];    /* that the collector processed */
};

struct governor {
	struct governor_options o;
	struct governor_plan plan;
	struct governor_sums before;
	uint64_t acted_ns;		       /* 0: not yet */
	uint64_t changed_ns[PROBE_CHOICE_MAX]; /* the last change of each source */
};

struct governor *governor__new(const struct governor_options *o)
{
	struct governor *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->o = *o;
	g->plan.cnt = o->probe_cnt;
	for (size_t i = 0; i < o->probe_cnt; i++)
		g->plan.sources[i] =
			(struct governor_source){ .can_thin = o->probes[i].probe->can_thin,
						  .every = 1 };
	return g;
}

void governor__set_percent(struct governor *g, uint32_t percent)
{
	g->o.percent = percent;
}

void governor__free(struct governor *g)
{
	free(g);
}

/* Programs are named PROBE__HOOK. Returns the index of their source, or -1. A source that is there
 * more than once counts as its first one. */
static int governor_source_of(const struct governor *g, const char *program)
{
	size_t sz = strcspn(program, "_");

	for (size_t i = 0; i < g->o.probe_cnt; i++) {
		const char *name = g->o.probes[i].probe->name;

		if (strlen(name) == sz && strncmp(name, program, sz) == 0)
			return (int)i;
	}
	return -1;
}

static void governor_read_bpf(const struct governor *g, struct governor_sums *sums)
{
	size_t cnt;
	struct capture_cost *costs = capture__costs(g->o.capture, &cnt);

	for (size_t i = 0; costs && i < cnt; i++) {
		int source = governor_source_of(g, costs[i].program);

		sums->bpf_ns += costs[i].run_ns;
		if (source >= 0)
			sums->source_ns[source] += costs[i].run_ns;
	}
	free(costs);
}

/* Slices that are joined have a stack, but no row of their own. */
static void governor_read_events(const struct governor *g, struct governor_sums *sums)
{
	const struct session_stats *st = session__stats(g->o.session);

	for (size_t k = 0; k < EVENT_KIND_CNT; k++) {
		int source = governor_source_of(g, event_kind__probe((enum event_kind)k));

		if (source >= 0)
			sums->events[source] +=
				st->rows[k] > st->user_stacks[k] ? st->rows[k] : st->user_stacks[k];
	}
}

/* Sets the costs of the interval. A source has a part of the collector's time by its events. */
static void governor_weigh(struct governor *g, const struct governor_sums *now)
{
	const struct governor_sums *before = &g->before;
	uint64_t own_ns = now->own_ns - before->own_ns, sum_ns = 0, events = 0;

	for (size_t i = 0; i < g->plan.cnt; i++)
		events += now->events[i] - before->events[i];
	for (size_t i = 0; i < g->plan.cnt; i++) {
		struct governor_source *s = &g->plan.sources[i];
		double part =
			events ? (double)(now->events[i] - before->events[i]) / (double)events : 0;

		s->cost_ns = now->source_ns[i] - before->source_ns[i] +
			     (uint64_t)(part * (double)own_ns);
		sum_ns += s->cost_ns;
	}
	own_ns += now->bpf_ns - before->bpf_ns;
	g->plan.other_ns = own_ns > sum_ns ? own_ns - sum_ns : 0;
}

static void governor_act(struct governor *g, uint64_t now_ns)
{
	bool over = governor_plan_cost_ns(&g->plan) > g->plan.budget_ns;
	int i = governor_plan__step(&g->plan);
	const struct probe *p = i < 0 ? NULL : g->o.probes[i].probe;

	if (!p)
		return;
	capture__thin(g->o.capture, p, g->plan.sources[i].every);
	session__rate(g->o.session,
		      &(struct rate_change){ .source = p->name,
					     .reason = over ? "over_budget" : "within_budget",
					     .every = g->plan.sources[i].every,
					     .from_ns = g->changed_ns[i],
					     .to_ns = now_ns });
	g->changed_ns[i] = now_ns;
}

void governor__tick(struct governor *g, uint64_t now_ns)
{
	struct governor_sums now = { 0 };

	if (!g || now_ns - g->acted_ns < EVERY_NS)
		return;
	now.own_ns = session__cpu_ns(g->o.session);
	governor_read_bpf(g, &now);
	governor_read_events(g, &now);
	if (g->acted_ns) {
		g->plan.budget_ns = (now_ns - g->acted_ns) / 100 * g->o.percent;
		governor_weigh(g, &now);
		governor_act(g, now_ns);
	}
	for (size_t i = 0; i < g->plan.cnt && !g->acted_ns; i++)
		g->changed_ns[i] = now_ns;
	g->before = now;
	g->acted_ns = now_ns;
}
