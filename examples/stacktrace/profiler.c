// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: profiler SECONDS [PID]
 *
 * A profiler of the whole machine, or of one process, in a hundred lines: samples from
 * perf_event_open(2), chains from libstacktrace, folded stacks on stdout.
 *
 *	profiler 10 | flamegraph.pl > profile.svg
 */
#include <elf.h>
#include <stacktrace.h>
#include <time.h>

#include "folded.h"
#include "perf_samples.h"

#define HZ	  199
#define FRAME_MAX 256

struct profiler {
	stacktrace_tracker *tracker;
	uint64_t mask; /* of registers */
	pid_t only;    /* 0: everybody */
	size_t failed;
	struct folded folded;
};

struct chain {
	size_t cnt;
	uint64_t places[FRAME_MAX];
};

static int on_frame(const struct stacktrace_frame *frame, void *arg)
{
	struct chain *c = arg;

	c->places[c->cnt++] = frame->place;
	return c->cnt == FRAME_MAX;
}

/* Root first. */
static void add(struct profiler *p, pid_t pid, const struct chain *c)
{
	static char line[FRAME_MAX * 128];
	struct stacktrace_place place;
	size_t at = 0;

	for (size_t i = c->cnt; i-- > 0;) {
		int err = stacktrace_find(p->tracker, pid, c->places[i], &place);
		const char *file = err ? NULL : strrchr(place.module, '/');
		const char *name = err ? "?" : place.symbol[0] ? place.symbol : file;

		at += (size_t)snprintf(line + at, 128, "%s%.100s", at ? ";" : "",
				       name ? name : "[anon]");
	}
	folded_add(&p->folded, line);
}

/* u32 pid, tid; u64 abi; u64 regs[]; u64 size; bytes; u64 how many of them count */
static void on_sample(struct profiler *p, const uint32_t *ids, const uint64_t *at)
{
	struct stacktrace_sample s = stacktrace_sample_init();
	struct chain c = { 0 };

	s.pid = (pid_t)ids[0];
	s.tid = (pid_t)ids[1];
	s.abi = (uint32_t)*at++;
	if ((p->only && s.pid != p->only) || s.abi == STACKTRACE_ABI_NONE)
		return;
	s.perf_mask = p->mask;
	s.n_regs = (size_t)__builtin_popcountll(p->mask);
	s.regs = at;
	at += s.n_regs;
	s.stack = at + 1;
	s.stack_size = at[0] ? at[1 + at[0] / 8] : 0;
	if (s.stack_size == at[0])
		s.flags = STACKTRACE_STACK_IS_CUT;
	if (stacktrace_sample_getframes(p->tracker, &s, on_frame, &c) != STACKTRACE_ROOT)
		p->failed++;
	add(p, s.pid, &c);
}

static void on_record(const struct perf_event_header *h, const void *body, void *arg)
{
	const uint32_t *ids = body; /* fork, exit: pid, parent's pid, tid */
	struct profiler *p = arg;

	if (h->type == PERF_RECORD_SAMPLE)
		on_sample(p, ids, (const uint64_t *)body + 1);
	else if (h->type == PERF_RECORD_COMM && (h->misc & PERF_RECORD_MISC_COMM_EXEC))
		stacktrace_exec(p->tracker, (pid_t)ids[0]);
	else if (h->type == PERF_RECORD_FORK && ids[0] != ids[1])
		stacktrace_fork(p->tracker, (pid_t)ids[1], (pid_t)ids[0]);
	else if (h->type == PERF_RECORD_EXIT && ids[0] == ids[2])
		stacktrace_exit(p->tracker, (pid_t)ids[0]);
}

int main(int argc, char **argv)
{
	struct profiler p = { .tracker = stacktrace_tracker_new(NULL),
			      .mask = stacktrace_preferred_regs_mask(EM_X86_64),
			      .only = argc > 2 ? atoi(argv[2]) : 0 };
	struct perf_samples *samples = perf_samples_open(HZ, p.mask);
	double seconds = argc > 1 ? atof(argv[1]) : 0;

	if (seconds <= 0)
		return fputs("usage: profiler SECONDS [PID]\n", stderr), 2;
	if (!p.tracker || !samples)
		return perror("profiler"), 1;
	for (int i = 0; i < seconds * 20; i++) {
		nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
		perf_samples_read(samples, on_record, &p);
	}
	folded_print(&p.folded);
	fprintf(stderr, "%zu samples, %zu of them not to the root\n", p.folded.cnt, p.failed);
	stacktrace_tracker_free(p.tracker);
	return 0;
}
