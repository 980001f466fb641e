// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens the skeleton, chooses the programs and maps to load, and sets their constants and sizes. */
#include "capture/capture_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "capture/feature.h"
#include "capture/native.h"
#include "event/kind.h"

#define NS_PER_S       1000000000ull
#define FILTER_PREFIX  "filter__"
#define LOCKED_PROGRAM "uprobes__locked"

static uint32_t skeleton_how_of(unsigned stacks)
{
	return (stacks & PROBE_USER ? CAPTURE_USER : 0) |
	       (stacks & PROBE_KERNEL ? CAPTURE_KERNEL : 0);
}

static void skeleton_set_probe(struct capture *c, const struct probe_choice *choice)
{
	struct capture_config *cfg = &c->skel->rodata->cfg;

	for (size_t kind = 0; kind < EVENT_KIND_CNT; kind++) {
		if (strcmp(event_kind__probe((enum event_kind)kind), choice->probe->name))
			continue;
		cfg->how[kind] = skeleton_how_of(choice->stacks);
		cfg->param[kind] = choice->param;
	}
}

static void skeleton_say_chosen(const struct probe_choice *choice, const char *way)
{
	log__debug("%s: %s user stacks, %s kernel stacks%s%s", choice->probe->name,
		   choice->stacks & PROBE_USER ? "with" : "no",
		   choice->stacks & PROBE_KERNEL ? "with" : "no", way ? ", by way of " : "",
		   way ? way : "");
}

/* Leaves out probes that `all` named and the kernel lacks. For a probe that was named itself this
 * is an error. */
static int skeleton_choose_ways(struct capture *c, struct features *f)
{
	int err = 0;

	for (size_t i = 0; i < c->options.probe_cnt && !err; i++) {
		const struct probe_choice *choice = &c->options.probes[i];

		err = features__choose(f, c->skel->obj, choice->probe, &c->ways[i]);
		if (features__err(f))
			return features__err(f);
		c->left_out[i] = err && choice->optional;
		if (c->left_out[i]) {
			log__info("%s is left out: %s", choice->probe->name, features__why(f));
			err = 0;
		} else if (err) {
			log__error("%s: %s", choice->probe->name, features__why(f));
		} else {
			skeleton_say_chosen(choice, c->ways[i]);
		}
	}
	return err;
}

static bool skeleton_records(const struct capture *c, const char *probe)
{
	for (size_t i = 0; i < c->options.probe_cnt; i++) {
		if (!c->left_out[i] && !strcmp(c->options.probes[i].probe->name, probe))
			return true;
	}
	return false;
}

/* Returns the chosen way of a probe that has ways; NULL: it is not recorded. */
static const char *skeleton_way_of(const struct capture *c, const char *probe)
{
	for (size_t i = 0; i < c->options.probe_cnt; i++) {
		if (!c->left_out[i] && !strcmp(c->options.probes[i].probe->name, probe))
			return c->ways[i];
	}
	return NULL;
}

/* Returns false for a map that is named like a probe's programs, if the probe is not recorded: it
 * then needs no memory. */
static bool skeleton_is_used(const struct capture *c, const char *map)
{
	for (const struct probe *p = probes; p->name; p++) {
		if (program__is_of(map, p, NULL))
			return skeleton_records(c, p->name) ||
			       (!strcmp(p->name, "usdt") && skeleton_records(c, "span"));
	}
	return true;
}

bool capture__is_filter(const char *name)
{
	return !strncmp(name, FILTER_PREFIX, strlen(FILTER_PREFIX));
}

static bool skeleton_is_wanted(const struct capture *c, const char *name)
{
	if (capture__is_filter(name))
		return c->skel->rodata->cfg.who;
	if (!strcmp(name, LOCKED_PROGRAM))
		return skeleton_records(c, "usdt") || skeleton_records(c, "alloc") ||
		       skeleton_records(c, "uprobe") || skeleton_records(c, "sdt") ||
		       skeleton_records(c, "call") || skeleton_records(c, "span");
	for (size_t i = 0; i < c->options.probe_cnt; i++) {
		if (!c->left_out[i] && program__is_of(name, c->options.probes[i].probe, c->ways[i]))
			return true;
	}
	return false;
}

static bool skeleton_tells_interrupts(const struct capture *c)
{
	for (size_t i = 0; i < c->options.probe_cnt; i++) {
		if (c->options.probes[i].probe->tells_interrupts)
			return true;
	}
	return false;
}

