// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/capture_private.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "capture/diagnose.h"
#include "capture/feature.h"
#include "event/kind.h"

#define NS_PER_S 1000000000ull
/* Events are turned on and off this far in the future, so that all CPUs know by then. */
#define AHEAD_NS 1000000

/* ---- load ---------------------------------------------------------------------------------------
 */

/* Prints messages of any length in full, because the end of the verifier's log matters. */
static int __attribute__((format(printf, 2, 0)))
print_to_log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	return vfprintf(stderr, fmt, ap);
}

/* Makes a sampler for each program of a perf event. The parameter of its probe is the rate. */
static int capture_new_samplers(struct capture *c)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, c->skel->obj)
	{
		if (!bpf_program__autoload(prog) ||
		    bpf_program__type(prog) != BPF_PROG_TYPE_PERF_EVENT)
			continue;
		for (size_t i = 0; i < c->options.probe_cnt; i++) {
			const struct probe_choice *choice = &c->options.probes[i];

			if (!program__is_of(bpf_program__name(prog), choice->probe, c->ways[i]))
				continue;
			c->samplers[c->sampler_cnt] = sampler__new(prog, choice->param);
			if (!c->samplers[c->sampler_cnt])
				return -errno;
			c->sampler_cnt++;
		}
	}
	return 0;
}

static int capture_update_samplers(struct capture *c)
{
	int err = 0;

	for (size_t i = 0; i < c->sampler_cnt && !err; i++)
		err = sampler__update(c->samplers[i]);
	return err;
}

static void capture_say_refused(int err)
{
	struct features *f = features__new();

	if (!f || !(features__too_old(f) || features__err(f)))
		diagnose__load(err);
	features__free(f);
}

static int capture_load_programs(struct capture *c)
{
	int load_err = capture__begin_rings(c), err = load_err;

	if (!load_err) {
		load_err = collector_bpf__load(c->skel);
		err = capture__end_rings(c, load_err);
	}
	if (load_err)
		capture_say_refused(load_err);
	if (!err)
		err = capture__fill_bounce(c);
	return err ? err : capture_new_samplers(c);
}

struct capture *capture__new(const struct capture_options *options)
{
	struct capture *c = calloc(1, sizeof(*c));
	int cpu_cnt = options->cpu_cnt ? (int)options->cpu_cnt : libbpf_num_possible_cpus();
	int err;

	if (!c)
		return NULL;
	c->options = *options;
	c->epoll_fd = c->stats_fd = -1;
	libbpf_set_print(options->debug ? print_to_log : NULL);
	err = diagnose__start();
	if (!err)
		err = cpu_cnt < 0 ? cpu_cnt : 0;
	c->cpu_cnt = err ? 0 : (size_t)cpu_cnt;
	if (!err && !(c->usdt = usdt__new(options->workers, options->probes, options->probe_cnt)))
		err = -errno;
	if (!err &&
	    !(c->any = any_probes__new(options->workers, options->probes, options->probe_cnt)))
		err = -errno;
	if (!err && !(c->alloc = alloc__new(options->workers)))
		err = -errno;
	if (!err)
		err = capture__open_skeleton(c);
	if (!err)
		err = capture__new_rings(c);
	if (!err)
		return c;
	capture__free(c);
	errno = -err;
	return NULL;
}

bool capture__detach(struct capture *c)
{
	bool detached = !c || usdt__detach(c->usdt);

	detached &= !c || any_probes__detach(c->any);
	return (!c || alloc__detach(c->alloc)) && detached;
}

void capture__free(struct capture *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->sampler_cnt; i++)
		sampler__free(c->samplers[i]);
	if (c->skel)
		collector_bpf__detach(c->skel); /* what follows may take long */
	usdt__free(c->usdt);
	any_probes__free(c->any);
	alloc__free(c->alloc);
	collector_bpf__destroy(c->skel);
	capture__free_rings(c);
	free(c->skipped);
	if (c->stats_fd >= 0)
		close(c->stats_fd);
	free(c);
}

/* ---- attach, begin, end -------------------------------------------------------------------------
 */

/* The sampler attaches the program of a perf event; usdt attaches that of a uprobe, anyprobe.c that
 * of a tracepoint. */
