// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/anyprobe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "bpf/config.h"
#include "capture/anyprobe_private.h"
#include "collector.skel.h"

int any_target__wrong(const struct any_target *t, const char *why)
{
	log__error("%s:%s: %s", t->source->probe, t->name, why);
	return -EINVAL;
}

/* ---- the sources ------------------------------------------------------------------------------
 */

static struct bpf_program *anyprobe_uprobe_program(struct collector_bpf *skel)
{
	return skel->progs.uprobe__hit;
}

static struct bpf_program *anyprobe_sdt_program(struct collector_bpf *skel)
{
	return skel->progs.sdt__hit;
}

static struct bpf_program *anyprobe_tracepoint_program(struct collector_bpf *skel)
{
	return skel->progs.tracepoint__hit;
}

static struct bpf_program *anyprobe_kprobe_program(struct collector_bpf *skel)
{
	return skel->progs.kprobe__hit;
}

static struct bpf_program *anyprobe_enter_program(struct collector_bpf *skel)
{
	return skel->progs.call__enter;
}

static struct bpf_program *anyprobe_return_program(struct collector_bpf *skel)
{
	return skel->progs.call__return;
}

static struct bpf_program *anyprobe_begin_program(struct collector_bpf *skel)
{
	return skel->progs.span__begin;
}

static struct bpf_program *anyprobe_end_program(struct collector_bpf *skel)
{
	return skel->progs.span__end;
}

static const struct any_source any_sources[] = {
	{ .probe = "uprobe", .find = any_places__function, .program = anyprobe_uprobe_program },
	{ .probe = "call",
	  .find = any_places__call,
	  .program = anyprobe_enter_program,
	  .at_return = anyprobe_return_program },
	{ .probe = "sdt", .find = any_places__note, .program = anyprobe_sdt_program },
	{ .probe = "span",
	  .find = any_places__span,
	  .program = anyprobe_begin_program,
	  .at_end = anyprobe_end_program },
	{ .probe = "tracepoint",
	  .find = any_places__tracepoint,
	  .program = anyprobe_tracepoint_program },
	{ .probe = "kprobe",
	  .find = any_places__kernel_function,
	  .program = anyprobe_kprobe_program },
};

#define SOURCE_CNT (sizeof(any_sources) / sizeof(*any_sources))

static const struct any_source *anyprobe_source_of(const struct probe_choice *choice)
{
	for (size_t i = 0; i < SOURCE_CNT; i++)
		if (!strcmp(any_sources[i].probe, choice->probe->name))
			return &any_sources[i];
	return NULL;
}

/* Ends the text at the mark. Returns what follows it, or NULL if there is none. */
static char *anyprobe_cut(char *mark)
{
	if (mark)
		*mark++ = '\0';
	return mark;
}

void any_wish__cut(struct any_wish *w)
{
	w->tests = anyprobe_cut(strchr(w->target->name, '?'));
	w->args = anyprobe_cut(strrchr(w->target->name, '='));
}

static int anyprobe_add_choice(struct any_probes *a, const struct probe_choice *choice, size_t idx)
{
	struct any_place *p = &a->places[idx];
	struct any_wish w = { .probes = a, .place = p, .target = &a->targets[idx] };

	w.target->source = anyprobe_source_of(choice);
	if (!w.target->source)
		return 0;
	w.target->name = strdup(choice->path);
	if (!w.target->name)
		return -ENOMEM;
	if (!w.target->source->at_end)
		any_wish__cut(&w);
	p->name = w.target->name;
	p->site.blank.choice = idx;
	p->site.how = (choice->stacks & PROBE_USER ? CAPTURE_USER : 0u) |
		      (choice->stacks & PROBE_KERNEL ? CAPTURE_KERNEL : 0u);
	return w.target->source->find(&w);
}

struct any_probes *any_probes__new(struct workers *workers, const struct probe_choice *choices,
				   size_t cnt)
{
	struct any_probes *a = calloc(1, sizeof(*a));
	int err = a ? 0 : -ENOMEM;

	if (a)
		a->workers = workers;
	for (size_t i = 0; i < cnt && !err; i++)
		err = anyprobe_add_choice(a, &choices[i], i);
	if (!err)
		return a;
	any_probes__free(a);
	return errno = -err, NULL;
}

const struct any_place *any_probes__place(const struct any_probes *a, uint64_t idx)
{
	return idx < PROBE_CHOICE_MAX && a->places[idx].name ? &a->places[idx] : NULL;
}

/* ---- the kernel's side ------------------------------------------------------------------------
 */

static int anyprobe_set_multi(struct bpf_program *prog)
{
	return bpf_program__set_expected_attach_type(prog,
						     (enum bpf_attach_type)UPROBES_ATTACH_MULTI);
}

