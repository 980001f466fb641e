// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: bpf_profiler SECONDS [PID]
 *
 * A profiler that gets its samples from a BPF program: the registers are the kernel's struct
 * pt_regs, which a mapping explains to libstacktrace. Folded stacks on stdout.
 */
#include <bpf/libbpf.h>
#include <stacktrace.h>
#include <time.h>

#include "bpf_profiler.h"
#include "bpf_profiler.skel.h"
#include "folded.h"
#include "perf_samples.h"

#define HZ	  199
#define FRAME_MAX 256

/* r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp ss, as DWARF numbers.
 */
static const int pt_regs[SAMPLE_REGS] = { 15, 14, 13, 12, 6,  3,  11, 10, 9, 8, 0,
					  2,  1,  4,  5,  -1, 16, -1, -1, 7, -1 };

struct profiler {
	stacktrace_tracker *tracker;
	struct folded folded;
	pid_t pid; /* of the sample in hand */
	size_t cnt;
	uint64_t places[FRAME_MAX];
};

static int on_frame(const struct stacktrace_frame *frame, void *arg)
{
	struct profiler *p = arg;

	p->places[p->cnt++] = frame->place;
	return p->cnt == FRAME_MAX;
}

static void add(struct profiler *p)
{
	static char line[FRAME_MAX * 128];
	struct stacktrace_place place;
	size_t at = 0;

	while (p->cnt-- > 0) {
		stacktrace_find(p->tracker, p->pid, p->places[p->cnt], &place);
		at += (size_t)snprintf(line + at, 128, "%s%.100s", at ? ";" : "",
				       place.symbol[0] ? place.symbol : "?");
	}
	folded_add(&p->folded, line);
}

static int on_sample(void *arg, void *data, size_t size)
{
	const struct bpf_sample *b = data;
	struct stacktrace_sample s = stacktrace_sample_init();
	struct profiler *p = arg;

	(void)size;
	s.pid = (pid_t)b->pid;
	s.tid = (pid_t)b->tid;
	s.regs = (const uint64_t *)b->regs;
	s.n_regs = SAMPLE_REGS;
	s.mapping = pt_regs;
	s.abi = STACKTRACE_ABI_64;
	s.stack = b->stack;
	s.stack_size = b->stack_size;
	s.stack_address = b->stack_address;
	s.flags = b->stack_size == sizeof(b->stack) ? STACKTRACE_STACK_IS_CUT : 0;
	p->pid = s.pid;
	p->cnt = 0;
	if (stacktrace_sample_getframes(p->tracker, &s, on_frame, p) >= 0)
		add(p);
	return 0;
}

/* On each CPU that is there. */
static int attach(struct bpf_profiler *skel)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.freq = 1,
					.sample_freq = HZ };

	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		int fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd >= 0 && !bpf_program__attach_perf_event(skel->progs.on_clock, fd))
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct profiler p = { .tracker = stacktrace_tracker_new(NULL) };
	struct bpf_profiler *skel = bpf_profiler__open();
	double seconds = argc > 1 ? atof(argv[1]) : 0;
	struct ring_buffer *ring;

	if (seconds <= 0)
		return fputs("usage: bpf_profiler SECONDS [PID]\n", stderr), 2;
	if (!p.tracker || !skel)
		return perror("bpf_profiler"), 1;
	skel->rodata->only = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	if (bpf_profiler__load(skel) != 0 || attach(skel) != 0)
		return perror("bpf_profiler"), 1;
	ring = ring_buffer__new(bpf_map__fd(skel->maps.samples), on_sample, &p, NULL);
	for (int i = 0; ring && i < seconds * 20; i++) {
		nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
		ring_buffer__consume(ring);
	}
	folded_print(&p.folded);
	ring_buffer__free(ring);
	bpf_profiler__destroy(skel);
	stacktrace_tracker_free(p.tracker);
	return 0;
}
