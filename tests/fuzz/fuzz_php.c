// SPDX-License-Identifier: GPL-2.0-or-later
#include "fuzzscript.h"

#include "lib/fakephp.h"
#include "process/process.h"

/* The input lies over the function, its instructions or its texts. */
static void read_function(int fd, const uint8_t *data, size_t sz)
{
	const uint64_t places[] = { FAKE_FUNCTION, FAKE_OPS, FAKE_TEXTS, FAKE_INTERNAL };
	struct function_wanted w = { FAKE_FUNCTION, fake__cookie(2, "run"), { 0 } };
	struct runtime_layout l = fake__layout();
	struct remote r = { .mem = fd, .left = 1 << 20 };
	struct script_function f = { 0 };

	fake__php(fd);
	fake__function(fd);
	fake__internal(fd);
	fake__put(fd, places[sz & 3], data, sz);
	if ((sz & 3) == 3)
		w = (struct function_wanted){ FAKE_INTERNAL, FAKE_INTERNAL_COOKIE, { 0 } };
	php.read_described(&r, &l, &w, &f);
	script__check(&f);
}

/* The input is the description. */
static void read_described(int fd, const uint8_t *data, size_t sz)
{
	struct function_wanted w = { FAKE_FUNCTION, fake__cookie(2, "run"), { 0 } };
	struct runtime_layout l = fake__layout();
	struct remote r = { .mem = fd, .left = 1 << 20 };
	struct script_function f = { 0 };

	fake__function(fd);
	memcpy(&w.description, data, sz < sizeof(w.description) ? sz : sizeof(w.description));
	php.read_described(&r, &l, &w, &f);
	script__check(&f);
}

/* The input lies over the modules, or over execute_ex(). */
static void locate(int fd, const uint8_t *data, size_t sz)
{
	const uint64_t symbols[] = { FAKE_MODULES, sz & 2 ? FAKE_GLOBALS : 0, FAKE_EXECUTE };
	struct runtime_layout l = { .runtime = &php };
	struct remote r = { .mem = fd, .left = 1 << 20 };
	struct capture_runtime c;

	fake__php(fd);
	fake__put(fd, sz & 1 ? FAKE_EXECUTE : FAKE_MODULES, data, sz);
	if (php.locate(&r, symbols, &l, &c) != 0)
		return;
	FUZZ_CHECK(c.place == CAPTURE_AT_ADDRESS && l.at[PHP_RETURN] < 1 << 17);
	for (size_t i = 0; i < 3; i++)
		FUZZ_CHECK(l.cookie[i] + 1 < CAPTURE_PHP_FUNCTION_WORDS);
}

/* The input is the calls, and the native frames. */
static void split(int fd, const uint8_t *data, size_t sz)
{
	static struct event_call calls[EVENT_CALLS_MAX];
	static struct runtime_run runs[EVENT_CALLS_MAX + 1];
	const struct mapping map = { .end = 1ull << 40, .kind = MAPPING_FILE, .path = "/x/php8.2" };
	struct runtime_layout l = fake__layout();
	static struct trace trace;
	struct runtime_calls c = { .layout = &l, .trace = &trace, .calls = calls };

	(void)fd;
	l.evaluator = (struct elf_symbol_code){ 0x4000, 0x8000 };
	trace.cnt = sz / 16 < TRACE_MAX ? sz / 16 : TRACE_MAX;
	for (size_t i = 0; i < trace.cnt; i++) {
		trace.frames[i] = (struct frame){ .sp = 0x1000 + 16 * i, .map = &map };
		memcpy(&trace.frames[i].pc, data + 16 * i, 2);
	}
	trace.status = sz & 2 ? UNWIND_ROOT : UNWIND_TRUNCATED;
	c.cnt = sz / sizeof(*calls) < EVENT_CALLS_MAX ? sz / sizeof(*calls) : EVENT_CALLS_MAX;
	c.cut = sz & 1;
	memcpy(calls, data, c.cnt * sizeof(*calls));
	runs__check(&c, runs, php.split(&c, runs));
}

/* The input is the stack of code that the JIT has made. */
static void step(int fd, const uint8_t *data, size_t sz)
{
	struct mapping map = { .end = 1ull << 40, .kind = MAPPING_FILE, .path = "/x/php8.2" };
	const struct process p = { .maps = &map, .map_cnt = 1 };
	const struct snapshot s = { 0x1000, sz, data, NULL };
	const struct sample sample = { .stack = s };
	const struct managed_query q = { &p, &sample, &s, false };
	struct runtime_layout l = fake__layout();
	struct code_walk w = { .query = &q, .layout = &l };
	struct managed_frame f = { .pc = 1ull << 41, .sp = 0x1000 + (sz & ~7ull) - 160 };

	(void)fd;
	l.at[PHP_SAVED_FP] = 128;
	if (php.code->step(&w, &f) == MANAGED_STEPPED)
		FUZZ_CHECK(f.sp == 0x1000 + (sz & ~7ull));
}

SCRIPT_INPUTS(read_function, read_described, locate, split, step)
