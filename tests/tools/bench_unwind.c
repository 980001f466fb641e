// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a frame costs: runs a program, catches its threads, and walks the stacks again and again.
 *
 * bench_unwind SAMPLES COMMAND [ARG]…
 * prints: walks, frames per walk, bytes per snapshot, ns per frame of the unwinder, of its first
 * walks (tables empty), and of libdwfl
 */
#include <dirent.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define must(ok)                                              \
	do {                                                  \
		if (!(ok)) {                                  \
			fprintf(stderr, "failed: %s\n", #ok); \
			exit(1);                              \
		}                                             \
	} while (0)
#define assert_true	       must
#define assert_non_null(p)     must((p) != NULL)
#define assert_int_equal(a, b) must((a) == (b))

#include "../unit/live.h"
#include "base/monotonic.h"
#include "unwind/naive.h"
#include "unwind/unwinder.h"

struct samples {
	struct event **events;
	size_t cnt, max;
	uint64_t bytes;
};

static void keep(struct samples *s, const struct event *e)
{
	size_t sz = sizeof(*e) + e->ustack_sz;

	s->events[s->cnt] = malloc(sz);
	must(s->events[s->cnt]);
	memcpy(s->events[s->cnt++], e, sz);
	s->bytes += e->ustack_sz;
}

static void catch_threads(struct samples *s, pid_t pid, struct event *e)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && s->cnt < s->max && (entry = readdir(dir))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid <= 0 || !live__interrupt(tid))
			continue;
		live__capture(tid, e, 0, 65536);
		live__let_go(tid);
		e->tgid = (uint32_t)pid;
		keep(s, e);
	}
	if (dir)
		closedir(dir);
}

/* The best of `rounds`, ns per frame. */
#define MEASURE(rounds, s, t, frames, walk)                                              \
	({                                                                               \
		double best_ = 1e18;                                                     \
		for (int r_ = 0; r_ < (rounds); r_++) {                                  \
			uint64_t from_ = monotonic__ns();                                \
			frames = 0;                                                      \
			for (size_t i = 0; i < (s).cnt; i++, frames += (t)->cnt)         \
				walk;                                                    \
			double ns_ = (double)(monotonic__ns() - from_) / (double)frames; \
			best_ = ns_ < best_ ? ns_ : best_;                               \
		}                                                                        \
		best_;                                                                   \
	})

static void measure(const struct samples *s, pid_t pid)
{
	struct process_table *table = process_table__new("/proc");
	const struct process *p = table ? process_table__get(table, (uint32_t)pid) : NULL;
	struct trace *t = malloc(sizeof(*t));
	struct unwinder *u = unwinder__new(NULL);
	struct naive *n = naive__new();
	struct unwinder_stats stats;
	double first, before, fast, naive;
	size_t frames;

	must(p && t && u && n && s->cnt);
	first = MEASURE(1, *s, t, frames, unwinder__walk(u, p, s->events[i], t));
	naive = MEASURE(2, *s, t, frames, naive__walk(n, p, s->events[i], t));
	before = MEASURE(5, *s, t, frames, unwinder__walk(u, p, s->events[i], t));
	unwinder__settle(u);
	fast = MEASURE(9, *s, t, frames, unwinder__walk(u, p, s->events[i], t));
	unwinder__stats(u, &stats);
	printf("%zu walks, %.1f frames, %" PRIu64
	       " bytes; unwinder %.1f (first %.0f, before tables "
	       "%.1f), libdwfl %.0f ns per frame; %.2f %% of walks by tables alone\n",
	       s->cnt, (double)frames / (double)s->cnt, s->bytes / s->cnt, fast, first, before,
	       naive, 100.0 * (double)stats.flat / (double)(stats.flat + stats.partly + stats.odd));
	naive__free(n);
	unwinder__free(u);
	free(t);
	process_table__free(table);
}

int main(int argc, char **argv)
{
	struct samples s = { .max = argc > 2 ? strtoul(argv[1], NULL, 10) : 0 };
	struct event *e = live__event();
	pid_t pid;

	if (!s.max) {
		fprintf(stderr, "usage: bench_unwind SAMPLES COMMAND [ARG]...\n");
		return 2;
	}
	s.events = calloc(s.max, sizeof(*s.events));
	must(s.events);
	pid = live__start((const char *const *)(argv + 2), false);
	usleep(500000);
	for (size_t last = SIZE_MAX; s.cnt < s.max && s.cnt != last; usleep(1000)) {
		last = s.cnt;
		catch_threads(&s, pid, e);
	}
	measure(&s, pid);
	live__kill(pid);
	while (s.cnt)
		free(s.events[--s.cnt]);
	free(s.events);
	free(e);
	return 0;
}
