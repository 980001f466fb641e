// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Forged samples and mappings, through the library's interface. A byte selects the next step: a
 * mapping of a real file at any address, a change of processes, or a sample with any registers and
 * stack.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "stacktrace.h"

#define PID_MAX	  4
#define STACK_MAX 4096

static const char *const paths[] = { "/bin/true", "/lib/x86_64-linux-gnu/libc.so.6",
				     "[vdso]",	  "",
				     "/dev/zero", "//anon",
				     "/",	  "relative" };

struct fuzzed {
	stacktrace_tracker *tracker;
	struct cursor in;
	size_t frames;
};

static pid_t take_pid(struct fuzzed *f)
{
	return cursor__u8(&f->in) % PID_MAX;
}

static void map(struct fuzzed *f)
{
	pid_t pid = take_pid(f);
	struct stacktrace_mapping m = { .path = paths[cursor__u8(&f->in) % 8] };

	m.start = cursor__u64(&f->in);
	m.size = cursor__u64(&f->in);
	m.offset = cursor__u64(&f->in);
	m.inode = cursor__u8(&f->in);
	m.build_id_size = cursor__u8(&f->in) % 4;
	m.build_id = m.build_id_size ? (const uint8_t *)"abc" : NULL;
	stacktrace_map(f->tracker, pid, &m);
}

static int on_frame(const struct stacktrace_frame *frame, void *arg)
{
	struct fuzzed *f = arg;
	struct stacktrace_place place;

	f->frames++;
	stacktrace_find(f->tracker, 1, frame->place, &place);
	FUZZ_CHECK(frame->found <= STACKTRACE_BY_RETURN_ADDRESS);
	FUZZ_CHECK(frame->place == frame->pc || frame->place == frame->pc - 1);
	return f->frames > 8192;
}

static void sample(struct fuzzed *f)
{
	struct stacktrace_sample s = stacktrace_sample_init();
	uint64_t regs[17];
	uint8_t stack[STACK_MAX] = { 0 };
	size_t sz = cursor__u8(&f->in) * 16u;
	int end;

	s.pid = take_pid(f);
	s.abi = cursor__u8(&f->in) % 4;
	s.flags = cursor__u8(&f->in) & 1;
	for (int i = 0; i < 17; i++)
		regs[i] = cursor__u64(&f->in);
	for (size_t i = 0; i < sz; i++)
		stack[i] = cursor__u8(&f->in);
	s.perf_mask = stacktrace_preferred_regs_mask(62);
	s.regs = regs;
	s.n_regs = 17;
	s.stack = stack;
	s.stack_size = sz;
	f->frames = 0;
	end = stacktrace_sample_getframes(f->tracker, &s, on_frame, f);
	FUZZ_CHECK(end < 0 || (end < STACKTRACE_END_COUNT && f->frames > 0));
	FUZZ_CHECK(end >= 0 || end == -EINVAL || end == -ENODATA);
}

static void happen(struct fuzzed *f)
{
	pid_t pid = take_pid(f), other = take_pid(f);

	switch (cursor__u8(&f->in) % 4) {
	case 0: stacktrace_fork(f->tracker, pid, other); break;
	case 1: stacktrace_exec(f->tracker, pid); break;
	case 2: stacktrace_exit(f->tracker, pid); break;
	case 3: stacktrace_overlay(f->tracker, pid, "/", "/usr"); break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	static void (*const acts[])(struct fuzzed *) = { map, sample, happen };
	struct stacktrace_options o = stacktrace_options_init();
	struct fuzzed f = { .in = cursor__on(data, sz) };

	o.source = STACKTRACE_TOLD_ONLY;
	f.tracker = stacktrace_tracker_new(&o);
	FUZZ_CHECK(f.tracker);
	while (!f.in.err && cursor__left(&f.in) > 0)
		acts[cursor__u8(&f.in) % 3](&f);
	stacktrace_tracker_free(f.tracker);
	return 0;
}
