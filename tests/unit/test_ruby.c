// SPDX-License-Identifier: GPL-2.0-or-later
/* What is read of Ruby's memory, which may hold anything. The C stack: test_ruby_stack.c. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>

#include "event/sample.h"
#include "lib/fakeruby.h"
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

/* Ruby 3.2 has the frame of 3.1 and the objects of 3.3. */
static void knows_the_frames_of_ruby_3_2(void **state)
{
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();

	(void)state;
	fake__vm(fd);
	fake__u32(fd, FAKE_API_VERSION + 4, 2);
	fake__word(fd, FAKE_NATIVE + 8, FAKE_SELF);
	assert_int_equal(locate(fd, exported, &l, &c), 0);
	assert_int_equal(l.version, 0x302);
	assert_int_equal(c.id_off, 8);
	assert_int_equal(c.frame_sz, 64);
	close(fd);
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

RUN_TESTS(cmocka_unit_test(reads_names_and_lines),
	  cmocka_unit_test(reads_positions_that_are_a_list),
	  cmocka_unit_test(takes_the_first_of_two_paths),
	  cmocka_unit_test(names_evaluated_code_as_what_is_around_it),
	  cmocka_unit_test(reads_methods_in_c), cmocka_unit_test(cleans_names),
	  cmocka_unit_test(rejects_what_is_no_function),
	  cmocka_unit_test(bounds_what_claims_to_be_large),
	  cmocka_unit_test(has_the_cookie_that_bpf_makes),
	  cmocka_unit_test(finds_the_place_with_and_without_the_symbol),
	  cmocka_unit_test(knows_the_frames_of_ruby_3_2),
	  cmocka_unit_test(waits_for_a_ruby_that_has_not_started),
	  cmocka_unit_test(names_an_unknown_version),
	  cmocka_unit_test(rejects_a_build_with_another_layout))