static void skeleton_set_preempt_count(struct capture_config *cfg, struct features *f)
{
	struct preempt_count count;

	if (!features__preempt_count(f, &count))
		return;
	cfg->preempt_count_off = count.from_rq;
	cfg->interrupt_bits = count.interrupt_bits;
}

/* Sets what differs between kernels. */
static void skeleton_set_arguments(const struct capture *c, struct features *f)
{
	struct capture_config *cfg = &c->skel->rodata->cfg;

	if (skeleton_tells_interrupts(c))
		skeleton_set_preempt_count(cfg, f);
	if (skeleton_records(c, "switch")) /* preempt, prev, next, and prev's state from 5.18 on */
		cfg->has_prev_state = features__tracepoint_args(f, "sched_switch") >= 4;
	if (skeleton_records(c, "tcp")) {
		cfg->retransmit_has_error = features__tracepoint_args(f, "tcp_retransmit_skb") >= 3;
		cfg->accept_args = (uint32_t)features__function_args(f, "inet_accept");
	}
}

static int skeleton_choose_programs(struct capture *c, struct features *f)
{
	struct bpf_program *prog;
	struct bpf_map *map;
	int err = skeleton_choose_ways(c, f);

	skeleton_set_arguments(c, f);
	bpf_object__for_each_program(prog, c->skel->obj)
		bpf_program__set_autoload(prog, skeleton_is_wanted(c, bpf_program__name(prog)) &&
							!features__leaves_out(f, prog));
	bpf_object__for_each_map(map, c->skel->obj)
		bpf_map__set_autocreate(map, skeleton_is_used(c, bpf_map__name(map)));
	return features__err(f) ? features__err(f) : err;
}

/* A slot has room for a stack and one page more: the verifier does not see that a copy by pages
 * ends with the stack. */
static int skeleton_set_sizes(struct capture *c)
{
	uint32_t cpu_cnt = (uint32_t)c->cpu_cnt;
	int err;

	c->slot_sz = sizeof(struct capture_slot) + CAPTURE_BEFORE_RUNTIME(c->options.stack_sz) +
		     CAPTURE_RUNTIME_SZ + CAPTURE_PAGE;
	err = bpf_map__set_max_entries(c->skel->maps.scratch, cpu_cnt);
	if (!err)
		err = bpf_map__set_max_entries(c->skel->maps.rings, cpu_cnt);
	if (!err)
		err = bpf_map__set_max_entries(c->skel->maps.offsets, cpu_cnt);
	return err;
}

/* Sets what the options decide. */
static int skeleton_set_options(struct capture *c)
{
	struct capture_config *cfg = &c->skel->rodata->cfg;
	int err;

	cfg->cpu_cnt = (uint32_t)c->cpu_cnt;
	cfg->stack_sz = c->options.stack_sz;
	cfg->page_sz = (uint32_t)sysconf(_SC_PAGESIZE);
	cfg->signal_fpu_sz = native__signal_fpu_sz();
	cfg->wakeup_sz = c->options.ring_sz / 4;
	cfg->runtimes = c->options.runtimes;
	cfg->thins = c->options.thins;
	cfg->pace_ns = c->options.max_rate ? NS_PER_S / c->options.max_rate : 0;
	for (size_t i = 0; i < c->options.probe_cnt; i++)
		skeleton_set_probe(c, &c->options.probes[i]);
	err = capture__set_filter(c, &c->options.filter);
	return err ? err : skeleton_set_sizes(c);
}

/* Prepares the programs that this kernel can run. */
static int skeleton_prepare_programs(struct capture *c, struct features *f)
{
	int err = skeleton_choose_programs(c, f);
	bool multi = features__uprobe_multi(f);

	if (!err)
		err = capture__set_bounce(c, f);
	if (!err)
		err = usdt__prepare(c->usdt, c->skel, skeleton_records(c, "usdt") && multi);
	if (!err)
		err = any_probes__prepare(c->any, c->skel, multi);
	if (!err)
		err = alloc__prepare(c->alloc, c->skel, skeleton_way_of(c, "alloc"), multi);
	return err;
}

int capture__open_skeleton(struct capture *c)
{
	struct features *f;
	int err;

	c->skel = collector_bpf__open();
	if (!c->skel)
		return -errno;
	c->skipped = calloc((size_t)c->skel->skeleton->prog_cnt, sizeof(*c->skipped));
	if (!c->skipped)
		return -ENOMEM;
	err = skeleton_set_options(c);
	if (err)
		return err;
	f = features__new();
	if (!f)
		return -errno;
	err = skeleton_prepare_programs(c, f);
	features__free(f);
	return err;
}
