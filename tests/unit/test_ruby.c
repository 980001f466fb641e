// SPDX-License-Identifier: GPL-2.0-or-later
/* What is read of Ruby's memory, which may hold anything. */
#include "test.h"

#include <errno.h>
#include <stdio.h>

#include "event/sample.h"
#include "fakeruby.h"
#include "process/process.h"

static const uint64_t exported[] = { FAKE_API_VERSION, FAKE_OBJECT, FAKE_STDOUT, FAKE_VM_POINTER };
static const uint64_t stripped[] = { FAKE_API_VERSION, FAKE_OBJECT, FAKE_STDOUT, 0 };

static struct remote remote_of(int fd)
{
	return (struct remote){ .mem = fd, .left = 4 << 20 };
}

static int locate(int fd, const uint64_t *symbols, struct runtime_layout *l,
		  struct capture_runtime *c)
{
	struct remote r = remote_of(fd);

	*l = (struct runtime_layout){ .runtime = &ruby };
	return ruby.locate(&r, symbols, l, c);
}

static int read_at(int fd, uint64_t code, struct script_function *f)
{
	struct runtime_layout l = fake__layout();
	struct remote r = remote_of(fd);

	*f = (struct script_function){ 0 };
	return ruby.read(&r, &l, code, f);
}

/* ---- functions ----------------------------------------------------------------------------------
 */

/* The program counter is behind the instruction of word `word`. */
static uint32_t line_after(const struct script_function *f, unsigned word)
{
	uint32_t line;

	assert_true(script_function__line(f, FAKE_CODE + 8 * (word + 1), &line));
	return line;
}

static void reads_names_and_lines(void **state)
{
	struct script_function f;
	int fd = fake__new();
	uint32_t line;

	(void)state;
	fake__iseq(fd);
	assert_int_equal(read_at(fd, FAKE_ISEQ, &f), 0);
	assert_string_equal(f.script.name, "block in run");
	assert_string_equal(f.script.module, "/srv/app.rb");
	assert_int_equal(f.first_line, 10);
	assert_true(script_function__line(&f, FAKE_CODE, &line));
	assert_int_equal(line, 10);
	assert_int_equal(line_after(&f, 2), 10);
	assert_int_equal(line_after(&f, 3), 11);
	assert_int_equal(line_after(&f, 59), 11);
	assert_int_equal(line_after(&f, 60), 12);
	assert_int_equal(line_after(&f, 599), 12);
	assert_int_equal(line_after(&f, 600), 13);
	assert_int_equal(line_after(&f, 699), 13);
	assert_false(script_function__line(&f, FAKE_CODE + 8 * 701, &line));
	script_function__free(&f);
	close(fd);
}

static void reads_positions_that_are_a_list(void **state)
{
	static const uint32_t positions[] = { 0, 5, 7, 8 };
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__iseq(fd);
	fake__word(fd, FAKE_BODY + 120, FAKE_INDEX);
	fake__put(fd, FAKE_INDEX, positions, sizeof(positions));
	assert_int_equal(read_at(fd, FAKE_ISEQ, &f), 0);
	assert_int_equal(line_after(&f, 4), 10);
	assert_int_equal(line_after(&f, 5), 11);
	assert_int_equal(line_after(&f, 600), 13);
	script_function__free(&f);
	close(fd);
}

static void takes_the_first_of_two_paths(void **state)
{
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__iseq(fd);
	fake__word(fd, FAKE_BODY + 64, FAKE_TEXTS + 0x400);
	fake__word(fd, FAKE_TEXTS + 0x400, RUBY_TYPE_ARRAY | RUBY_FLAG_USER1);
	fake__word(fd, FAKE_TEXTS + 0x410, fake__text(fd, FAKE_TEXTS + 0x500, "app.rb"));
	assert_int_equal(read_at(fd, FAKE_ISEQ, &f), 0);
	assert_string_equal(f.script.module, "app.rb");
	script_function__free(&f);
	close(fd);
}

