// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/usdt.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "capture/uprobes.h"
#include "capture/usdt_args.h"
#include "bpf/config.h"
#include "collector.skel.h"
#include "elf/sdttask.h"

#define PROVIDER  "stacks_tracing"
#define PLACE_MAX 16384 /* of one probe in one file: each counts in a semaphore of 16 bits */
#define SITE_MAX  1024	/* different sites: locations of the arguments */
#define NAMES_SZ  256

/* In the order of attaching: a thread that is seen to enter is also seen to leave. */
enum { CLOSE, EXIT_STACK, EXIT, ENTER, USDT_PROBE_CNT };

static const struct {
	const char *name;
	size_t arg_cnt;
} usdt_probes[USDT_PROBE_CNT] = {
	[CLOSE] = { "close", 1 },
	[EXIT_STACK] = { "exit_stack", 1 },
	[EXIT] = { "exit", 1 },
	[ENTER] = { "enter", USDT_ARG_CNT },
};

struct target {
	struct elf_file *file;
	const struct probe_choice *choice;
	struct uprobe_places places[USDT_PROBE_CNT];
};

struct usdt {
	struct uprobes *uprobes; /* NULL: not attached */
	struct target targets[PROBE_CHOICE_MAX];
	size_t target_cnt;
	struct buf sites;	 /* struct usdt_site, all different */
	struct workers *workers; /* read the files; borrowed, until they are read; NULL: none */
	bool multi;
	bool calls; /* the kernel turns long nops into calls */
};

static size_t places__cnt(const struct uprobe_places *p)
{
	return p->pc_offs.sz / sizeof(uint64_t);
}

static size_t usdt__site_cnt(const struct usdt *u)
{
	return u->sites.sz / sizeof(struct usdt_site);
}

/* ---- reading ------------------------------------------------------------------------------------
 */

/* The reading of one file's notes. */
struct usdt_reading {
	struct usdt *usdt;
	struct target *target;
	char others[NAMES_SZ]; /* its probes of other providers */
	bool ours, said;
	size_t left_out; /* places that cannot be read; below, what is wrong with the first */
	const char *bad_probe, *bad_arg;
};

static void usdt_note_other(struct usdt_reading *r, const struct sdt_note *n)
{
	size_t used = strlen(r->others);

	snprintf(r->others + used, sizeof(r->others) - used, "%s%s:%s", used ? ", " : "",
		 n->provider, n->name);
}

static int usdt_lies(struct usdt_reading *r, const struct sdt_note *n, const char *why)
{
	r->said = true;
	log__error("%s: the note of the probe " PROVIDER ":%s is invalid: %s",
		   r->target->choice->path, n->name, why);
	return -EBADMSG;
}

/* Returns the index of the site in `sites`; adds it if it is new. */
static uint64_t usdt_site_idx(struct buf *sites, const struct usdt_site *site)
{
	size_t cnt = sites->sz / sizeof(*site), i = 0;

	while (i < cnt && memcmp(sites->data + i * sizeof(*site), site, sizeof(*site)) != 0)
		i++;
	if (i == cnt)
		buf__append(sites, site, sizeof(*site));
	return i;
}

static int usdt_add_place(struct usdt_reading *r, struct uprobe_places *p,
			  const struct sdt_place *place, const struct usdt_site *site)
{
	uint64_t user = r->target->choice->stacks & PROBE_USER ? USDT_COOKIE_USER : 0;

	if (places__cnt(p) == PLACE_MAX || usdt__site_cnt(r->usdt) == SITE_MAX) {
		log__error("%s: its probes are in too many places, or their arguments are",
			   r->target->choice->path);
		r->said = true;
		return -EFBIG;
	}
	buf__u64(&p->pc_offs, r->usdt->calls && place->call_off ? place->call_off : place->pc_off);
	buf__u64(&p->semaphore_offs, place->semaphore_off);
	buf__u64(&p->cookies, usdt_site_idx(&r->usdt->sites, site) | user);
	if (buf__err(&p->pc_offs) || buf__err(&p->semaphore_offs) || buf__err(&p->cookies) ||
	    buf__err(&r->usdt->sites))
		return -ENOMEM;
	return 0;
}

