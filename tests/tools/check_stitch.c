// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How right stitched stacks are: catches whole stacks of a program's threads, cuts them, joins what
 * is missing, and compares with the whole.
 *
 * check_stitch SAMPLES BYTES[,BYTES]… COMMAND [ARG]…
 * prints, per size that stacks are cut to: stacks, those cut, joined, and joined wrong
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "must.h"

#include "lib/live_rig.h"
#include "unwind/stitch.h"
#include "unwind/unwinder.h"

#define MEMORY_SZ   (64u << 20)
#define THREADS_MAX 256

struct cut {
	size_t max; /* kept bytes of a stack */
	struct stitch *stitch;
	size_t cut, joined, wrong;
};

struct check {
	struct process_table *table;
	struct jobs *jobs;
	struct unwinder *unwinder;
	struct event *event;
	struct trace whole, part;
	size_t cnt, max;
	struct cut cuts[16];
	size_t cut_cnt;
};

static bool same(const struct trace *a, const struct trace *b)
{
	bool equal = a->cnt == b->cnt;

	for (size_t i = 0; equal && i < a->cnt; i++)
		equal = a->frames[i].pc == b->frames[i].pc && a->frames[i].sp == b->frames[i].sp;
	return equal;
}

static void compare(struct check *c, const struct process *p, struct cut *cut)
{
	struct event *e = c->event;
	uint32_t sz = e->ustack_sz;
	struct stitch_thread thread = { p, e->tid };
	struct sample sample;

	if (sz > cut->max) {
		e->ustack_sz = (uint32_t)cut->max;
		e->flags |= EVENT_F_TRUNCATED;
	}
	event__sample(e, &sample);
	unwinder__walk(c->unwinder, p, &sample, &c->part);
	cut->cut += c->part.status == UNWIND_TRUNCATED;
	stitch__apply(cut->stitch, &thread, &sample.stack, &c->part);
	if (c->part.status == UNWIND_STITCHED) {
		cut->joined++;
		cut->wrong += !same(&c->whole, &c->part);
	}
	e->ustack_sz = sz;
	e->flags &= ~(uint32_t)EVENT_F_TRUNCATED;
}

static void take(struct check *c, pid_t pid, pid_t tid)
{
	const struct process *p = process_table__get(c->table, (uint32_t)pid);
	struct sample sample;

	live__capture(tid, c->event, 0, EVENT_STACK_MAX);
	c->event->tgid = (uint32_t)pid;
	must(p);
	event__sample(c->event, &sample);
	unwinder__walk(c->unwinder, p, &sample, &c->whole);
	if (c->whole.status != UNWIND_ROOT)
		return;
	c->cnt++;
	for (size_t i = 0; i < c->cut_cnt; i++)
		compare(c, p, &c->cuts[i]);
}

static void catch_threads(struct check *c, pid_t pid)
{
	pid_t tids[THREADS_MAX];
	size_t cnt = live__threads(pid, tids, THREADS_MAX);

	for (size_t i = 0; i < cnt && c->cnt < c->max; i++) {
		if (!live__interrupt(tids[i]))
			continue;
		take(c, pid, tids[i]);
		live__let_go(tids[i]);
	}
}

static void parse_cuts(struct check *c, char *sizes)
{
	for (char *s = strtok(sizes, ","); s && c->cut_cnt < 16; s = strtok(NULL, ",")) {
		struct cut *cut = &c->cuts[c->cut_cnt++];

		cut->max = strtoul(s, NULL, 10);
		cut->stitch = stitch__new(MEMORY_SZ);
		must(cut->max && cut->stitch);
	}
}

static void report(const struct check *c)
{
	for (size_t i = 0; i < c->cut_cnt; i++)
		printf("%zu bytes: %zu stacks, %zu cut, %zu joined, %zu wrong\n", c->cuts[i].max,
		       c->cnt, c->cuts[i].cut, c->cuts[i].joined, c->cuts[i].wrong);
}

int main(int argc, char **argv)
{
	struct check *c = calloc(1, sizeof(*c));
	pid_t pid;

	if (argc < 4) {
		fprintf(stderr, "usage: check_stitch SAMPLES BYTES[,BYTES]... COMMAND [ARG]...\n");
		return 2;
	}
	must(c);
	c->max = strtoul(argv[1], NULL, 10);
	parse_cuts(c, argv[2]);
	c->table = process_table__new(&(struct process_options){ .proc = "/proc" });
	c->jobs = jobs__new();
	c->unwinder = c->jobs ? unwinder__new(NULL, c->jobs) : NULL;
	c->event = live__event();
	must(c->table && c->unwinder);
	pid = live__start((const char *const *)(argv + 3), false);
	live__wait_cpu(pid, 500000000);
	for (size_t last = SIZE_MAX; c->cnt < c->max && c->cnt != last;
	     live__wait_cpu(pid, 1000000)) {
		last = c->cnt;
		catch_threads(c, pid);
		jobs__collect(c->jobs);
	}
	report(c);
	live__kill(pid);
	for (size_t i = 0; i < c->cut_cnt; i++)
		stitch__free(c->cuts[i].stitch);
	jobs__free(c->jobs);
	unwinder__free(c->unwinder);
	process_table__free(c->table);
	free(c->event);
	free(c);
	return 0;
}
