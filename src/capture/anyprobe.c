// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/anyprobe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "bpf/config.h"
#include "capture/native.h"
#include "capture/tracepoint.h"
#include "capture/uprobes.h"
#include "capture/usdt_args.h"
#include "collector.skel.h"
#include "elf/namedsymbol.h"
#include "elf/sdt.h"

#define SYMBOLS_SZ_MAX (64u << 20) /* bytes of the symbols of a file */
#define PLACE_MAX      16384	   /* of one static probe */

struct any_wish;

/* A kind of places, and how one is found. */
struct any_source {
	const char *probe;
	int (*find)(const struct any_wish *); /* returns 0 or -errno (logged) */
	struct bpf_program *(*program)(struct collector_bpf *);
};

/* What a choice needs to be attached. */
struct any_target {
	char *name; /* the choice's text without its arguments; any_place.name */
	const struct any_source *source;
	struct elf_file *file; /* of uprobe, sdt */
	struct uprobe_places places;
	uint64_t tracepoint_id;
	uint32_t site_idx; /* of the tracepoint */
	struct bpf_link *link;
};

struct any_probes {
	bool multi;
	/* by the index of the choice: */
	struct any_place places[PROBE_CHOICE_MAX];
	struct any_target targets[PROBE_CHOICE_MAX];
	struct any_site sites[ANY_SITE_CNT]; /* of all, all different */
	uint32_t site_cnt;
	struct uprobes *uprobes; /* NULL: not attached */
};

/* How a choice is found. `args` follows the '=', or is NULL. */
struct any_wish {
	struct any_probes *probes;
	struct any_place *place; /* its site has the choice and the stacks */
	struct any_target *target;
	char *args;
};

/* ---- arguments --------------------------------------------------------------------------------
 */

/* The letters after '='. */
static const struct arg_letter {
	char letter;
	uint8_t sz, is_signed;
	uint32_t text;
} arg_letters[] = {
	{ 'd', 4, 1, ANY_NUMBER }, { 'u', 4, 0, ANY_NUMBER },  { 'l', 8, 1, ANY_NUMBER },
	{ 'p', 8, 0, ANY_NUMBER }, { 's', 8, 0, ANY_POINTER },
};

static const struct arg_letter *arg_letter__find(char c)
{
	for (size_t i = 0; i < sizeof(arg_letters) / sizeof(*arg_letters); i++)
		if (arg_letters[i].letter == c)
			return &arg_letters[i];
	return NULL;
}

static int wrong_letters(const struct any_wish *w)
{
	log__error("%s:%s=%s: expected up to %d letters, one for each argument that there is: "
		   "d int, u unsigned, l long, p pointer, s text, - none",
		   w->target->source->probe, w->target->name, w->args, EVENT_ARG_CNT);
	return -EINVAL;
}

/* Where a place has its arguments. */
struct found_args {
	struct usdt_arg at[EVENT_ARG_CNT];
	size_t cnt;
};

static void site_take(const struct any_wish *w, struct any_site *site, size_t i,
		      const struct any_arg *a)
{
	snprintf(w->place->names[i], sizeof(w->place->names[i]), "arg%zu", i + 1);
	site->args[i] = *a;
}

/* Returns 0 or -EINVAL (logged). */
static int apply_letters(const struct any_wish *w, const struct found_args *args,
			 struct any_site *site)
{
	for (size_t i = 0; w->args[i]; i++) {
		const struct arg_letter *l = arg_letter__find(w->args[i]);
		struct any_arg a = { 0 };

		if (i == args->cnt || (!l && w->args[i] != '-'))
			return wrong_letters(w);
		if (!l)
			continue;
		a.value = args->at[i];
		a.value.sz = a.value.sz < l->sz ? a.value.sz : l->sz;
		a.value.is_signed = l->is_signed;
		a.text = l->text;
		site_take(w, site, i, &a);
	}
	return 0;
}

/* A single text has all the room. */
static void set_wide(struct any_site *site)
{
	unsigned texts = 0;

	for (size_t i = 0; i < EVENT_ARG_CNT; i++)
		texts += site->args[i].text != ANY_NUMBER;
	site->wide = texts == 1;
}

/* Returns the index of the site; adds it if it is new. Returns -EFBIG if there is no room. */
static int add_site(const struct any_wish *w, struct any_site *site)
{
	struct any_probes *a = w->probes;

	set_wide(site);
	for (uint32_t i = 0; i < a->site_cnt; i++)
		if (memcmp(&a->sites[i], site, sizeof(*site)) == 0)
			return (int)i;
	if (a->site_cnt == ANY_SITE_CNT) {
		log__error("%s: its arguments are in too many places", w->target->name);
		return -EFBIG;
	}
	a->sites[a->site_cnt] = *site;
	return (int)a->site_cnt++;
}

/* ---- functions of programs --------------------------------------------------------------------
 */

static int wrong_target(const struct any_target *t, const char *why)
{
	log__error("%s:%s: %s", t->source->probe, t->name, why);
	return -EINVAL;
}

