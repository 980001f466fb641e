// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * uprobe, sdt, kprobe, tracepoint: places that the user chose, with up to four arguments or fields.
 *
 * `of_tracepoint` is a constant in all functions: `ctx` is the record of a tracepoint, not the
 * registers at a probe.
 */
#include "bpf/anysite.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/usdt_arg.bpf.h"

#define WIDE_TEXT_SZ (EVENT_ARG_CNT * EVENT_ARG_TEXT_SZ)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct any_site);
	__uint(max_entries, ANY_SITE_CNT);
} any_sites SEC(".maps");

static __noinline __u64 read_field(const void *record, const struct usdt_arg *a)
{
	__u32 sz = a->sz;
	__u64 v = 0;

	if (sz > sizeof(v) || bpf_probe_read_kernel(&v, sz, record + (__u16)a->add))
		return 0;
	return extend(v, sz, a->is_signed);
}

static __always_inline __u64 value_of(const void *ctx, const struct any_arg *a, bool of_tracepoint)
{
	return of_tracepoint ? read_field(ctx, &a->value) : read_arg(ctx, &a->value);
}

/* Returns the address of the text of an argument that has this value. */
static __always_inline const void *text_of(const void *ctx, const struct any_arg *a, __u64 v,
					   bool of_tracepoint)
{
	if (of_tracepoint && a->text == ANY_INLINE)
		return ctx + (__u16)a->value.add;
	if (of_tracepoint && a->text == ANY_LOCATED)
		return ctx + (__u16)v;
	return (const void *)v;
}

/* Never reads the kernel's memory at an address that a program may have chosen. */
static __always_inline long read_text(char *to, __u32 sz, const void *from, __u32 text)
{
	return text == ANY_POINTER ? bpf_probe_read_user_str(to, sz, from)
				   : bpf_probe_read_kernel_str(to, sz, from);
}

static __always_inline __u64 read_text_at(const struct any_site *site, struct event_args *out,
					  int i, const void *from)
{
	__u32 text = site->args[i].text;
	long n;

	if (site->wide)
		n = read_text(out->text[0], WIDE_TEXT_SZ, from, text);
	else
		n = read_text(out->text[i], EVENT_ARG_TEXT_SZ, from, text);
	return n > 0 ? n : 0;
}

static __always_inline void read_args(const void *ctx, const struct any_site *site,
				      struct capture_slot *slot, bool of_tracepoint)
{
	struct event_args *out = (struct event_args *)slot->event.data;

	if (slot->event.detail_sz != sizeof(*out))
		return;
#pragma unroll
	for (int i = 0; i < EVENT_ARG_CNT; i++) {
		const struct any_arg *a = &site->args[i];
		__u64 v;

		if (!a->value.sz)
			continue;
		v = value_of(ctx, a, of_tracepoint);
		if (a->text != ANY_NUMBER)
			v = read_text_at(site, out, i, text_of(ctx, a, v, of_tracepoint));
		out->values[i] = v;
	}
}

__hidden void any_site__read(const void *ctx, const struct any_site *site,
			     struct capture_slot *slot)
{
	read_args(ctx, site, slot, false);
}

/* ---- tests --------------------------------------------------------------------------------------
 */

static __always_inline bool compare(__u64 op, __s64 order)
{
	switch (op) {
	case ANY_EQ: return order == 0;
	case ANY_NE: return order != 0;
	case ANY_LT: return order < 0;
	case ANY_LE: return order <= 0;
	case ANY_GT: return order > 0;
	case ANY_GE: return order >= 0;
	}
	return true;
}

static __always_inline __s64 order_of(__u64 a, __u64 b, bool is_signed)
{
	if (is_signed)
		return ((__s64)a > (__s64)b) - ((__s64)a < (__s64)b);
	return (a > b) - (a < b);
}

/* A text that cannot be read passes no test. */
static __noinline bool text_passes(const struct any_test *t, const void *from, __u32 text)
{
	__u64 words[ANY_TEST_WORD_CNT] = {};
	__u64 other = 0;

	if (read_text((char *)words, sizeof(words), from, text) <= 0)
		return false;
#pragma unroll
	for (int i = 0; i < ANY_TEST_WORD_CNT; i++)
		other |= (words[i] ^ t->value[i]) & t->mask[i];
	return compare(t->op, other != 0);
}