static int capture_attach_program(const struct bpf_prog_skeleton *p)
{
	enum bpf_prog_type type = bpf_program__type(*p->prog);
	int err;

	if (bpf_program__fd(*p->prog) < 0 || type == BPF_PROG_TYPE_PERF_EVENT ||
	    type == BPF_PROG_TYPE_KPROBE || type == BPF_PROG_TYPE_TRACEPOINT)
		return 0;
	*p->link = bpf_program__attach(*p->prog);
	if (*p->link)
		return 0;
	err = -errno;
	log__error("cannot attach %s (%s): %s", p->name, bpf_program__section_name(*p->prog),
		   strerror(-err));
	return err;
}

/* Returns true if processes that do not exist yet may be recorded, other than a command. */
static bool capture_starts_processes(const struct capture *c)
{
	const struct capture_filter *f = &c->options.filter;

	return f->comm_cnt || f->cgroup_cnt;
}

static int capture_attach(struct capture *c)
{
	const struct bpf_object_skeleton *s = c->skel->skeleton;
	int err = 0;

	c->stats_fd =
		bpf_enable_stats(BPF_STATS_RUN_TIME); /* without CAP_SYS_ADMIN there are no costs */
	for (int i = 0; i < s->prog_cnt && !err;
	     i++) /* first, so that they see an exec before other programs do */
		err = capture__is_filter(s->progs[i].name) ? capture_attach_program(&s->progs[i])
							   : 0;
	if (!err)
		err = capture__fill_filter(c, &c->options.filter);
	for (int i = 0; i < s->prog_cnt && !err; i++)
		err = capture__is_filter(s->progs[i].name) ? 0
							   : capture_attach_program(&s->progs[i]);
	if (!err)
		err = usdt__attach(c->usdt, c->skel);
	if (!err)
		err = any_probes__attach(c->any, c->skel);
	if (!err)
		err = alloc__attach(c->alloc, c->skel, capture_starts_processes(c));
	return err ? err : capture_update_samplers(c);
}

const struct any_probes *capture__any_probes(const struct capture *c)
{
	return c->any;
}

int capture__load(struct capture *c)
{
	int err = capture_load_programs(c);

	return err ? err : capture_attach(c);
}

static void capture_wait_for(uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / NS_PER_S),
			       .tv_nsec = (long)(ns % NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* Waits until no program runs that has seen another state: one RCU grace period, about 10 ms. */
static void capture_wait_for_programs(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

int capture__begin(struct capture *c, uint64_t *begin_ns)
{
	int err = capture__scan_targets(c);

	if (!err)
		err = capture__scan_sockets(c);
	if (!err)
		err = capture__visit_threads(c, false);
	if (err)
		return err;
	*begin_ns = monotonic__ns() + AHEAD_NS;
	__atomic_store_n(&c->skel->bss->begin_ns, *begin_ns, __ATOMIC_RELEASE);
	capture_wait_for(*begin_ns);
	if (capture__visits_threads(c))
		capture_wait_for_programs();
	capture__report_skipped(c, NULL, NULL);
	return capture__visit_threads(c, true);
}

int capture__end(struct capture *c, uint64_t *end_ns)
{
	*end_ns = monotonic__ns() + AHEAD_NS;
	__atomic_store_n(&c->skel->bss->end_ns, *end_ns, __ATOMIC_RELEASE);
	capture_wait_for(*end_ns);
	capture_wait_for_programs();
	return capture__visit_threads(c, true);
}

int capture__set_runtime(struct capture *c, uint64_t ino, const struct capture_runtime *r)
{
	int fd = bpf_map__fd(c->skel->maps.runtimes);

	return bpf_map_update_elem(fd, &ino, r, BPF_ANY) ? -errno : 0;
}

void capture__thin(struct capture *c, const struct probe *p, uint32_t every)
{
	for (size_t k = 0; k < EVENT_KIND_CNT; k++)
		if (!strcmp(event_kind__probe((enum event_kind)k), p->name))
			__atomic_store_n(&c->skel->bss->thinning[k], every, __ATOMIC_RELAXED);
}

/* ---- bills --------------------------------------------------------------------------------------
 */

void capture__losses(struct capture *c, capture_loss_fn fn, void *arg)
{
	uint64_t ns = monotonic__ns();

	if (ns - c->checked_ns >= NS_PER_S) {
		c->checked_ns = ns;
		capture__open_rings(c);
		capture_update_samplers(c);
		capture__report_skipped(c, fn, arg);
	} else if (c->skel->bss->end_ns) {
		capture__report_skipped(c, fn, arg);
	}
	capture__report_losses(c, fn, arg);
}