/* Opens PATH, the first path_sz bytes of the name. */
static int open_program(struct any_target *t, size_t path_sz)
{
	char *path = strndup(t->name, path_sz);
	int err = 0;

	if (!path)
		return -ENOMEM;
	t->file = elf_file__open(path);
	if (!t->file) {
		err = -errno;
		log__error("%s: %s", path,
			   err == -ENOEXEC ? "not a program or library (ELF)" : strerror(-err));
	} else if (t->file->machine != &machine_native) {
		err = wrong_target(t, "the program is for another architecture");
	}
	free(path);
	return err;
}

static int add_place(const struct any_wish *w, struct any_site *site, const struct sdt_place *place)
{
	struct uprobe_places *p = &w->target->places;
	int idx = add_site(w, site);

	if (idx < 0)
		return idx;
	buf__u64(&p->pc_offs, place->pc_off);
	buf__u64(&p->semaphore_offs, place->semaphore_off);
	buf__u64(&p->cookies, (uint64_t)idx);
	return buf__err(&p->pc_offs) || buf__err(&p->semaphore_offs) || buf__err(&p->cookies)
		       ? -ENOMEM
		       : 0;
}

/* Returns the file offset of code, or 0. */
static uint64_t code_off(const struct elf_file *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->segment_cnt; i++) {
		const struct elf_segment *s = &f->segments[i];

		if ((s->flags & PF_X) && vaddr >= s->vaddr && vaddr - s->vaddr < s->sz)
			return vaddr - s->vaddr + s->off;
	}
	return 0;
}

static int find_function(const struct any_wish *w)
{
	struct any_target *t = w->target;
	const char *colon = strrchr(t->name, ':');
	struct found_args args = { .cnt = EVENT_ARG_CNT };
	struct sdt_place place = { 0 };
	size_t left = SYMBOLS_SZ_MAX;
	int err = colon ? open_program(t, (size_t)(colon - t->name))
			: wrong_target(t, "expected PATH:FUNCTION");

	if (err)
		return err;
	place.pc_off = code_off(t->file, elf_symbol__find(t->file, colon + 1, &left));
	if (!place.pc_off)
		return wrong_target(t, "the file has no symbol of such a function");
	for (size_t i = 0; i < EVENT_ARG_CNT; i++) {
		const char *bad;

		usdt_args__parse(native__function_args[i], &args.at[i], 1, &bad);
	}
	err = w->args ? apply_letters(w, &args, &w->place->site) : 0;
	return err ? err : add_place(w, &w->place->site, &place);
}

/* ---- static probes ----------------------------------------------------------------------------
 */

struct note_search {
	const struct any_wish *wish;
	const char *provider, *name; /* the provider ends with ':' */
	struct any_site blank;	     /* without arguments */
	size_t cnt;		     /* places */
	size_t left_out;	     /* that cannot be read */
};

static bool is_note(const struct note_search *s, const struct sdt_note *n)
{
	size_t sz = (size_t)(s->name - 1 - s->provider);

	return strlen(n->provider) == sz && !strncmp(n->provider, s->provider, sz) &&
	       !strcmp(n->name, s->name);
}

/* Without letters, the arguments are numbers as the note describes them. */
static int fill_site(const struct any_wish *w, const struct found_args *args, struct any_site *site)
{
	if (w->args)
		return apply_letters(w, args, site);
	for (size_t i = 0; i < args->cnt; i++)
		site_take(w, site, i, &(struct any_arg){ .value = args->at[i] });
	return 0;
}

static int see_note(const struct sdt_note *n, void *arg)
{
	struct note_search *s = arg;
	struct any_site site = s->blank;
	struct found_args args = { .cnt = 0 };
	struct sdt_place place;
	const char *why;
	int err, cnt;

	if (!is_note(s, n))
		return 0;
	cnt = usdt_args__parse(n->args, args.at, EVENT_ARG_CNT, &why);
	if (cnt < 0 || sdt__place(s->wish->target->file, n, &place, &why) != 0 ||
	    s->cnt == PLACE_MAX) {
		s->left_out++;
		return 0;
	}
	args.cnt = cnt < EVENT_ARG_CNT ? (size_t)cnt : EVENT_ARG_CNT;
	err = fill_site(s->wish, &args, &site);
	if (!err)
		err = add_place(s->wish, &site, &place);
	if (s->cnt++ == 0)
		s->wish->place->site = site;
	return err;
}

/* Points .provider and .name into PATH:PROVIDER:NAME; returns the length of the path, or 0. */
static size_t split_sdt(const char *text, struct note_search *s)
{
	const char *name = strrchr(text, ':'), *provider = name;

	while (provider && provider > text && provider[-1] != ':')
		provider--;
	if (!provider || provider == text)
		return 0;
	s->name = name + 1;
	s->provider = provider;
	return (size_t)(provider - 1 - text);
}

