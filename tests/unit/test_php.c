// SPDX-License-Identifier: GPL-2.0-or-later
/* What is read of PHP's memory, which may hold anything. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>

#include "event/sample.h"
#include "lib/fakephp.h"
#include "process/process.h"

static const uint64_t symbols[] = { FAKE_MODULES, FAKE_GLOBALS, FAKE_EXECUTE };

static struct remote remote_of(int fd)
{
	return (struct remote){ .mem = fd, .left = 4 << 20 };
}

static int locate(int fd, struct runtime_layout *l, struct capture_runtime *c)
{
	struct remote r = remote_of(fd);

	*l = (struct runtime_layout){ .runtime = &php };
	return php.locate(&r, symbols, l, c);
}

static int read_wanted(int fd, const struct function_wanted *w, struct script_function *f)
{
	struct remote r = remote_of(fd);
	struct runtime_layout l = fake__layout();

	*f = (struct script_function){ 0 };
	return php.read_described(&r, &l, w, f);
}

static int read_at(int fd, uint64_t code, uint64_t cookie, struct script_function *f)
{
	return read_wanted(fd, &(struct function_wanted){ code, cookie, { 0 } }, f);
}

static uint32_t line_at(const struct script_function *f, uint64_t instr)
{
	uint32_t line;

	return script_function__line(f, instr, &line) ? line : UINT32_MAX;
}

/* ---- functions ----------------------------------------------------------------------------------
 */

static void reads_names_and_lines(void **state)
{
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__function(fd);
	assert_int_equal(read_at(fd, FAKE_FUNCTION, fake__cookie(2, "run"), &f), 0);
	assert_string_equal(f.script.name, "App::run");
	assert_string_equal(f.script.module, "/srv/app.php");
	assert_int_equal(f.first_line, 9);
	assert_int_equal(line_at(&f, FAKE_OPS), 10);
	assert_int_equal(line_at(&f, FAKE_OPS + 2 * PHP_OP_SZ), 12);
	assert_int_equal(line_at(&f, FAKE_OPS + 3 * PHP_OP_SZ), 11);
	assert_int_equal(line_at(&f, FAKE_OPS + 4 * PHP_OP_SZ), UINT32_MAX);
	script_function__free(&f);
	fake__word(fd, FAKE_NAME + 32, 7); /* behind its name */
	assert_int_equal(read_at(fd, FAKE_FUNCTION, fake__cookie(2, "run"), &f), 0);
	script_function__free(&f);
	close(fd);
}

static void reads_a_function_that_is_gone_by_its_description(void **state)
{
	const struct function_wanted w = { 0xdead0000,
					   fake__cookie(2, "run"),
					   { .at = FAKE_NAME,
					     .code = FAKE_CLASS,
					     .instr = FAKE_OPS,
					     .word = FAKE_FILE,
					     .cookie = 4 | 9ull << 32 } };
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__function(fd);
	fake__word(fd, FAKE_FUNCTION + 8, 0x7777);
	assert_int_equal(read_wanted(fd, &w, &f), 0);
	assert_string_equal(f.script.name, "App::run");
	assert_int_equal(f.first_line, 9);
	assert_int_equal(line_at(&f, FAKE_OPS + 2 * PHP_OP_SZ), 12);
	script_function__free(&f);
	fake__string(fd, FAKE_FILE, "/srv/apq.php", 12); /* another file is there now */
	assert_int_equal(read_wanted(fd, &w, &f), -ESTALE);
	script_function__free(&f);
	fake__function(fd);
	fake__put(fd, FAKE_NAME + 24, "low", 3); /* the name's memory was used again */
	assert_int_equal(read_wanted(fd, &w, &f), -ESTALE);
	script_function__free(&f);
	fake__function(fd);
	fake__put(fd, FAKE_TEXTS + 0x200 + 24, "Low", 3); /* the class's */
	assert_int_equal(read_wanted(fd, &w, &f), -ESTALE);
	script_function__free(&f);
	close(fd);
}

