// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * scale TIMES: reads /proc like the collector at its start, while jobs open the files. Prints for
 * each time: processes, executable mappings, ms, and ms of CPU of the reading thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/jobs.h"
#include "base/openfiles.h"
#include "process/process.h"
#include "process/process_private.h"

static double now_ms(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static size_t mappings(const struct process_table *t)
{
	size_t cnt = 0;

	for (const struct entry *e = t->processes; e; e = e->hh.next)
		cnt += e->pub.map_cnt;
	return cnt;
}

static int scan(void)
{
	struct jobs *jobs = jobs__new();
	struct process_table *t =
		process_table__new(&(struct process_options){ .jobs = jobs, .proc = "/proc" });
	double wall_ms = now_ms(CLOCK_MONOTONIC), cpu_ms = now_ms(CLOCK_THREAD_CPUTIME_ID);
	int err = t ? process_table__scan(t) : -ENOMEM;

	wall_ms = now_ms(CLOCK_MONOTONIC) - wall_ms;
	cpu_ms = now_ms(CLOCK_THREAD_CPUTIME_ID) - cpu_ms;
	if (!err)
		printf("%u\t%zu\t%.1f\t%.1f\n", HASH_COUNT(t->processes), mappings(t), wall_ms,
		       cpu_ms);
	jobs__free(jobs);
	process_table__free(t);
	return err;
}

int main(int argc, char **argv)
{
	int err = 0;

	openfiles__raise();
	for (int left = argc > 1 ? atoi(argv[1]) : 1; left > 0 && !err; left--)
		err = scan();
	return err != 0;
}