static int find_notes(const struct any_wish *w)
{
	struct note_search s = { .wish = w, .blank = w->place->site };
	struct any_target *t = w->target;
	size_t path_sz = split_sdt(t->name, &s);
	int err =
		path_sz ? open_program(t, path_sz) : wrong_target(t, "expected PATH:PROVIDER:NAME");

	if (!err)
		err = sdt__each(t->file, see_note, &s);
	if (err == -ENOENT || (!err && !s.cnt))
		err = wrong_target(t, "the file has no such probe with readable arguments");
	if (!err && s.left_out)
		log__warn("%s:%s: %zu of its places cannot be read and are left out",
			  t->source->probe, t->name, s.left_out);
	return err;
}

/* ---- the sources ------------------------------------------------------------------------------
 */

static int find_tracepoint(const struct any_wish *w)
{
	static const char chars[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:";
	const char *name = w->target->name, *colon = strchr(name, ':');
	int err;

	if (!colon || name[strspn(name, chars)] || strchr(colon + 1, ':'))
		return wrong_target(w->target, "expected GROUP:NAME");
	err = tracepoint__describe(w->place, w->args, &w->target->tracepoint_id);
	if (err)
		return err;
	err = add_site(w, &w->place->site);
	w->target->site_idx = (uint32_t)err;
	return err < 0 ? err : 0;
}

static struct bpf_program *uprobe_program(struct collector_bpf *skel)
{
	return skel->progs.uprobe__hit;
}

static struct bpf_program *sdt_program(struct collector_bpf *skel)
{
	return skel->progs.sdt__hit;
}

static struct bpf_program *tracepoint_program(struct collector_bpf *skel)
{
	return skel->progs.tracepoint__hit;
}

static const struct any_source any_sources[] = {
	{ "uprobe", find_function, uprobe_program },
	{ "sdt", find_notes, sdt_program },
	{ "tracepoint", find_tracepoint, tracepoint_program },
};

#define SOURCE_CNT (sizeof(any_sources) / sizeof(*any_sources))

static const struct any_source *source_of(const struct probe_choice *choice)
{
	for (size_t i = 0; i < SOURCE_CNT; i++)
		if (!strcmp(any_sources[i].probe, choice->probe->name))
			return &any_sources[i];
	return NULL;
}

static int add_choice(struct any_probes *a, const struct probe_choice *choice, size_t idx)
{
	struct any_place *p = &a->places[idx];
	struct any_wish w = { .probes = a, .place = p, .target = &a->targets[idx] };

	w.target->source = source_of(choice);
	if (!w.target->source)
		return 0;
	w.target->name = strdup(choice->path);
	if (!w.target->name)
		return -ENOMEM;
	w.args = strrchr(w.target->name, '=');
	if (w.args)
		*w.args++ = '\0';
	p->name = w.target->name;
	p->site.blank.choice = idx;
	p->site.how = (choice->stacks & PROBE_USER ? CAPTURE_USER : 0u) |
		      (choice->stacks & PROBE_KERNEL ? CAPTURE_KERNEL : 0u);
	return w.target->source->find(&w);
}

struct any_probes *any_probes__new(const struct probe_choice *choices, size_t cnt)
{
	struct any_probes *a = calloc(1, sizeof(*a));
	int err = a ? 0 : -ENOMEM;

	for (size_t i = 0; i < cnt && !err; i++)
		err = add_choice(a, &choices[i], i);
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

int any_probes__prepare(struct any_probes *a, struct collector_bpf *skel, bool multi)
{
	int err = 0;

	a->multi = multi;
	for (size_t i = 0; i < SOURCE_CNT && multi && !err; i++)
		if (bpf_program__type(any_sources[i].program(skel)) == BPF_PROG_TYPE_KPROBE)
			err = bpf_program__set_expected_attach_type(
				any_sources[i].program(skel),
				(enum bpf_attach_type)UPROBES_ATTACH_MULTI);
	return err;
}

static int attach_tracepoint(struct any_target *t, struct bpf_program *prog)
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

static int attach_target(const struct any_probes *a, struct any_target *t,
			 struct collector_bpf *skel)
{
	struct bpf_program *prog;

	if (!t->source)
		return 0;
	prog = t->source->program(skel);
	return t->file ? uprobes__add(a->uprobes, prog, t->name, t->file->fd, &t->places)
		       : attach_tracepoint(t, prog);
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
	for (size_t i = 0; i < PROBE_CHOICE_MAX && !err; i++)
		err = attach_target(a, &a->targets[i], skel);
	return err ? err : uprobes__attach(a->uprobes, skel->links.uprobes__locked);
}

bool any_probes__detach(struct any_probes *a)
{
	return !a || uprobes__detach(a->uprobes);
}

void any_probes__free(struct any_probes *a)
{
	if (!a)
		return;
	uprobes__free(a->uprobes);
	for (size_t i = 0; i < PROBE_CHOICE_MAX; i++) {
		struct any_target *t = &a->targets[i];

		bpf_link__destroy(t->link);
		elf_file__put(t->file);
		buf__free(&t->places.pc_offs);
		buf__free(&t->places.semaphore_offs);
		buf__free(&t->places.cookies);
		free(t->name);
	}
	free(a);
}