static void rejects_a_function_that_has_become_another_one(void **state)
{
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__function(fd);
	fake__word(fd, FAKE_FUNCTION + 88, FAKE_OPS + PHP_OP_SZ);
	assert_int_equal(read_at(fd, FAKE_FUNCTION, fake__cookie(2, "run"), &f), -ESTALE);
	script_function__free(&f);
	close(fd);
}

static void reads_functions_in_c(void **state)
{
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__php(fd);
	fake__internal(fd);
	assert_int_equal(read_at(fd, FAKE_INTERNAL, FAKE_INTERNAL_COOKIE, &f), 0);
	assert_string_equal(f.script.name, "usort");
	assert_string_equal(f.script.module, "<standard>");
	assert_int_equal(f.start, FAKE_HANDLER);
	assert_int_equal(f.sz, 0);
	assert_false(php.is_hidden(&f.script));
	script_function__free(&f);
	/* without a name and an extension: a frame that is no call */
	fake__word(fd, FAKE_INTERNAL + 8, 0);
	fake__word(fd, FAKE_INTERNAL + 80, 0);
	assert_int_equal(read_at(fd, FAKE_INTERNAL,
				 CAPTURE_PHP_COOKIE(1ull, 0ull, 0ull, (uint64_t)FAKE_HANDLER), &f),
			 0);
	assert_true(php.is_hidden(&f.script));
	script_function__free(&f);
	close(fd);
}

static const char *name_of(int fd, uint64_t cookie)
{
	static char name[256];
	struct script_function f;

	name[0] = 0;
	if (read_at(fd, FAKE_FUNCTION, cookie, &f) == 0)
		snprintf(name, sizeof(name), "%s", f.script.name);
	script_function__free(&f);
	return name;
}

static void names_what_has_no_name_of_its_own(void **state)
{
	int fd = fake__new();

	(void)state;
	fake__function(fd);
	fake__string(fd, FAKE_NAME, "{closure}", 9);
	assert_string_equal(name_of(fd, fake__cookie(2, "{closure}")), "{closure:app.php:9}");
	fake__string(fd, FAKE_NAME, "{closure:a():3}", 15);
	assert_string_equal(name_of(fd, fake__cookie(2, "{closure:a():3}")), "{closure:a():3}");
	fake__word(fd, FAKE_FUNCTION + 8, 0);
	assert_string_equal(name_of(fd, fake__cookie(2, NULL)), "{main}");
	fake__u32(fd, FAKE_FUNCTION, PHP_EVAL);
	assert_string_equal(name_of(fd, fake__cookie(4, NULL)), "{eval}");
	fake__function(fd);
	fake__string(fd, FAKE_TEXTS + 0x200, "class@anonymous\0/srv/app.php:3$0", 32);
	assert_string_equal(name_of(fd, fake__cookie(2, "run")), "class@anonymous::run");
	close(fd);
}

static void cleans_names(void **state)
{
	const char *name;
	int fd = fake__new();

	(void)state;
	fake__function(fd);
	fake__string(fd, FAKE_NAME, "a\x1b[31m\xff", 7);
	name = name_of(fd, fake__cookie(2, "a\x1b[31m\xff"));
	assert_int_equal(strncmp(name, "App::a", 6), 0);
	assert_null(strchr(name, '\x1b'));
	assert_null(strchr(name, '\xff'));
	close(fd);
}

static void rejects_what_is_no_function(void **state)
{
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__function(fd);
	assert_int_equal(read_at(fd, FAKE_FUNCTION + 4, fake__cookie(2, "run"), &f), -EINVAL);
	assert_int_not_equal(read_at(fd, 0xffffffff00000000, fake__cookie(2, "run"), &f), 0);
	script_function__free(&f);
	fake__u32(fd, FAKE_FUNCTION, 3);
	assert_int_equal(read_at(fd, FAKE_FUNCTION, fake__cookie(2, "run"), &f), -EINVAL);
	close(fd);
}