static void names_evaluated_code_as_what_is_around_it(void **state)
{
	enum { PARENT = FAKE_ISEQ + 0x200, BODY = FAKE_BODY + 0x400 };
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__iseq(fd);
	fake__u32(fd, FAKE_BODY, 6);
	fake__word(fd, FAKE_BODY + 160, PARENT);
	fake__word(fd, PARENT, FAKE_IMEMO(7));
	fake__word(fd, PARENT + 16, BODY);
	fake__word(fd, BODY + 80, fake__text(fd, FAKE_TEXTS + 0x600, "around"));
	assert_int_equal(read_at(fd, FAKE_ISEQ, &f), 0);
	assert_string_equal(f.script.name, "around");
	script_function__free(&f);
	/* around itself */
	fake__word(fd, FAKE_BODY + 160, FAKE_ISEQ);
	assert_int_equal(read_at(fd, FAKE_ISEQ, &f), 0);
	assert_string_equal(f.script.name, "block in run");
	script_function__free(&f);
	close(fd);
}

static void reads_methods_in_c(void **state)
{
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__vm(fd);
	fake__method(fd, FAKE_EACH << 4 | 1);
	assert_int_equal(read_at(fd, FAKE_METHOD | CAPTURE_RUBY_CFUNC, &f), 0);
	assert_string_equal(f.script.name, "each");
	assert_string_equal(f.script.module, "<cfunc>");
	assert_int_equal(f.start, 0x123456);
	script_function__free(&f);
	fake__method(fd, '+');
	assert_int_equal(read_at(fd, FAKE_METHOD | CAPTURE_RUBY_CFUNC, &f), 0);
	assert_string_equal(f.script.name, "+");
	script_function__free(&f);
	fake__method(fd, 77777);
	assert_int_not_equal(read_at(fd, FAKE_METHOD | CAPTURE_RUBY_CFUNC, &f), 0);
	close(fd);
}

static void cleans_names(void **state)
{
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__iseq(fd);
	fake__text(fd, FAKE_TEXTS + 0x100, "a\x1b[31m\xff");
	assert_int_equal(read_at(fd, FAKE_ISEQ, &f), 0);
	assert_null(strchr(f.script.name, '\x1b'));
	assert_null(strchr(f.script.name, '\xff'));
	script_function__free(&f);
	close(fd);
}

static void rejects_what_is_no_function(void **state)
{
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__iseq(fd);
	fake__word(fd, FAKE_ISEQ, FAKE_IMEMO(4)); /* a C block */
	assert_int_equal(read_at(fd, FAKE_ISEQ, &f), -EINVAL);
	fake__word(fd, FAKE_ISEQ, FAKE_IMEMO(7));
	fake__word(fd, FAKE_ISEQ + 16, ~0ull);
	assert_int_not_equal(read_at(fd, FAKE_ISEQ, &f), 0);
	assert_int_not_equal(read_at(fd, 0xffffffff00000000, &f), 0);
	assert_int_not_equal(read_at(fd, FAKE_ISEQ + 3, &f), 0);
	close(fd);
}

static void bounds_what_claims_to_be_large(void **state)
{
	struct script_function f;
	int fd = fake__new();
	uint32_t line;

	(void)state;
	fake__iseq(fd);
	fake__u32(fd, FAKE_BODY + 4, UINT32_MAX);	     /* words */
	fake__u32(fd, FAKE_BODY + 128, UINT32_MAX);	     /* entries */
	fake__word(fd, FAKE_TEXTS + 0x100 + 16, UINT64_MAX); /* bytes of the name */
	assert_int_equal(read_at(fd, FAKE_ISEQ, &f), 0);
	assert_int_equal(strncmp(f.script.name, "block in run", 12), 0);
	assert_in_range(script_function__memory(&f), 1, 65536);
	assert_true(script_function__line(&f, FAKE_CODE, &line));
	assert_int_equal(line, 0);
	script_function__free(&f);
	/* entries that are more than the index has */
	fake__u32(fd, FAKE_BODY + 4, 700);
	fake__u32(fd, FAKE_BODY + 128, 1000);
	assert_int_equal(read_at(fd, FAKE_ISEQ, &f), 0);
	assert_int_equal(f.cnt, 4);
	script_function__free(&f);
	close(fd);
}

