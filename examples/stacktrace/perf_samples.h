/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_event_open(2) for the examples: events on all CPUs, with registers and stacks. */
#ifndef PERF_SAMPLES_H
#define PERF_SAMPLES_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PERF_PAGES 256	 /* per CPU */
#define PERF_STACK 16384 /* bytes of each stack */

struct perf_samples {
	long cpu_cnt;
	struct perf_cpu {
		int fd;
		struct perf_event_mmap_page *control;
	} cpus[];
};

/* A record, whole and in one piece: what follows its header is its body. */
typedef void (*perf_record_fn)(const struct perf_event_header *, const void *body, void *arg);

static inline struct perf_event_attr perf_samples_attr(unsigned hz, uint64_t regs_mask)
{
	struct perf_event_attr a;

	memset(&a, 0, sizeof(a));
	a.size = sizeof(a);
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_CPU_CLOCK;
	a.freq = 1;
	a.sample_freq = hz;
	a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	a.sample_regs_user = regs_mask;
	a.sample_stack_user = PERF_STACK;
	a.exclude_kernel = 1;
	a.comm = a.comm_exec = a.task = 1; /* records of exec, fork and exit */
	return a;
}

/* Samples the whole machine. Returns NULL with the errno of the first CPU that refuses. */
static inline struct perf_samples *perf_samples_open(unsigned hz, uint64_t regs_mask)
{
	struct perf_event_attr attr = perf_samples_attr(hz, regs_mask);
	size_t size = (1 + PERF_PAGES) * 4096;
	long cnt = sysconf(_SC_NPROCESSORS_ONLN);
	struct perf_samples *p =
		(struct perf_samples *)calloc(1, sizeof(*p) + (size_t)cnt * sizeof(p->cpus[0]));

	for (long cpu = 0; p && cpu < cnt; cpu++) {
		int fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		void *ring = fd < 0 ? MAP_FAILED
				    : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (ring == MAP_FAILED)
			return NULL;
		p->cpus[p->cpu_cnt++] =
			(struct perf_cpu){ fd, (struct perf_event_mmap_page *)ring };
	}
	return p;
}

static inline void perf_samples_read_cpu(struct perf_event_mmap_page *c, perf_record_fn fn,
					 void *arg)
{
	const uint8_t *ring = (const uint8_t *)c + c->data_offset;
	uint64_t head = __atomic_load_n(&c->data_head, __ATOMIC_ACQUIRE), at = c->data_tail;
	static uint64_t whole[8192];

	while (at < head) {
		uint64_t off = at % c->data_size, left = c->data_size - off;
		const struct perf_event_header *h =
			(const struct perf_event_header *)(const void *)(ring + off);

		if (h->size > left) { /* it goes on at the ring's beginning */
			memcpy(whole, h, left);
			memcpy((uint8_t *)whole + left, ring, h->size - left);
			h = (const struct perf_event_header *)whole;
		}
		at += h->size;
		fn(h, h + 1, arg);
	}
	__atomic_store_n(&c->data_tail, at, __ATOMIC_RELEASE);
}

static inline void perf_samples_read(struct perf_samples *p, perf_record_fn fn, void *arg)
{
	for (long i = 0; i < p->cpu_cnt; i++)
		perf_samples_read_cpu(p->cpus[i].control, fn, arg);
}

#endif