static void bounds_what_claims_to_be_large(void **state)
{
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__function(fd);
	fake__u32(fd, FAKE_FUNCTION + 80, UINT32_MAX); /* instructions */
	assert_int_equal(read_at(fd, FAKE_FUNCTION, fake__cookie(2, "run"), &f), 0);
	assert_string_equal(f.script.name, "App::run");
	assert_int_equal(f.cnt, 0);
	assert_int_equal(line_at(&f, FAKE_OPS), 0);
	script_function__free(&f);
	fake__word(fd, FAKE_FILE + 16, UINT64_MAX); /* bytes of the path: it has the same hash */
	assert_int_equal(read_at(fd, FAKE_FUNCTION, fake__cookie(2, "run"), &f), 0);
	assert_int_equal(strncmp(f.script.module, "/srv/app.php", 12), 0);
	assert_in_range(strlen(f.script.module), 12, 3 * 4096);
	script_function__free(&f);
	fake__function(fd);
	fake__u32(fd, FAKE_FUNCTION + 80, 60000); /* beyond the end of memory */
	assert_int_equal(read_at(fd, FAKE_FUNCTION, fake__cookie(2, "run"), &f), -EFAULT);
	script_function__free(&f);
	close(fd);
}

/* ---- where calls are ----------------------------------------------------------------------------
 */

static void finds_the_calls_and_the_frame_of_execute_ex(void **state)
{
	static const uint8_t newer[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x55,
					 0x41, 0x54, 0x53, 0x48, 0x81, 0xec, 0xa8, 0,	 0,    0 };
	struct runtime_layout l;
	struct capture_runtime c;
	int fd = fake__new();

	(void)state;
	fake__php(fd);
	assert_int_equal(locate(fd, &l, &c), 0);
	assert_int_equal(c.state_off[0], FAKE_GLOBALS);
	assert_int_equal(c.place, CAPTURE_AT_ADDRESS);
	assert_int_equal(c.id_off, PHP_GLOBALS_SELF);
	assert_int_equal(l.cookie[1], 11);
	assert_int_equal(l.at[PHP_RETURN], 0x78 + 32);
	assert_int_equal(l.at[PHP_SAVED_FP], 0x78 + 8);
	fake__put(fd, FAKE_EXECUTE, newer, sizeof(newer));
	assert_int_equal(locate(fd, &l, &c), 0);
	assert_int_equal(l.at[PHP_RETURN], 0xa8 + 32);
	assert_int_equal(l.at[PHP_SAVED_FP], 0xa8 + 24);
	fake__u32(fd, FAKE_EXECUTE, 0x90909090);
	assert_int_equal(locate(fd, &l, &c), 0);
	assert_int_equal(l.at[PHP_RETURN], 0);
	close(fd);
}

static void waits_for_a_php_that_has_not_started(void **state)
{
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();

	(void)state;
	assert_int_equal(locate(fd, &l, &c), -EAGAIN);
	fake__php(fd);
	fake__word(fd, FAKE_GLOBALS + PHP_GLOBALS_SELF, 0);
	assert_int_equal(locate(fd, &l, &c), -EAGAIN);
	fake__php(fd);
	fake__word(fd, FAKE_MODULES + 16, UINT64_MAX);
	assert_int_equal(locate(fd, &l, &c), -EAGAIN);
	close(fd);
}

static void names_versions_that_it_cannot_read(void **state)
{
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();
	char text[32];

	(void)state;
	fake__php(fd);
	fake__u32(fd, FAKE_MODULE + 4, 20190902);
	assert_int_equal(locate(fd, &l, &c), -ENOTSUP);
	php.print_version(l.version, text, sizeof(text));
	assert_string_equal(text, "API 20190902");
	fake__php(fd);
	fake__put(fd, FAKE_MODULE + PHP_MODULE_THREAD, "\1", 1);
	assert_int_equal(locate(fd, &l, &c), -ENOTSUP);
	php.print_version(l.version, text, sizeof(text));
	assert_string_equal(text, "8.2, thread-safe");
	close(fd);
}

/* Where zend_op_array has what in each version, and executor_globals its current_execute_data. */
static const struct version {
	uint32_t api, cnt, ops, file, frame;
} versions[] = {
	{ 20210902, 68, 72, 144, 488 },
	{ 20230831, 76, 80, 144, 488 },
	{ 20240924, 96, 104, 168, 488 },
	{ 20250925, 96, 104, 168, 512 },
};