static void has_the_cookie_that_bpf_makes(void **state)
{
	struct remote r;
	int fd = fake__new();

	(void)state;
	fake__vm(fd);
	fake__iseq(fd);
	fake__method(fd, '+');
	fake__word(fd, FAKE_BODY + 72, 7);
	r = remote_of(fd);
	assert_int_equal(ruby.cookie(&r, FAKE_ISEQ), EVENT_COOKIE(FAKE_BODY, FAKE_TEXTS, 7ull));
	assert_int_equal(ruby.cookie(&r, FAKE_METHOD | CAPTURE_RUBY_CFUNC),
			 EVENT_COOKIE((uint64_t)FAKE_DEF, 0ull, 0ull));
	assert_false(r.err);
	close(fd);
}

/* ---- where calls are ----------------------------------------------------------------------------
 */

static void check_place(int fd, const uint64_t *symbols)
{
	struct capture_runtime c;
	struct runtime_layout l;

	assert_int_equal(locate(fd, symbols, &l, &c), 0);
	assert_int_equal(l.version, 0x303);
	assert_int_equal(l.heaps, FAKE_SYMBOLS);
	assert_int_equal(c.state_off[0], -8);
	assert_int_equal(c.id_path[0], RUBY_EC_THREAD);
	assert_int_equal(c.id_path[1], 40);
	assert_int_equal(c.id_off, 16);
	assert_int_equal(c.frame_sz, 56);
}

static void finds_the_place_with_and_without_the_symbol(void **state)
{
	int fd = fake__new();

	(void)state;
	fake__vm(fd);
	check_place(fd, exported);
	check_place(fd, stripped);
	fake__word(fd, FAKE_SYMBOLS, 700); /* a program that has just started has few symbols */
	check_place(fd, stripped);
	close(fd);
}

static void waits_for_a_ruby_that_has_not_started(void **state)
{
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();

	(void)state;
	fake__vm(fd);
	fake__word(fd, FAKE_STDOUT, 0);
	assert_int_equal(locate(fd, exported, &l, &c), -EAGAIN);
	close(fd);
}

static void names_an_unknown_version(void **state)
{
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();
	char text[32];

	(void)state;
	fake__vm(fd);
	fake__u32(fd, FAKE_API_VERSION + 4, 0);
	assert_int_equal(locate(fd, exported, &l, &c), -ENOTSUP);
	ruby.print_version(l.version, text, sizeof(text));
	assert_string_equal(text, "3.0");
	close(fd);
}

static void rejects_a_build_with_another_layout(void **state)
{
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();

	(void)state;
	fake__vm(fd);
	fake__word(fd, FAKE_EC + RUBY_EC_THREAD, FAKE_THREAD + 8);
	assert_int_equal(locate(fd, exported, &l, &c), -ENOTSUP);
	fake__vm(fd);
	fake__text(fd, FAKE_IDS + 0x8000, "-"); /* symbols */
	assert_int_equal(locate(fd, exported, &l, &c), -ENOTSUP);
	close(fd);
}

/* ---- runs ---------------------------------------------------------------------------------------
 */

#define STACK	0x7fff0000ull
#define FINISH	0x20
#define IN_EXEC 0xfedcba9876543210ull /* program counters that setjmp() has encoded */
#define IN_ROOT 0x123456789abcdef0ull

static struct tag_stack {
	uint64_t words[512];
} stack_bytes;

static const struct snapshot stack = { STACK, sizeof(stack_bytes), (const uint8_t *)&stack_bytes,
				       NULL };

/* A struct rb_vm_tag every 64 words from the innermost one on. */
static void put_tag(size_t i, uint64_t pc, bool last)
{
	uint64_t *words = stack_bytes.words + 64 * i;

	words[9] = pc;
	words[27] = last ? 0 : STACK + 512 * (i + 1);
}

static uint64_t tag_at(size_t i)
{
	return STACK + 512 * i;
}

static size_t split(const struct event_call *calls, size_t cnt, struct runtime_run *runs)
{
	struct runtime_layout l = fake__layout();
	struct runtime_calls c = {
		.layout = &l, .stack = &stack, .base = STACK, .cnt = cnt, .calls = calls
	};

	return ruby.split(&c, runs);
}