static __always_inline bool value_passes(const struct any_test *t, const struct any_arg *a, __u64 v,
					 const void *text)
{
	if (a->text != ANY_NUMBER)
		return text_passes(t, text, a->text);
	return compare(t->op, order_of(v, t->value[0], a->value.is_signed));
}

static __always_inline bool args_pass(const void *ctx, const struct any_site *site,
				      bool of_tracepoint)
{
	for (int i = 0; i < ANY_TEST_CNT; i++) {
		const struct any_test *t = &site->tests[i];
		const struct any_arg *a;
		__u32 subject = t->subject;
		__u64 v;

		if (!t->op)
			break;
		if (subject >= EVENT_ARG_CNT)
			continue;
		a = &site->args[subject];
		v = value_of(ctx, a, of_tracepoint);
		if (!value_passes(t, a, v, text_of(ctx, a, v, of_tracepoint)))
			return false;
	}
	return true;
}

__hidden bool any_site__passes(const void *ctx, const struct any_site *site)
{
	return args_pass(ctx, site, false);
}

__hidden bool any_site__passes_number(const struct any_site *site, __u64 subject, __u64 v)
{
	bool is_signed = subject == ANY_RESULT && site->result.is_signed;

	for (int i = 0; i < ANY_TEST_CNT; i++) {
		const struct any_test *t = &site->tests[i];

		if (t->op && t->subject == subject &&
		    !compare(t->op, order_of(v, t->value[0], is_signed)))
			return false;
	}
	return true;
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

__hidden struct capture_slot *any_site__capture(void *ctx, struct task_struct *task,
						const struct any_site *site, struct emission *row)
{
	row->cpu = bpf_get_smp_processor_id();
	row->runnable_ns = ~0ULL;
	row->detail = EVENT_DETAIL_ARGS;
	row->detail_data = &site->blank;
	row->detail_sz = sizeof(site->blank);
	switch (site->how) { /* event__capture() needs a constant */
	case CAPTURE_USER: return event__capture(ctx, task, row, CAPTURE_USER);
	case CAPTURE_KERNEL: return event__capture(ctx, task, row, CAPTURE_KERNEL);
	case CAPTURE_USER | CAPTURE_KERNEL:
		return event__capture(ctx, task, row, CAPTURE_USER | CAPTURE_KERNEL);
	}
	return event__capture(ctx, task, row, 0);
}

__hidden const struct any_site *any_site__of(void *ctx)
{
	__u32 idx = bpf_get_attach_cookie(ctx);

	return bpf_map_lookup_elem(&any_sites, &idx);
}

static __always_inline int hit_code(struct pt_regs *ctx, __u32 kind)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct any_site *site = any_site__of(ctx);
	struct emission row = { .time_ns = bpf_ktime_get_ns(), .kind = kind };
	struct capture_slot *slot;

	if (!site || !capturing(row.time_ns) || !recorded(task) || !any_site__passes(ctx, site))
		return 0;
	slot = any_site__capture(ctx, task, site, &row);
	if (!slot)
		return 0;
	any_site__read(ctx, site, slot);
	event__send(slot, row.time_ns);
	return 0;
}

SEC("?uprobe")
int uprobe__hit(struct pt_regs *ctx)
{
	return hit_code(ctx, EVENT_UPROBE);
}

SEC("?uprobe")
int sdt__hit(struct pt_regs *ctx)
{
	return hit_code(ctx, EVENT_SDT);
}

SEC("?kprobe")
int kprobe__hit(struct pt_regs *ctx)
{
	return hit_code(ctx, EVENT_KPROBE);
}

SEC("?tracepoint")
int tracepoint__hit(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct any_site *site = any_site__of(ctx);
	struct emission row = { .time_ns = bpf_ktime_get_ns(), .kind = EVENT_TRACEPOINT };
	struct capture_slot *slot;

	if (!site || !capturing(row.time_ns) || !recorded(task) || !args_pass(ctx, site, true))
		return 0;
	slot = any_site__capture(ctx, task, site, &row);
	if (!slot)
		return 0;
	read_args(ctx, site, slot, true);
	event__send(slot, row.time_ns);
	return 0;
}
