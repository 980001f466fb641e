/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of a sleeping program for tests of the library. */
#ifndef UNIT_SCENE_H
#define UNIT_SCENE_H

#include <elf.h>
#include <time.h>

#include "lib/live_rig.h"
#include "process/maps.h"
#include "stacktrace.h"

#define FRAME_MAX 64

/* A sleeping program, its sample, and the result of the first walk. */
struct scene {
	pid_t pid;
	struct event *event;
	uint64_t *perf_regs;
	struct stacktrace_sample by_mapping, by_mask;
};

struct chain {
	size_t cnt, max; /* max: the callback stops there; 0: never */
	struct stacktrace_frame frames[FRAME_MAX];
};

static const int dwarf_order[EVENT_REG_CNT] = { 0, 1,  2,  3,  4,  5,  6,  7, 8,
						9, 10, 11, 12, 13, 14, 15, 16 };

/* DWARF numbers of perf's registers of the mask 0xff01ff, in the order of their bits. */
static const int perf_order[EVENT_REG_CNT] = { 0, 3, 2,	 1,  4,	 5,  6,	 7, 16,
					       8, 9, 10, 11, 12, 13, 14, 15 };

static inline int collect(const struct stacktrace_frame *f, void *arg)
{
	struct chain *c = arg;

	assert_in_range(c->cnt, 0, FRAME_MAX - 1);
	c->frames[c->cnt++] = *f;
	return c->cnt == c->max;
}

static inline void take_sample(struct scene *s)
{
	const struct event *e = s->event;

	live__capture(s->pid, s->event, 0, EVENT_STACK_MAX);
	s->by_mapping = (struct stacktrace_sample){ .size = sizeof(s->by_mapping),
						    .pid = s->pid,
						    .tid = s->pid,
						    .stack = e->data,
						    .stack_size = e->ustack_sz,
						    .stack_address = e->stack_addr,
						    .regs = (const uint64_t *)e->regs,
						    .n_regs = EVENT_REG_CNT,
						    .mapping = dwarf_order,
						    .abi = STACKTRACE_ABI_64 };
	for (int i = 0; i < 17; i++)
		s->perf_regs[i] = e->regs[perf_order[i]];
	s->by_mask = s->by_mapping;
	s->by_mask.mapping = NULL;
	s->by_mask.regs = s->perf_regs;
	s->by_mask.perf_mask = stacktrace_preferred_regs_mask(EM_X86_64);
	s->by_mask.stack = e->data + EVENT_RED_ZONE;
	s->by_mask.stack_size = e->ustack_sz - EVENT_RED_ZONE;
	s->by_mask.stack_address = 0;
}

/* In nanosleep, which sleep calls. */
static inline struct scene begin_with(const char *sleep)
{
	const char *argv[] = { sleep, "1000", NULL };
	struct scene s = { .pid = live__start(argv, false),
			   .event = live__event(),
			   .perf_regs = calloc(17, sizeof(uint64_t)) };

	live__wait_in(s.pid, SYS_clock_nanosleep);
	assert_true(live__interrupt(s.pid));
	take_sample(&s);
	return s;
}

static inline struct scene begin(void)
{
	return begin_with("sleep");
}

static inline void end(struct scene *s)
{
	live__kill(s->pid);
	free(s->event);
	free(s->perf_regs);
}

static inline stacktrace_tracker *make(struct stacktrace_options o)
{
	stacktrace_tracker *t;

	o.size = sizeof(o);
	t = stacktrace_tracker_new(&o);
	assert_non_null(t);
	return t;
}

static inline const char *name(stacktrace_tracker *t, pid_t pid, const struct stacktrace_frame *f)
{
	static _Thread_local struct stacktrace_place p;

	return stacktrace_find(t, pid, f->place, &p) == 0 ? p.symbol : "?";
}

/* Returns the name of the innermost function below those that glibc 2.41 puts on top of each
 * blocking call. */
static inline const char *blocked_in(stacktrace_tracker *t, const struct scene *s,
				     const struct chain *c)
{
	size_t i = 0;

	while (i + 1 < c->cnt && strstr(name(t, s->pid, &c->frames[i]), "syscall_cancel"))
		i++;
	return name(t, s->pid, &c->frames[i]);
}

static inline void check_chain(stacktrace_tracker *t, const struct scene *s, const struct chain *c)
{
	assert_in_range(c->cnt, 5, FRAME_MAX);
	assert_int_equal(c->frames[0].pc, s->event->regs[16]);
	assert_int_equal(c->frames[0].sp, s->event->regs[7]);
	assert_int_equal(c->frames[0].place, c->frames[0].pc);
	assert_int_equal(c->frames[0].found, STACKTRACE_BY_SAMPLE);
	assert_string_equal(blocked_in(t, s, c), "clock_nanosleep");
	for (size_t i = 1; i < c->cnt; i++) {
		assert_true(c->frames[i].sp > c->frames[i - 1].sp);
		assert_int_equal(c->frames[i].place, c->frames[i].pc - 1);
		assert_int_equal(c->frames[i].found, STACKTRACE_BY_CFI);
		assert_int_equal(c->frames[i].flags, 0);
	}
	assert_memory_equal(name(t, s->pid, &c->frames[c->cnt - 2]), "__libc_start_main", 17);
}

static inline int walk(stacktrace_tracker *t, struct scene *s, pid_t pid, struct chain *c)
{
	struct stacktrace_sample sample = s->by_mapping;

	sample.pid = pid;
	c->cnt = 0;
	return stacktrace_sample_getframes(t, &sample, collect, c);
}

/* Reports the mappings of a process to a tracker, as if it were process `pid`. */
struct telling {
	stacktrace_tracker *tracker;
	pid_t pid;
	int calls;
};

static inline void tell_mapping(const struct record_mmap *m, void *arg)
{
	struct telling *to = arg;
	struct stacktrace_mapping out = { .start = m->start,
					  .size = m->len,
					  .offset = m->pgoff,
					  .major = m->maj,
					  .minor = m->min,
					  .inode = m->ino,
					  .path = m->path };

	assert_int_equal(stacktrace_map(to->tracker, to->pid, &out), 0);
}

static inline void tell_mappings(stacktrace_tracker *t, pid_t from, pid_t pid)
{
	struct telling to = { t, pid, 0 };
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", from);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(maps__read(fd, tell_mapping, &to), 0);
	close(fd);
}

#endif
