// SPDX-License-Identifier: GPL-2.0-or-later
#include "fuzzscript.h"

#include "lib/fakeruby.h"

/* The input lies over the instruction sequence's body, its lines and its texts. */
static void read_iseq(int fd, const uint8_t *data, size_t sz)
{
	struct runtime_layout l = fake__layout();
	struct remote r = { .mem = fd, .left = 1 << 20 };
	struct script_function f = { 0 };

	fake__iseq(fd);
	fake__put(fd, FAKE_BODY, data, sz);
	l.at[RUBY_HAS_FLAGS_LENGTH] = sz & 1;
	ruby.read(&r, &l, FAKE_ISEQ, &f);
	script__check(&f);
}

static void read_index(int fd, const uint8_t *data, size_t sz)
{
	struct runtime_layout l = fake__layout();
	struct remote r = { .mem = fd, .left = 1 << 20 };
	struct script_function f = { 0 };

	fake__iseq(fd);
	if (sz & 1)
		fake__word(fd, FAKE_BODY + 120, FAKE_INDEX);
	fake__u32(fd, FAKE_BODY + 128, 64);
	fake__put(fd, FAKE_INDEX, data, sz);
	ruby.read(&r, &l, FAKE_ISEQ, &f);
	script__check(&f);
}

/* The input lies over the method entry, or the table of symbols. */
static void read_method(int fd, const uint8_t *data, size_t sz)
{
	struct runtime_layout l = fake__layout();
	struct remote r = { .mem = fd, .left = 1 << 20 };
	struct script_function f = { 0 };

	fake__vm(fd);
	fake__method(fd, FAKE_EACH << 4);
	fake__put(fd, sz & 1 ? FAKE_METHOD : FAKE_IDS, data, sz);
	ruby.read(&r, &l, FAKE_METHOD | CAPTURE_RUBY_CFUNC, &f);
	script__check(&f);
}

/* The input lies over .data and .bss, or over the VM. */
static void locate(int fd, const uint8_t *data, size_t sz)
{
	const uint64_t symbols[] = { FAKE_API_VERSION, FAKE_OBJECT, FAKE_STDOUT,
				     sz & 1 ? FAKE_VM_POINTER : 0 };
	struct runtime_layout l = { .runtime = &ruby };
	struct remote r = { .mem = fd, .left = 1 << 20 };
	struct capture_runtime c;

	fake__vm(fd);
	fake__put(fd, sz & 2 ? FAKE_SYMBOLS : FAKE_VM, data, sz);
	if (ruby.locate(&r, symbols, &l, &c) == 0)
		FUZZ_CHECK(c.frame_sz == l.at[RUBY_FRAME_SIZE] && l.heaps);
}

/* The input is the calls, and the stack. */
static void split(int fd, const uint8_t *data, size_t sz)
{
	static struct event_call calls[EVENT_CALLS_MAX];
	static struct runtime_run runs[EVENT_CALLS_MAX + 1];
	const struct snapshot stack = { 0x1000, sz, data, NULL };
	struct runtime_layout l = fake__layout();
	struct runtime_calls c = { .layout = &l, .stack = &stack, .base = 0x1000, .calls = calls };
	size_t cnt;

	(void)fd;
	c.cnt = sz / sizeof(*calls) < EVENT_CALLS_MAX ? sz / sizeof(*calls) : EVENT_CALLS_MAX;
	c.cut = sz & 1;
	memcpy(calls, data, c.cnt * sizeof(*calls));
	cnt = ruby.split(&c, runs);
	runs__check(&c, runs, cnt);
	l.at[RUBY_THREAD_NATIVE] = RUBY_NONE;
	ruby__waits_for_turn(&l, &stack, (struct stack_part){ 0x1000, 0x1000 + sz });
}

SCRIPT_INPUTS(read_iseq, read_index, read_method, locate, split)