int any_probes__prepare(struct any_probes *a, struct collector_bpf *skel, bool multi)
{
	int err = 0;

	a->multi = multi;
	for (size_t i = 0; i < PROBE_CHOICE_MAX; i++)
		skel->rodata->cfg.spans |= a->ends[i].source != NULL;
	for (size_t i = 0; i < SOURCE_CNT && multi && !err; i++) {
		const struct any_source *s = &any_sources[i];

		if (s->find == any_places__tracepoint || s->find == any_places__kernel_function)
			continue;
		err = anyprobe_set_multi(s->program(skel));
		if (!err && s->at_return)
			err = anyprobe_set_multi(s->at_return(skel));
		if (!err && s->at_end)
			err = anyprobe_set_multi(s->at_end(skel));
	}
	return err;
}

static int anyprobe_attach_tracepoint(struct any_target *t, struct bpf_program *prog)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_TRACEPOINT,
					.config = t->tracepoint_id };
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = t->site_idx);
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	int err = fd < 0 ? -errno : 0;

	if (!err && !(t->link = bpf_program__attach_perf_event_opts(prog, fd, &opts)))
		err = -errno;
	if (err && fd >= 0)
		close(fd);
	if (err)
		log__error("cannot attach to the tracepoint %s: %s", t->name, strerror(-err));
	return err;
}

static int anyprobe_attach_kernel_function(struct any_target *t, struct bpf_program *prog)
{
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .bpf_cookie = t->site_idx);
	int err;

	t->link = bpf_program__attach_kprobe_opts(prog, t->name, &opts);
	if (t->link)
		return 0;
	err = -errno;
	if (err == -ENOENT || err == -EADDRNOTAVAIL)
		return any_target__wrong(t, "the kernel has no such function");
	log__error("cannot attach to the function %s of the kernel: %s", t->name, strerror(-err));
	return err;
}

static int anyprobe_attach_to_kernel(struct any_target *t, struct bpf_program *prog)
{
	return t->tracepoint_id ? anyprobe_attach_tracepoint(t, prog)
				: anyprobe_attach_kernel_function(t, prog);
}

/* Returns come first: a call that is seen to begin is also seen to return. */
static int anyprobe_attach_to_returns(const struct any_probes *a, const struct any_target *t,
				      const struct bpf_program *prog)
{
	struct uprobe_places copy = { .when = UPROBES_RETURN };
	int err;

	buf__append(&copy.pc_offs, t->places.pc_offs.data, t->places.pc_offs.sz);
	buf__append(&copy.semaphore_offs, t->places.semaphore_offs.data,
		    t->places.semaphore_offs.sz);
	buf__append(&copy.cookies, t->places.cookies.data, t->places.cookies.sz);
	err = buf__err(&copy.pc_offs) || buf__err(&copy.semaphore_offs) || buf__err(&copy.cookies)
		      ? -ENOMEM
		      : uprobes__add(a->uprobes, prog, t->name, t->file->fd, &copy);
	buf__free(&copy.pc_offs);
	buf__free(&copy.semaphore_offs);
	buf__free(&copy.cookies);
	return err;
}

static int anyprobe_attach_target(const struct any_probes *a, struct any_target *t,
				  struct collector_bpf *skel)
{
	int err = 0;

	if (!t->source)
		return 0;
	if (!t->file)
		return anyprobe_attach_to_kernel(t, t->source->program(skel));
	if (t->source->at_return)
		err = anyprobe_attach_to_returns(a, t, t->source->at_return(skel));
	return err ? err
		   : uprobes__add(a->uprobes, t->source->program(skel), t->name, t->file->fd,
				  &t->places);
}

static int anyprobe_attach_end(const struct any_probes *a, struct any_target *t,
			       struct collector_bpf *skel)
{
	return t->source ? uprobes__add(a->uprobes, t->source->at_end(skel), t->name, t->file->fd,
					&t->places)
			 : 0;
}

int any_probes__attach(struct any_probes *a, struct collector_bpf *skel)
{
	int err = 0;

	for (uint32_t i = 0; i < a->site_cnt && !err; i++)
		err = bpf_map_update_elem(bpf_map__fd(skel->maps.any_sites), &i, &a->sites[i],
					  BPF_ANY);
	a->uprobes = uprobes__new(a->multi, "uprobe");
	if (!err && !a->uprobes)
		err = -errno;
	for (size_t i = 0; i < PROBE_CHOICE_MAX && !err; i++) {
		err = anyprobe_attach_end(a, &a->ends[i], skel);
		if (!err)
			err = anyprobe_attach_target(a, &a->targets[i], skel);
	}
	return err ? err : uprobes__attach(a->uprobes, skel->links.uprobes__locked);
}

bool any_probes__detach(struct any_probes *a)
{
	return !a || uprobes__detach(a->uprobes);
}

static void anyprobe_target_free(struct any_target *t)
{
	bpf_link__destroy(t->link);
	elf_file__put(t->file);
	buf__free(&t->places.pc_offs);
	buf__free(&t->places.semaphore_offs);
	buf__free(&t->places.cookies);
	free(t->name);
}

void any_probes__free(struct any_probes *a)
{
	if (!a)
		return;
	uprobes__free(a->uprobes);
	for (size_t i = 0; i < PROBE_CHOICE_MAX; i++) {
		anyprobe_target_free(&a->targets[i]);
		anyprobe_target_free(&a->ends[i]);
		free(a->span_names[i]);
	}
	free(a);
}
