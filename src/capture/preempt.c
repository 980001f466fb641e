// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/preempt.h"

#include <bpf/btf.h>
#include <string.h>

#include "bpf/arch.h" /* bpf/arch.h */

/* include/linux/preempt.h; SOFTIRQ is set while one is served, not while they are held off. Kernels
 * that count there, too, how often interrupts were switched off have the other layout. */
#define SOFTIRQ		 0x00000100
#define HARDIRQS	 0x000f0000
#define HARDIRQS_COUNTED 0x0f000000

/* Where a variable of each CPU lies among them, and its type; -1: there is none. */
static int64_t find_variable(const struct btf *btf, const char *name, uint32_t *type)
{
	int id = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *section = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (uint32_t i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *v = &btf_var_secinfos(section)[i];
		const struct btf_type *var = btf__type_by_id(btf, v->type);

		if (strcmp(btf__name_by_offset(btf, var->name_off), name) != 0)
			continue;
		*type = var->type;
		return v->offset;
	}
	return -1;
}

/* Where a member lies in a struct, in bytes, also in unnamed ones in it; -1: there is none. */
static int64_t find_member(const struct btf *btf, uint32_t type, const char *name)
{
	const struct btf_type *t = btf__type_by_id(btf, type);

	if (!t || !btf_is_composite(t))
		return -1;
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *called = btf__name_by_offset(btf, m->name_off);
		int64_t off = *called ? 0 : find_member(btf, m->type, name);

		if (off >= 0 && (!*called || !strcmp(called, name)))
			return btf_member_bit_offset(t, i) / 8 + off;
	}
	return -1;
}

static bool has_member(const struct btf *btf, const char *type, const char *name)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);

	return id > 0 && find_member(btf, (uint32_t)id, name) >= 0;
}

/* A variable of its own, but from 6.2 to 6.14 a member of pcpu_hot. */
static int64_t find_count(const struct btf *btf)
{
	uint32_t type;
	int64_t off = find_variable(btf, "__preempt_count", &type), member;

	if (off >= 0)
		return off;
	off = find_variable(btf, "pcpu_hot", &type);
	member = off < 0 ? -1 : find_member(btf, type, "preempt_count");
	return member < 0 ? -1 : off + member;
}

bool preempt_count__find(const struct btf *btf, struct preempt_count *out)
{
	uint32_t type;
	int64_t rq, count;
	bool counted = find_variable(btf, "local_interrupt_disable_state", &type) >= 0;

	out->from_rq = 0;
	out->interrupt_bits = SOFTIRQ | (counted ? HARDIRQS_COUNTED : HARDIRQS);
	if (ARCH_TASK_COUNTS_INTERRUPTS)
		return true;
	rq = find_variable(btf, "runqueues", &type);
	count = find_count(btf);

	if (rq < 0 || count < 0 || !has_member(btf, "sched_entity", "cfs_rq") ||
	    !has_member(btf, "cfs_rq", "rq") || !has_member(btf, "rq", "cpu"))
		return false;
	out->from_rq = count - rq;
	return true;
}
