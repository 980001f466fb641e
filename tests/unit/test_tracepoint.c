// SPDX-License-Identifier: GPL-2.0-or-later
/* The fields of tracepoints, as tracefs describes them. */
#include "lib/test.h"

#include <errno.h>
#include <string.h>

#include "capture/tracepoint.h"

#define COMMON                                                                 \
	"name: x\nID: 1\nformat:\n"                                            \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char exec_format[] =
	COMMON "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
	       "\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n"
	       "\tfield:char comm[16];\toffset:16;\tsize:16;\tsigned:0;\n"
	       "\tfield:u8 bytes[6];\toffset:32;\tsize:6;\tsigned:0;\n"
	       "\tfield:__data_loc u32[] list;\toffset:40;\tsize:4;\tsigned:0;\n"
	       "\tfield:const char * name;\toffset:48;\tsize:8;\tsigned:0;\n"
	       "\tfield:bool flag;\toffset:56;\tsize:1;\tsigned:0;\n"
	       "\nprint fmt: \"field:int no;\toffset:0;\", REC->pid\n";

static const char openat_format[] =
	COMMON "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	       "\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
	       "\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
	       "\tfield:umode_t mode;\toffset:40;\tsize:8;\tsigned:0;\n";

static void check_arg(const struct any_place *p, size_t i, const char *name,
		      const struct any_arg *want)
{
	const struct any_arg *a = &p->site.args[i];

	assert_string_equal(p->names[i], name);
	assert_int_equal(a->value.add, want->value.add);
	assert_int_equal(a->value.sz, want->value.sz);
	assert_int_equal(a->value.is_signed, want->value.is_signed);
	assert_int_equal(a->text, want->text);
}

#define ARG(off, bytes, sign, what) \
	(&(struct any_arg){ .value = { .add = off, .sz = bytes, .is_signed = sign }, .text = what })

static void the_first_fields_that_are_numbers_or_texts_are_taken(void **state)
{
	struct tracepoint_wish wish = { 0 };
	struct any_place p = { 0 };
	const char *wrong;

	(void)state;
	assert_int_equal(tracepoint__parse(exec_format, &wish, &p, &wrong), 4);
	check_arg(&p, 0, "filename", ARG(8, 4, 0, ANY_LOCATED));
	check_arg(&p, 1, "pid", ARG(12, 4, 1, ANY_NUMBER));
	check_arg(&p, 2, "comm", ARG(16, 1, 0, ANY_INLINE));
	check_arg(&p, 3, "name", ARG(48, 8, 0, ANY_KERNEL));
}

/* The kernel records arguments of system calls as words. */
static void arguments_of_system_calls_are_those_of_the_program(void **state)
{
	struct tracepoint_wish wish = { .users = true };
	struct any_place p = { 0 };
	const char *wrong;

	(void)state;
	assert_int_equal(tracepoint__parse(openat_format, &wish, &p, &wrong), 3);
	check_arg(&p, 0, "dfd", ARG(16, 4, 1, ANY_NUMBER));
	check_arg(&p, 1, "filename", ARG(24, 8, 0, ANY_POINTER));
	check_arg(&p, 2, "mode", ARG(40, 8, 0, ANY_NUMBER));
}

static void fields_are_chosen_by_name(void **state)
{
	struct tracepoint_wish wish = { .fields = "flag+common_pid" };
	struct any_place p = { 0 };
	const char *wrong;

	(void)state;
	assert_int_equal(tracepoint__parse(exec_format, &wish, &p, &wrong), 2);
	check_arg(&p, 0, "flag", ARG(56, 1, 0, ANY_NUMBER));
	check_arg(&p, 1, "common_pid", ARG(4, 4, 1, ANY_NUMBER));
}

static void other_fields_are_refused(void **state)
{
	static const char *const fields[] = {
		"", "pi", "pid+", "bytes", "list", "no", "pid+pid+pid+pid+pid"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		struct tracepoint_wish wish = { .fields = fields[i] };
		struct any_place p = { 0 };
		const char *wrong;

		assert_int_equal(tracepoint__parse(exec_format, &wish, &p, &wrong), -EINVAL);
	}
}

RUN_TESTS(cmocka_unit_test(the_first_fields_that_are_numbers_or_texts_are_taken),
	  cmocka_unit_test(arguments_of_system_calls_are_those_of_the_program),
	  cmocka_unit_test(fields_are_chosen_by_name), cmocka_unit_test(other_fields_are_refused))