static void splits_by_the_finishing_frame(void **state)
{
	const struct event_call calls[] = { { .at = 1 },
					    { .at = 2, .word = FINISH },
					    { .at = 3 },
					    { .at = 4, .word = FINISH },
					    { .at = 5 } };
	struct runtime_run runs[6];

	(void)state;
	memset(&stack_bytes, 0, sizeof(stack_bytes));
	put_tag(0, 0x55, false); /* rb_ensure() */
	put_tag(1, IN_EXEC, false);
	put_tag(2, IN_EXEC, false);
	put_tag(3, IN_ROOT, true);
	assert_int_equal(split(calls, 5, runs), 3);
	assert_int_equal(runs[0].cnt, 2);
	assert_int_equal(runs[0].anchor, tag_at(1));
	assert_int_equal(runs[1].first, 2);
	assert_int_equal(runs[1].cnt, 2);
	assert_int_equal(runs[1].anchor, tag_at(2));
	assert_int_equal(runs[2].anchor, 0);
}

static void leaves_out_an_activation_that_has_just_begun(void **state)
{
	const struct event_call calls[] = { { .at = 1, .word = FINISH },
					    { .at = 2, .word = FINISH } };
	struct runtime_run runs[3];

	(void)state;
	memset(&stack_bytes, 0, sizeof(stack_bytes));
	put_tag(0, IN_EXEC, false);
	put_tag(1, IN_ROOT, true);
	assert_int_equal(split(calls, 2, runs), 2);
	assert_int_equal(runs[0].anchor, 0);
	assert_int_equal(runs[1].anchor, tag_at(0));
}

static void reads_what_gcc_saves(void **state)
{
	const struct event_call calls[] = { { .at = 1, .word = FINISH } };
	struct runtime_run runs[2];

	(void)state;
	memset(&stack_bytes, 0, sizeof(stack_bytes));
	for (size_t i = 0; i < 2; i++) {
		uint64_t *words = stack_bytes.words + 64 * i;

		words[3] = i ? 0x400000 : 0x500000;
		words[4] = tag_at(i) - 16;
		words[7] = i ? 0 : tag_at(1);
	}
	assert_int_equal(split(calls, 1, runs), 1);
	assert_int_equal(runs[0].anchor, tag_at(0));
}

static void ends_with_tags_that_loop(void **state)
{
	const struct event_call calls[] = { { .at = 1, .word = FINISH } };
	struct runtime_run runs[2];

	(void)state;
	memset(&stack_bytes, 0, sizeof(stack_bytes));
	put_tag(0, IN_EXEC, false);
	put_tag(1, IN_ROOT, false);
	stack_bytes.words[64 + 27] = STACK;
	assert_int_equal(split(calls, 1, runs), 1);
	stack_bytes.words[27] = STACK;
	assert_int_equal(split(calls, 1, runs), 1);
}

/* ---- out of compiled code -----------------------------------------------------------------------
 */

static enum managed_result step_at(const uint64_t *words, size_t cnt, struct managed_frame *f)
{
	static struct mapping maps[] = {
		{ .start = 0x10000,
		  .end = 0x20000,
		  .kind = MAPPING_FILE,
		  .path = "/lib/libruby-3.3.so.3.3" },
		{ .start = 0x20000, .end = 0x30000, .kind = MAPPING_ANON, .path = "" },
		{ .start = 0x30000,
		  .end = 0x40000,
		  .kind = MAPPING_FILE,
		  .path = "/lib/libother.so" },
	};
	const struct process p = { .maps = maps, .map_cnt = 3 };
	const struct snapshot s = { STACK, cnt * 8, (const uint8_t *)words, NULL };
	const struct sample sample = { .stack = s };
	const struct managed_query q = { &p, &sample, &s, false };
	struct code_walk w = { .query = &q };

	*f = (struct managed_frame){ .pc = 0x20100, .sp = STACK, .fp = STACK + 24 };
	return ruby.code->step(&w, f);
}

