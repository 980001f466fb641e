// SPDX-License-Identifier: GPL-2.0-or-later
/* Features of the kernel, and the messages for missing ones. */
#include "lib/test.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "capture/feature.h"
#include "bpf/config.h"
#include "collector.skel.h"

static int needs_btf(void **state)
{
	(void)state;
	log__init("test_feature", LOG_ERROR);
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		print_message("needs a kernel with BTF (/sys/kernel/btf/vmlinux)\n");
		skip();
	}
	return 0;
}

static void programs_belong_to_a_probe_and_a_way(void **state)
{
	const struct probe plain = { .name = "exec" },
			   ways = { .name = "vfs", .ways = { "fentry" } };

	(void)state;
	assert_true(program__is_of("exec__fork", &plain, NULL));
	assert_false(program__is_of("execs__fork", &plain, NULL));
	assert_false(program__is_of("exec_fork", &plain, NULL));
	assert_false(program__is_of("exec", &plain, NULL));
	assert_true(program__is_of("vfs__fentry__read", &ways, "fentry"));
	assert_false(program__is_of("vfs__syscalls__enter", &ways, "fentry"));
	assert_false(program__is_of("vfs__fentry", &ways, "fentry"));
	assert_true(program__is_of("vfs__any__scan", &ways, "fentry"));
}

static bool is_of_some_way(const char *program, const struct probe *p)
{
	bool is_of = !p->ways[0] && program__is_of(program, p, NULL);

	for (int i = 0; i < PROBE_WAY_MAX && p->ways[i]; i++)
		is_of |= program__is_of(program, p, p->ways[i]);
	return is_of;
}

/* Every program of ours belongs to exactly one probe, or to the filters, or to those that attach
 * uprobes. */
static void no_program_is_left_over(void **state)
{
	struct collector_bpf *skel = collector_bpf__open();
	struct bpf_program *prog;

	(void)state;
	assert_non_null(skel);
	bpf_object__for_each_program(prog, skel->obj)
	{
		const char *name = bpf_program__name(prog);
		int owners = !strncmp(name, "filter__", 8) || !strcmp(name, "uprobes__locked");

		for (const struct probe *p = probes; p->name; p++)
			owners += is_of_some_way(name, p);
		if (owners != 1)
			print_message("%s\n", name);
		assert_int_equal(owners, 1);
	}
	collector_bpf__destroy(skel);
}

static void tracepoints_have_arguments(void **state)
{
	struct features *f = features__new();

	(void)state;
	assert_non_null(f);
	assert_in_range(features__tracepoint_args(f, "sched_switch"), 3, 4);
	assert_int_equal(features__tracepoint_args(f, "no_such_tracepoint"), 0);
	assert_int_equal(features__function_args(f, "vfs_read"), 4);
	assert_int_equal(features__function_args(f, "no_such_function"), 0);
	features__free(f);
}

RUN_TESTS(cmocka_unit_test(programs_belong_to_a_probe_and_a_way),
	  cmocka_unit_test(no_program_is_left_over),
	  cmocka_unit_test_setup(tracepoints_have_arguments, needs_btf))
