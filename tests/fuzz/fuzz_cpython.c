// SPDX-License-Identifier: GPL-2.0-or-later
#include "fuzzscript.h"

#include "lib/fakepython.h"

static void read_lines(int (*decode)(struct script_function *, const uint8_t *, size_t),
		       const uint8_t *data, size_t sz)
{
	struct script_function f = { .first_line = 1, .sz = 1 << 20 };

	decode(&f, data, sz);
	script__check(&f);
}

static void read_lines_3_11(int fd, const uint8_t *data, size_t sz)
{
	(void)fd;
	read_lines(cpython__decode_lines, data, sz);
}

static void read_line_pairs(int fd, const uint8_t *data, size_t sz)
{
	(void)fd;
	read_lines(cpython__decode_line_pairs, data, sz);
}

static void read_lnotab(int fd, const uint8_t *data, size_t sz)
{
	(void)fd;
	read_lines(cpython__decode_lnotab, data, sz);
}

/* The input lies over the code object, its type and its texts; all pointers can be in it. */
static void read_code(int fd, const uint8_t *data, size_t sz)
{
	struct runtime_layout l = sz & 4 ? fake__free_threaded() : fake__layout();
	struct remote r = { .mem = fd, .left = 1 << 20 };
	struct script_function f = { 0 };

	fake__code(fd, &l);
	fake__put(fd, FAKE_CODE, data, sz);
	if (sz & 1)
		l.version = 0x309 + (sz >> 1 & 1);
	cpython.read(&r, &l, FAKE_CODE, &f);
	script__check(&f);
}

/* The input lies over _PyRuntime and what it leads to. */
static void locate(int fd, const uint8_t *data, size_t sz)
{
	const uint64_t symbols[] = { FAKE_RUNTIME, sz & 1 ? FAKE_VERSION : 0, sz & 2, sz & 4 };
	struct runtime_layout l = { .runtime = &cpython };
	struct remote r = { .mem = fd, .left = 1 << 20 };
	struct capture_runtime c;

	fake__threads(fd, 2, 792);
	fake__put(fd, FAKE_RUNTIME, data, sz);
	if (cpython.locate(&r, symbols, &l, &c) != 0)
		return;
	FUZZ_CHECK(c.code < CAPTURE_CALL_WORDS && c.previous < CAPTURE_CALL_WORDS);
	FUZZ_CHECK(c.instr < CAPTURE_OBJECT_WORDS && c.word < CAPTURE_OBJECT_WORDS);
	FUZZ_CHECK(c.frame_off || (c.instr < CAPTURE_CALL_WORDS && c.word < CAPTURE_CALL_WORDS));
	for (size_t i = 0; i < 3; i++)
		FUZZ_CHECK(l.cookie[i] < CAPTURE_CALL_WORDS);
}

/* The input is the calls, and the stack. */
static void split(int fd, const uint8_t *data, size_t sz)
{
	static struct event_call calls[EVENT_CALLS_MAX];
	static struct runtime_run runs[EVENT_CALLS_MAX + 1];
	const struct snapshot stack = { 0x1000, sz, data, NULL };
	struct runtime_layout l = fake__layout();
	struct runtime_calls c = { .layout = &l, .stack = &stack, .base = 0x1000, .calls = calls };
	const struct mapping map = { .end = 1ull << 40, .path = "/x/python3.9" };
	static struct trace trace;
	size_t cnt;

	(void)fd;
	l.evaluator = (struct elf_symbol_code){ 0x4000, 0x8000 };
	trace.cnt = sz / 16 < TRACE_MAX ? sz / 16 : TRACE_MAX;
	for (size_t i = 0; i < trace.cnt; i++) {
		trace.frames[i] = (struct frame){ .sp = 0x1000 + 16 * i, .map = &map };
		memcpy(&trace.frames[i].pc, data + 16 * i, 2);
	}
	trace.status = sz & 4 ? UNWIND_ROOT : UNWIND_TRUNCATED;
	c.trace = &trace;
	if (sz & 2)
		l.version = 0x309;
	c.cnt = sz / sizeof(*calls) < EVENT_CALLS_MAX ? sz / sizeof(*calls) : EVENT_CALLS_MAX;
	memcpy(calls, data, c.cnt * sizeof(*calls));
	if (sz & 1) {
		l.at[AT_CFRAME_PREVIOUS] = AT_NONE;
		l.at[AT_FRAME_OWNER] = 70;
	}
	cnt = cpython.split(&c, runs);
	runs__check(&c, runs, cnt);
}

SCRIPT_INPUTS(read_lines_3_11, read_code, locate, split, read_line_pairs, read_lnotab)