static void leaves_compiled_code_by_an_address_in_ruby(void **state)
{
	const uint64_t words[] = { 1, 0x20500, 0x30100, 0x7777, 0x10500, 0x10600 };
	const uint64_t other[] = { 1, 0x20500, 0x30100, 0x7777 };
	struct managed_frame f;

	(void)state;
	assert_int_equal(step_at(words, 6, &f), MANAGED_STEPPED);
	assert_int_equal(f.pc, 0x10500);
	assert_int_equal(f.sp, STACK + 40);
	assert_int_equal(f.fp, 0x7777); /* saved where the frame pointer was */
	assert_true(f.hidden);
	assert_int_equal(step_at(other, 4, &f), MANAGED_NONE);
}

/* ---- waits
 * ----------------------------------------------------------------------------------------
 */

/* The stack of pthread_cond_wait() of glibc. */
static bool waits_with(uint64_t version, uint64_t cond, uint64_t mutex)
{
	const uint64_t frame = 0x7000, at = frame + 8 * 7;
	const uint64_t words[16] = { [1] = frame + 8 * 3, /* the clean-up buffer */
				     [3] = 0x7f0000001000, [4] = at,	[7] = 107,
				     [8] = cond,	   [9] = mutex, [10] = 0x7f0000000000 };
	const struct snapshot part = { frame, sizeof(words), (const uint8_t *)words, NULL };
	struct runtime_layout l = fake__layout();

	l.at[RUBY_THREAD_NATIVE] = version > 0x301 ? 40 : RUBY_NONE;
	return ruby__waits_for_turn(&l, &part, (struct stack_part){ frame, frame + sizeof(words) });
}

static void a_wait_for_its_turn_has_the_mutex_of_the_vm(void **state)
{
	(void)state;
	assert_true(waits_with(0x301, 0x55000010a018, 0x550000109008));
	assert_true(waits_with(0x301, 0x55000010a018, 0x5500001f0008));
	assert_false(waits_with(0x301, 0x55000010a018, 0x55000010a070)); /* the thread's own */
	assert_false(waits_with(0x301, 0x55000010a018, 0x7008));	 /* no mutex */
	assert_false(waits_with(0x301, 0, 0x5500001f0008));
	assert_false(waits_with(0x303, 0x55000010a018, 0x5500001f0008));
}

static void a_stack_that_is_cut_has_no_wait(void **state)
{
	const uint64_t words[3] = { 0x7010, 0x7008, 0x7ff8 };
	const struct snapshot part = { 0x7000, sizeof(words), (const uint8_t *)words, NULL };
	struct runtime_layout l = fake__layout();

	(void)state;
	l.at[RUBY_THREAD_NATIVE] = RUBY_NONE;
	assert_false(ruby__waits_for_turn(&l, &part, (struct stack_part){ 0x7000, UINT64_MAX }));
	assert_false(ruby__waits_for_turn(&l, &part, (struct stack_part){ 0x9000, 0x8000 }));
}

RUN_TESTS(cmocka_unit_test(a_wait_for_its_turn_has_the_mutex_of_the_vm),
	  cmocka_unit_test(a_stack_that_is_cut_has_no_wait),
	  cmocka_unit_test(leaves_compiled_code_by_an_address_in_ruby),
	  cmocka_unit_test(reads_names_and_lines),
	  cmocka_unit_test(reads_positions_that_are_a_list),
	  cmocka_unit_test(takes_the_first_of_two_paths),
	  cmocka_unit_test(names_evaluated_code_as_what_is_around_it),
	  cmocka_unit_test(reads_methods_in_c), cmocka_unit_test(cleans_names),
	  cmocka_unit_test(rejects_what_is_no_function),
	  cmocka_unit_test(bounds_what_claims_to_be_large),
	  cmocka_unit_test(has_the_cookie_that_bpf_makes),
	  cmocka_unit_test(finds_the_place_with_and_without_the_symbol),
	  cmocka_unit_test(waits_for_a_ruby_that_has_not_started),
	  cmocka_unit_test(names_an_unknown_version),
	  cmocka_unit_test(rejects_a_build_with_another_layout),
	  cmocka_unit_test(splits_by_the_finishing_frame),
	  cmocka_unit_test(leaves_out_an_activation_that_has_just_begun),
	  cmocka_unit_test(reads_what_gcc_saves), cmocka_unit_test(ends_with_tags_that_loop))
