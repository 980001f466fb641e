// SPDX-License-Identifier: GPL-2.0-or-later
/* uprobe, tracepoint, sdt: places that the user chose, with up to four arguments or fields. */
#include "bpf/anysite.h"
#include "bpf/emit.bpf.h"
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
	__u32 sz = a->sz, unused_bits;
	__u64 v = 0;

	if (sz > sizeof(v) || bpf_probe_read_kernel(&v, sz, record + (__u16)a->add))
		return 0;
	unused_bits = 64 - 8 * sz;
	v <<= unused_bits;
	return a->is_signed ? (__u64)((__s64)v >> unused_bits) : v >> unused_bits;
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

static __always_inline void read_fields(const void *ctx, const struct any_site *site,
					struct event_args *out)
{
#pragma unroll
	for (int i = 0; i < EVENT_ARG_CNT; i++) {
		const void *from;

		if (!site->args[i].value.sz)
			continue;
		out->values[i] = read_field(ctx, &site->args[i].value);
		if (site->args[i].text == ANY_NUMBER)
			continue;
		from = (const void *)out->values[i];
		if (site->args[i].text == ANY_INLINE)
			from = ctx + (__u16)site->args[i].value.add;
		else if (site->args[i].text == ANY_LOCATED)
			from = ctx + (__u16)out->values[i];
		out->values[i] = read_text_at(site, out, i, from);
	}
}

static __always_inline void read_args(const void *ctx, const struct any_site *site,
				      struct event_args *out)
{
#pragma unroll
	for (int i = 0; i < EVENT_ARG_CNT; i++) {
		if (!site->args[i].value.sz)
			continue;
		out->values[i] = read_arg(ctx, &site->args[i].value);
		if (site->args[i].text != ANY_NUMBER)
			out->values[i] = read_text_at(site, out, i, (const void *)out->values[i]);
	}
}

static __always_inline struct capture_slot *capture_site(void *ctx, struct task_struct *task,
							 const struct any_site *site, __u32 kind)
{
	const struct emission row = { .time_ns = bpf_ktime_get_ns(),
				      .kind = kind,
				      .cpu = bpf_get_smp_processor_id(),
				      .runnable_ns = ~0ULL,
				      .detail = EVENT_DETAIL_ARGS,
				      .detail_data = &site->blank,
				      .detail_sz = sizeof(site->blank) };

	if (!capturing(row.time_ns) || !recorded(task))
		return NULL;
	switch (site->how) {
	case CAPTURE_USER: return event__capture(ctx, task, &row, CAPTURE_USER);
	case CAPTURE_KERNEL: return event__capture(ctx, task, &row, CAPTURE_KERNEL);
	case CAPTURE_USER | CAPTURE_KERNEL:
		return event__capture(ctx, task, &row, CAPTURE_USER | CAPTURE_KERNEL);
	}
	return event__capture(ctx, task, &row, 0);
}

static __always_inline const struct any_site *any_site_of(void *ctx)
{
	__u32 idx = bpf_get_attach_cookie(ctx);

	return bpf_map_lookup_elem(&any_sites, &idx);
}

static __always_inline int hit_code(struct pt_regs *ctx, __u32 kind)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct any_site *site = any_site_of(ctx);
	struct capture_slot *slot = site ? capture_site(ctx, task, site, kind) : NULL;

	if (!slot)
		return 0;
	if (slot->event.detail_sz == sizeof(struct event_args))
		read_args(ctx, site, (struct event_args *)slot->event.data);
	event__send(slot, slot->event.time_ns);
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

SEC("?tracepoint")
int tracepoint__hit(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct any_site *site = any_site_of(ctx);
	struct capture_slot *slot;

	if (!site)
		return 0;
	slot = capture_site(ctx, task, site, EVENT_TRACEPOINT);
	if (!slot)
		return 0;
	if (slot->event.detail_sz == sizeof(struct event_args))
		read_fields(ctx, site, (struct event_args *)slot->event.data);
	event__send(slot, slot->event.time_ns);
	return 0;
}
