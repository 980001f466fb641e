// SPDX-License-Identifier: GPL-2.0-or-later
/* The counter of interrupts in the types of several kernels. */
#include "lib/test.h"

#include <bpf/btf.h>
#include <linux/btf.h>

#include "capture/preempt.h"

#define RUNQUEUES 0x1000
#define SOFTIRQ	  0x100

struct kernel {
	struct btf *btf;
	int type_int, rq;
};

static int add_struct(const struct kernel *k, const char *name, const char *member, int type)
{
	int id = btf__add_struct(k->btf, name, 8);

	assert_true(id > 0);
	assert_int_equal(btf__add_field(k->btf, member, type, 0, 0), 0);
	return id;
}

/* The path from a task to its CPU's run queue. */
static struct kernel kernel__new(const char *member)
{
	struct kernel k = { .btf = btf__new_empty() };
	int id;

	assert_non_null(k.btf);
	k.type_int = btf__add_int(k.btf, "int", 4, BTF_INT_SIGNED);
	k.rq = add_struct(&k, "rq", "cpu", k.type_int);
	id = add_struct(&k, "cfs_rq", "rq", btf__add_ptr(k.btf, k.rq));
	add_struct(&k, "sched_entity", member, btf__add_ptr(k.btf, id));
	return k;
}

struct variable {
	const char *name;
	int type;
	uint32_t off;
};

static void add_variables(const struct kernel *k, const struct variable *v, size_t cnt)
{
	int ids[8];

	for (size_t i = 0; i < cnt; i++)
		ids[i] = btf__add_var(k->btf, v[i].name, BTF_VAR_GLOBAL_ALLOCATED, v[i].type);
	assert_true(btf__add_datasec(k->btf, ".data..percpu", 0x4000) > 0);
	for (size_t i = 0; i < cnt; i++)
		assert_int_equal(btf__add_datasec_var_info(k->btf, ids[i], v[i].off, 8), 0);
}

static void the_count_is_a_variable(void **state)
{
	struct kernel k = kernel__new("cfs_rq");
	struct preempt_count count;

	(void)state;
	assert_false(preempt_count__find(k.btf, &count));
	add_variables(&k,
		      (struct variable[]){ { "__preempt_count", k.type_int, 0x40 },
					   { "cpu_number", k.type_int, 0x80 },
					   { "runqueues", k.rq, RUNQUEUES } },
		      3);
	assert_true(preempt_count__find(k.btf, &count));
	assert_int_equal(count.from_rq, 0x40 - RUNQUEUES);
	assert_int_equal(count.interrupt_bits, SOFTIRQ | 0xf0000);
	btf__free(k.btf);
}

/* From 6.2 to 6.14: in a struct in a union in it. */
static void the_count_is_a_member_of_pcpu_hot(void **state)
{
	struct kernel k = kernel__new("cfs_rq");
	int inner = btf__add_struct(k.btf, NULL, 16), outer, hot;
	struct preempt_count count;

	(void)state;
	btf__add_field(k.btf, "current_task", k.type_int, 0, 0);
	btf__add_field(k.btf, "preempt_count", k.type_int, 64, 0);
	outer = btf__add_union(k.btf, NULL, 64);
	btf__add_field(k.btf, NULL, inner, 0, 0);
	hot = btf__add_struct(k.btf, "pcpu_hot", 64);
	btf__add_field(k.btf, NULL, outer, 0, 0);
	add_variables(&k,
		      (struct variable[]){ { "runqueues", k.rq, RUNQUEUES },
					   { "pcpu_hot", hot, 0x2000 } },
		      2);
	assert_true(preempt_count__find(k.btf, &count));
	assert_int_equal(count.from_rq, 0x2000 + 8 - RUNQUEUES);
	btf__free(k.btf);
}

static void the_count_is_beside_that_of_disabled_interrupts(void **state)
{
	struct kernel k = kernel__new("cfs_rq");
	struct preempt_count count;

	(void)state;
	add_variables(&k,
		      (struct variable[]){ { "__preempt_count", k.type_int, 0x40 },
					   { "local_interrupt_disable_state", k.type_int, 0x80 },
					   { "runqueues", k.rq, RUNQUEUES } },
		      3);
	assert_true(preempt_count__find(k.btf, &count));
	assert_int_equal(count.interrupt_bits, SOFTIRQ | 0xf000000);
	btf__free(k.btf);
}

/* CONFIG_FAIR_GROUP_SCHED is off. */
static void the_run_queue_may_be_unreachable(void **state)
{
	struct kernel k = kernel__new("my_q");
	struct preempt_count count;

	(void)state;
	add_variables(&k,
		      (struct variable[]){ { "__preempt_count", k.type_int, 0x40 },
					   { "runqueues", k.rq, RUNQUEUES } },
		      2);
	assert_false(preempt_count__find(k.btf, &count));
	btf__free(k.btf);
}

RUN_TESTS(cmocka_unit_test(the_count_is_a_variable),
	  cmocka_unit_test(the_count_is_a_member_of_pcpu_hot),
	  cmocka_unit_test(the_count_is_beside_that_of_disabled_interrupts),
	  cmocka_unit_test(the_run_queue_may_be_unreachable))