static int usdt_read_probe(struct usdt_reading *r, int probe, const struct sdt_note *n)
{
	struct usdt_site site = { 0 };
	struct sdt_place place;
	const char *why, *bad;
	int err = sdt__place(r->target->file, n, &place, &why), cnt;

	if (err)
		return usdt_lies(r, n, why);
	cnt = usdt_args__parse(n->args, site.args, usdt_probes[probe].arg_cnt, &bad);
	if (cnt < 0) {
		if (r->left_out++ == 0) {
			r->bad_probe = n->name;
			r->bad_arg = bad;
		}
		return 0;
	}
	if ((size_t)cnt < usdt_probes[probe].arg_cnt)
		return usdt_lies(r, n, "it has too few arguments");
	return usdt_add_place(r, &r->target->places[probe], &place, &site);
}

static int usdt_see_note(const struct sdt_note *n, void *arg)
{
	struct usdt_reading *r = arg;

	if (strcmp(n->provider, PROVIDER) != 0) {
		usdt_note_other(r, n);
		return 0;
	}
	r->ours = true;
	for (int i = 0; i < USDT_PROBE_CNT; i++) {
		if (!strcmp(n->name, usdt_probes[i].name))
			return usdt_read_probe(r, i, n);
	}
	return 0;
}

#define HOW_TO "; programs get them from stacks_tracing.h"

static void usdt_say_what_is_missing(const struct usdt_reading *r, int err)
{
	const char *path = r->target->choice->path;

	if (err == -ENOENT)
		log__error("%s: no USDT probes (no section .note.stapsdt)" HOW_TO, path);
	else if (err == -EFBIG)
		log__error("%s: the section .note.stapsdt is too large", path);
	else if (err == -EBADMSG)
		log__error("%s: the section .note.stapsdt is malformed", path);
	else if (err)
		log__error("%s: %s", path, strerror(-err));
	else if (!r->ours)
		log__error("%s: no probes of the provider " PROVIDER HOW_TO "; it has %s", path,
			   r->others);
	else
		log__error("%s: no readable probe " PROVIDER ":enter", path);
}

static void usdt_say_left_out(const struct usdt_reading *r)
{
	log__warn("%s: %zu %s left out of its probes: the argument '%.*s' of " PROVIDER
		  ":%s is in no register and at no address",
		  r->target->choice->path, r->left_out,
		  r->left_out == 1 ? "place is" : "places are", (int)strcspn(r->bad_arg, " "),
		  r->bad_arg, r->bad_probe);
}

static int usdt_read_notes(struct usdt *u, struct target *t)
{
	struct usdt_reading r = { .usdt = u, .target = t };
	int err = sdt_task__each(u->workers, t->file, usdt_see_note, &r);

	if (r.left_out)
		usdt_say_left_out(&r);
	if (!err && places__cnt(&t->places[ENTER]))
		return 0;
	if (!r.said)
		usdt_say_what_is_missing(&r, err);
	return err ? err : -ENOENT;
}

/* ---- files --------------------------------------------------------------------------------------
 */

/* Returns what is wrong with the file; NULL: nothing. */
static const char *usdt_refusal(const struct usdt *u, const struct elf_file *f)
{
	if (f->section_table.entry_sz == sizeof(Elf32_Shdr))
		return "32-bit programs are not supported";
	if (f->machine != &machine_native)
		return "the program is for another architecture";
	for (size_t i = 0; i < u->target_cnt; i++) {
		if (u->targets[i].file->dev == f->dev && u->targets[i].file->ino == f->ino)
			return "named twice";
	}
	return NULL;
}

static int usdt_add_target(struct usdt *u, const struct probe_choice *choice)
{
	struct elf_file *f = elf_file__open(choice->path);
	int err = f ? 0 : -errno;
	const char *why = err == -ENOEXEC ? "not a program or library (ELF)"
			  : err		  ? strerror(-err)
					  : usdt_refusal(u, f);
	struct target *t = &u->targets[u->target_cnt];

	if (why) {
		log__error("%s: %s", choice->path, why);
		elf_file__put(f);
		return err ? err : -EINVAL;
	}
	*t = (struct target){ .file = f, .choice = choice };
	u->target_cnt++;
	return usdt_read_notes(u, t);
}