/* Moves what the versions have at different places to where this one has it. */
static void make_version(int fd, const struct version *v)
{
	uint8_t nothing[120] = { 0 };

	fake__php(fd);
	fake__function(fd);
	fake__u32(fd, FAKE_MODULE + 4, v->api);
	fake__put(fd, FAKE_FUNCTION + 48, nothing, sizeof(nothing));
	fake__u32(fd, FAKE_FUNCTION + v->cnt, 4);
	fake__word(fd, FAKE_FUNCTION + v->ops, FAKE_OPS);
	fake__word(fd, FAKE_FUNCTION + v->file, FAKE_FILE);
	fake__u32(fd, FAKE_FUNCTION + v->file + 8, 9);
}

static void reads_functions_of_each_version(void **state)
{
	const struct function_wanted w = { FAKE_FUNCTION, fake__cookie(2, "run"), { 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		struct script_function f = { 0 };
		struct runtime_layout l;
		struct capture_runtime c;
		int fd = fake__new();
		struct remote r = remote_of(fd);

		make_version(fd, &versions[i]);
		assert_int_equal(locate(fd, &l, &c), 0);
		assert_int_equal(c.first_off, versions[i].frame);
		assert_int_equal(l.cookie_off, versions[i].cnt % 8 * 8); /* in bits */
		assert_int_equal(php.read_described(&r, &l, &w, &f), 0);
		assert_string_equal(f.script.name, "App::run");
		assert_int_equal(f.sz, 4 * PHP_OP_SZ);
		assert_int_equal(f.first_line, 9);
		script_function__free(&f);
		close(fd);
	}
}

/* ---- runs ---------------------------------------------------------------------------------------
 */

#define USER(top)                                                               \
	{                                                                       \
		.code = 8, .word = (top) ? PHP_CALL_TOP : 0, .cookie = PHP_USER \
	}
#define INTERNAL(top)                                                    \
	{                                                                \
		.code = 8, .word = (top) ? PHP_CALL_TOP : 0, .cookie = 1 \
	}

static const struct mapping map = { .end = 1ull << 40,
				    .kind = MAPPING_FILE,
				    .path = "/usr/bin/php8.2" };
static const struct mapping jit = { .end = 1ull << 40, .kind = MAPPING_ANON, .path = "" };

/* Native frames: E is execute_ex(), J code that its JIT has made; each has 0x100 bytes. */
static size_t split(const struct event_call *calls, size_t cnt, const char *frames,
		    struct runtime_run *runs)
{
	static struct trace trace;
	struct runtime_layout l = fake__layout();
	struct runtime_calls c = { .layout = &l, .trace = &trace, .cnt = cnt, .calls = calls };

	l.evaluator = (struct elf_symbol_code){ 0x4000, 0x5000 };
	trace.cnt = strlen(frames);
	trace.status = UNWIND_ROOT;
	for (size_t i = 0; i < trace.cnt; i++)
		trace.frames[i] = (struct frame){
			.pc = frames[i] == 'E' ? 0x4100 : 0x8000 + (uint64_t)frames[i],
			.sp = 0x1000 + 0x100 * i,
			.map = frames[i] == 'J' ? &jit : &map,
			.flags = frames[i] == 'J' ? FRAME_MANAGED : 0,
		};
	return php.split(&c, runs);
}

static void splits_where_c_has_called(void **state)
{
	/* a comparison that usort() calls; a function that only links others; main */
	const struct event_call calls[] = {
		USER(true), INTERNAL(false), { 0 }, USER(false), USER(true)
	};
	struct runtime_run runs[6];

	(void)state;
	assert_int_equal(split(calls, 5, "aEbcEdm", runs), 2);
	assert_int_equal(runs[0].cnt, 1);
	assert_int_equal(runs[0].anchor, 0x1100);
	assert_int_equal(runs[1].first, 1);
	assert_int_equal(runs[1].cnt, 4);
	assert_int_equal(runs[1].anchor, 0x1400);
	assert_int_equal(split(calls, 5, "aJbcJdm", runs), 2);
	assert_int_equal(runs[0].anchor, 0x1100);
	assert_int_equal(runs[1].anchor, 0x1400);
}

static void leaves_out_functions_in_c_that_c_has_called(void **state)
{
	const struct event_call calls[] = { INTERNAL(true), INTERNAL(false), USER(true),
					    INTERNAL(true) };
	struct runtime_run runs[5];

	(void)state;
	assert_int_equal(split(calls, 4, "aEdm", runs), 2);
	assert_int_equal(runs[0].cnt, 3);
	assert_int_equal(runs[0].anchor, 0x1100);
	assert_int_equal(runs[1].cnt, 1);
	assert_int_equal(runs[1].anchor, 0);
}

static void takes_the_leaf_from_registers_that_belong_to_it(void **state)
{
	const struct event_call call = { .at = 0x5000, .instr = 0x10 };
	struct event e = { 0 };

	(void)state;
#ifdef __x86_64__
	e.regs[14] = 0x5000;
	e.regs[15] = 0x30;
	assert_int_equal(php.leaf_instr(&e, &call), 0x30);
	e.regs[14] = 0x6000;
#endif
	assert_int_equal(php.leaf_instr(&e, &call), 0x10);
}

/* ---- out of compiled code -----------------------------------------------------------------------
 */

#define STACK 0x7fff0000ull

static void leaves_compiled_code_by_the_frame_of_execute_ex(void **state)
{
	static uint64_t words[20];
	static struct mapping maps[] = {
		{ .start = 0x10000,
		  .end = 0x20000,
		  .kind = MAPPING_FILE,
		  .path = "/usr/bin/php8.2" },
		{ .start = 0x20000,
		  .end = 0x30000,
		  .kind = MAPPING_FILE,
		  .path = "/lib/libother.so" },
	};
	const struct process p = { .maps = maps, .map_cnt = 2 };
	const struct snapshot s = { STACK, sizeof(words), (const uint8_t *)words, NULL };
	const struct sample sample = { .stack = s };
	const struct managed_query q = { &p, &sample, &s, false };
	struct runtime_layout l = fake__layout();
	struct code_walk w = { .query = &q, .layout = &l };
	struct managed_frame f = { .pc = 0x40100, .sp = STACK, .fp = 1 };

	(void)state;
	l.at[PHP_SAVED_FP] = 128;
	words[16] = 0x7777;
	words[19] = 0x10500;
	assert_int_equal(php.code->step(&w, &f), MANAGED_STEPPED);
	assert_int_equal(f.pc, 0x10500);
	assert_int_equal(f.sp, STACK + 160);
	assert_int_equal(f.fp, 0x7777);
	assert_true(f.hidden);
	f = (struct managed_frame){ .pc = 0x40100, .sp = STACK };
	words[19] = 0x20500;
	assert_int_equal(php.code->step(&w, &f), MANAGED_NONE);
	l.at[PHP_RETURN] = 0;
	assert_int_equal(php.code->step(&w, &f), MANAGED_NONE);
}

RUN_TESTS(cmocka_unit_test(reads_names_and_lines),
	  cmocka_unit_test(reads_a_function_that_is_gone_by_its_description),
	  cmocka_unit_test(rejects_a_function_that_has_become_another_one),
	  cmocka_unit_test(reads_functions_in_c),
	  cmocka_unit_test(names_what_has_no_name_of_its_own), cmocka_unit_test(cleans_names),
	  cmocka_unit_test(rejects_what_is_no_function),
	  cmocka_unit_test(bounds_what_claims_to_be_large),
	  cmocka_unit_test(finds_the_calls_and_the_frame_of_execute_ex),
	  cmocka_unit_test(waits_for_a_php_that_has_not_started),
	  cmocka_unit_test(names_versions_that_it_cannot_read),
	  cmocka_unit_test(reads_functions_of_each_version),
	  cmocka_unit_test(splits_where_c_has_called),
	  cmocka_unit_test(leaves_out_functions_in_c_that_c_has_called),
	  cmocka_unit_test(takes_the_leaf_from_registers_that_belong_to_it),
	  cmocka_unit_test(leaves_compiled_code_by_the_frame_of_execute_ex))
