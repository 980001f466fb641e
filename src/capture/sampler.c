// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/sampler.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/cpus.h"
#include "capture/diagnose.h"

/*
 * The events to try for a program, the best first. A machine without counters returns ENOENT; a
 * virtual or busy one returns also other errors. At any error the next event is tried.
 */
static const struct {
	const char *program;
	struct perf_event_attr attr;
} events[] = {
	{ "profile__sample",
	  { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES, .freq = 1 } },
	{ "profile__sample", /* the program does not run on idle CPUs */
	  { .type = PERF_TYPE_SOFTWARE,
	    .config = PERF_COUNT_SW_CPU_CLOCK,
	    .freq = 1,
	    .exclude_idle = 1 } },
	{ "fault__perf__user",
	  { .type = PERF_TYPE_SOFTWARE,
	    .config = PERF_COUNT_SW_PAGE_FAULTS,
	    .exclude_kernel = 1 } },
};

struct sampler {
	struct bpf_program *prog;
	uint64_t rate;
	size_t cpu_cnt;
	struct bpf_link **links; /* NULL where a CPU is offline */
	bool *online;		 /* scratch of sampler__update() */
};

struct sampler *sampler__new(struct bpf_program *prog, uint64_t rate)
{
	int cpu_cnt = libbpf_num_possible_cpus();
	struct sampler *s = calloc(1, sizeof(*s));

	if (!s || cpu_cnt <= 0)
		goto fail;
	s->prog = prog;
	s->rate = rate ? rate : 1;
	s->cpu_cnt = (size_t)cpu_cnt;
	s->links = calloc(s->cpu_cnt, sizeof(*s->links));
	s->online = calloc(s->cpu_cnt, sizeof(*s->online));
	if (s->links && s->online)
		return s;
fail:
	sampler__free(s);
	errno = cpu_cnt < 0 ? -cpu_cnt : ENOMEM;
	return NULL;
}

void sampler__free(struct sampler *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->links && i < s->cpu_cnt; i++)
		bpf_link__destroy(s->links[i]);
	free(s->links);
	free(s->online);
	free(s);
}

static int sampler_open_event(const struct sampler *s, int cpu, struct perf_event_attr attr)
{
	attr.size = sizeof(attr);
	attr.sample_period = s->rate; /* sample_freq is the same field */
	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int sampler_open_any_event(const struct sampler *s, int cpu)
{
	int fd = -1;

	for (size_t i = 0; i < sizeof(events) / sizeof(*events) && fd < 0; i++) {
		if (!strcmp(events[i].program, bpf_program__name(s->prog)))
			fd = sampler_open_event(s, cpu, events[i].attr);
	}
	return fd < 0 ? -errno : fd;
}

/* Attaches to a CPU, which may have gone offline since the list was read. */
static int sampler_attach(struct sampler *s, size_t cpu)
{
	int fd = sampler_open_any_event(s, (int)cpu), err;

	if (fd == -ENODEV)
		return 0;
	if (fd < 0) {
		diagnose__perf_event(fd, bpf_program__name(s->prog), s->rate);
		return fd;
	}
	s->links[cpu] = bpf_program__attach_perf_event(s->prog, fd);
	if (s->links[cpu])
		return 0;
	err = -errno;
	close(fd);
	log__error("cannot attach %s to CPU %zu: %s", bpf_program__name(s->prog), cpu,
		   strerror(-err));
	return err;
}

int sampler__update(struct sampler *s)
{
	int err = cpus__online(s->online, s->cpu_cnt);

	for (size_t i = 0; i < s->cpu_cnt && !err; i++) {
		if (s->online[i] && !s->links[i]) {
			err = sampler_attach(s, i);
		} else if (!s->online[i] && s->links[i]) {
			bpf_link__destroy(s->links[i]);
			s->links[i] = NULL;
		}
	}
	return err;
}
