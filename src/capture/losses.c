// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts events that were lost before they reached a ring, or because a ring was full. */
#include "capture/capture_private.h"

#include <stdio.h>
#include <string.h>

#include "event/kind.h"

static const char *const loss_reasons[] = {
#define X(id, reason) [EVENT_LOST_##id] = reason,
	EVENT_LOSSES(X)
#undef X
};

/* Returns the first chosen probe that makes such events; for events of spans, usdt if both usdt and
 * span are chosen. The last row of the losses belongs to the filters. */
static const char *losses_probe_of(const struct capture *c, size_t kind)
{
	const char *name = kind == EVENT_KIND_CNT ? "filter"
						  : event_kind__probe((enum event_kind)kind),
		   *other = name;

	for (size_t i = 0; i < c->options.probe_cnt && kind < EVENT_KIND_CNT; i++) {
		const char *chosen = c->options.probes[i].probe->name;

		if (!strcmp(chosen, name))
			return name;
		if (event_kind__is_of((enum event_kind)kind, chosen))
			other = chosen;
	}
	return other;
}

/* Reports records with inconsistent sizes. Their kind is unknown. */
static void losses_report_malformed(struct capture *c, capture_loss_fn fn, void *arg)
{
	for (size_t cpu = 0; cpu < c->cpu_cnt; cpu++) {
		const struct capture_loss loss = { .probe = "ring",
						   .reason = "malformed",
						   .cpu = (uint32_t)cpu,
						   .cnt = ring__bad(c->rings[cpu]) - c->bad[cpu] };

		c->bad[cpu] += loss.cnt;
		if (loss.cnt)
			fn(&loss, arg);
	}
}

/* Reads the counts of all CPUs only if something was lost: reading them took a third of a drain
 * that finds nothing. */
void capture__report_losses(struct capture *c, capture_loss_fn fn, void *arg)
{
	const struct capture_losses *now = c->lost + c->cpu_cnt;
	struct capture_losses *before = c->lost;

	losses_report_malformed(c, fn, arg);
	if (!c->skel->bss->lossy)
		return;
	__atomic_store_n(&c->skel->bss->lossy, 0, __ATOMIC_SEQ_CST);
	if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.losses), &(uint32_t){ 0 },
				c->lost + c->cpu_cnt))
		return;
	for (size_t cpu = 0; cpu < c->cpu_cnt; cpu++) {
		for (size_t i = 0; i < (EVENT_KIND_CNT + 1) * EVENT_LOSS_CNT; i++) {
			size_t kind = i / EVENT_LOSS_CNT, why = i % EVENT_LOSS_CNT;
			const struct capture_loss loss = {
				.probe = losses_probe_of(c, kind),
				.reason = loss_reasons[why],
				.cpu = (uint32_t)cpu,
				.cnt = now[cpu].cnt[kind][why] - before[cpu].cnt[kind][why],
			};

			if (loss.cnt)
				fn(&loss, arg);
		}
		before[cpu] = now[cpu];
	}
}

static uint64_t losses_skipped(const struct bpf_program *prog)
{
	struct bpf_prog_info info = { 0 };
	uint32_t sz = sizeof(info);

	if (bpf_program__fd(prog) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &sz))
		return 0;
	return info.recursion_misses;
}

void capture__report_skipped(struct capture *c, capture_loss_fn fn, void *arg)
{
	const struct bpf_object_skeleton *s = c->skel->skeleton;

	for (int i = 0; i < s->prog_cnt; i++) {
		char probe[32];
		const struct capture_loss loss = {
			.probe = probe,
			.reason = loss_reasons[EVENT_LOST_NESTED],
			.cnt = losses_skipped(*s->progs[i].prog) - c->skipped[i],
		};

		c->skipped[i] += loss.cnt;
		if (!loss.cnt || !fn)
			continue;
		snprintf(probe, sizeof(probe), "%.*s", (int)strcspn(s->progs[i].name, "_"),
			 s->progs[i].name);
		fn(&loss, arg);
	}
}