#define SYS_UPROBE 336 /* arch/x86/entry/syscalls/syscall_64.tbl, from 6.18 on */

/* Returns true if the kernel has the system call in which such a call ends. It refuses all other
 * callers. */
static bool usdt_has_calls(void)
{
	return syscall(SYS_UPROBE) < 0 && errno == ENXIO;
}

struct usdt *usdt__new(struct workers *workers, const struct probe_choice *choices, size_t cnt)
{
	struct usdt *u = calloc(1, sizeof(*u));
	int err = u ? 0 : -ENOMEM;

	if (u) {
		u->calls = usdt_has_calls();
		u->workers = workers;
	}
	for (size_t i = 0; i < cnt && !err; i++) {
		if (choices[i].probe->param == PROBE_PATH)
			err = usdt_add_target(u, &choices[i]);
	}
	if (!err)
		return u;
	usdt__free(u);
	errno = -err;
	return NULL;
}

static void usdt_target_free(struct target *t)
{
	elf_file__put(t->file);
	for (int i = 0; i < USDT_PROBE_CNT; i++) {
		buf__free(&t->places[i].pc_offs);
		buf__free(&t->places[i].semaphore_offs);
		buf__free(&t->places[i].cookies);
	}
}

bool usdt__detach(struct usdt *u)
{
	return !u || uprobes__detach(u->uprobes);
}

void usdt__free(struct usdt *u)
{
	if (!u)
		return;
	uprobes__free(u->uprobes);
	for (size_t i = 0; i < u->target_cnt; i++)
		usdt_target_free(&u->targets[i]);
	buf__free(&u->sites);
	free(u);
}

/* ---- the kernel's side --------------------------------------------------------------------------
 */

static struct bpf_program *usdt_program_of(struct collector_bpf *skel, int probe)
{
	struct bpf_program *const progs[USDT_PROBE_CNT] = {
		[CLOSE] = skel->progs.usdt__close,
		[EXIT_STACK] = skel->progs.usdt__exit_stack,
		[EXIT] = skel->progs.usdt__exit,
		[ENTER] = skel->progs.usdt__enter,
	};

	return progs[probe];
}

int usdt__prepare(struct usdt *u, struct collector_bpf *skel, bool multi)
{
	uint32_t site_cnt = (uint32_t)usdt__site_cnt(u),
		 span_max = u->target_cnt ? USDT_SPAN_MAX : 1;
	int err = bpf_map__set_max_entries(skel->maps.usdt_sites, site_cnt ? site_cnt : 1);

	if (!err)
		err = bpf_map__set_max_entries(skel->maps.spans, span_max);
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.places, span_max);
	u->multi = multi;
	skel->rodata->cfg.spans = u->target_cnt > 0;
	for (int i = 0; i < USDT_PROBE_CNT && multi && !err; i++)
		err = bpf_program__set_expected_attach_type(
			usdt_program_of(skel, i), (enum bpf_attach_type)UPROBES_ATTACH_MULTI);
	return err;
}

static int usdt_attach_target(struct usdt *u, struct target *t, struct collector_bpf *skel)
{
	int err = 0;

	for (int i = 0; i < USDT_PROBE_CNT && !err; i++) {
		if (places__cnt(&t->places[i]))
			err = uprobes__add(u->uprobes, usdt_program_of(skel, i), t->choice->path,
					   t->file->fd, &t->places[i]);
	}
	return err;
}

int usdt__attach(struct usdt *u, struct collector_bpf *skel)
{
	int err = 0;

	for (uint32_t i = 0; i < usdt__site_cnt(u) && !err; i++) {
		const struct usdt_site *sites = (const void *)u->sites.data;

		err = bpf_map_update_elem(bpf_map__fd(skel->maps.usdt_sites), &i, &sites[i],
					  BPF_ANY);
	}
	u->uprobes = uprobes__new(u->multi, "usdt");
	if (!err && !u->uprobes)
		err = -errno;
	for (size_t i = 0; i < u->target_cnt && !err; i++)
		err = usdt_attach_target(u, &u->targets[i], skel);
	if (err) {
		log__error("cannot attach to the probes of usdt: %s", strerror(-err));
		return err;
	}
	return uprobes__attach(u->uprobes, skel->links.uprobes__locked);
}
