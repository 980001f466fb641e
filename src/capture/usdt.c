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
#include "base/errand.h"
#include "base/log.h"
#include "capture/usdt_args.h"
#include "bpf/config.h"
#include "collector.skel.h"
#include "elf/sdt.h"

#define PROVIDER "stacks_tracing"
#define PLACE_MAX                                                                               \
	16384	      /* places of one probe in one file: each counts in a semaphore of 16 bits \
		       */
#define SITE_MAX 1024 /* different sites: locations of the arguments */
#define NAMES_SZ 256
#define PATH_SZ	 64

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

/* The places of one probe in one file: arrays of __u64, as the kernel takes them. */
struct places {
	struct buf pc_offs, semaphore_offs, cookies;
	int fd;			 /* the link of all places, with `multi`; -1: none */
	struct bpf_link **links; /* without `multi`: one link per place */
	size_t link_cnt;
};

struct target {
	struct elf_file *file;
	const struct probe_choice *choice;
	struct places places[USDT_PROBE_CNT];
};

struct usdt {
	struct errand end; /* detaches */
	struct target targets[PROBE_CHOICE_MAX];
	size_t target_cnt;
	struct buf sites; /* struct usdt_site, all different */
	bool multi;
	bool calls; /* the kernel turns long nops into calls */
};

static size_t places__cnt(const struct places *p)
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
struct reading {
	struct usdt *usdt;
	struct target *target;
	char others[NAMES_SZ]; /* its probes of other providers */
	bool ours, said;
	size_t left_out; /* places that cannot be read; below, what is wrong with the first */
	const char *bad_probe, *bad_arg;
};

static void note_other(struct reading *r, const struct sdt_note *n)
{
	size_t used = strlen(r->others);

	snprintf(r->others + used, sizeof(r->others) - used, "%s%s:%s", used ? ", " : "",
		 n->provider, n->name);
}

static int lies(struct reading *r, const struct sdt_note *n, const char *why)
{
	r->said = true;
	log__error("%s: the note of the probe " PROVIDER ":%s is invalid: %s",
		   r->target->choice->path, n->name, why);
	return -EBADMSG;
}

/* Returns the index of the site in `sites`; adds it if it is new. */
static uint64_t site_idx(struct buf *sites, const struct usdt_site *site)
{
	size_t cnt = sites->sz / sizeof(*site), i = 0;

	while (i < cnt && memcmp(sites->data + i * sizeof(*site), site, sizeof(*site)) != 0)
		i++;
	if (i == cnt)
		buf__append(sites, site, sizeof(*site));
	return i;
}

static int add_place(struct reading *r, struct places *p, const struct sdt_place *place,
		     const struct usdt_site *site)
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
	buf__u64(&p->cookies, site_idx(&r->usdt->sites, site) | user);
	if (buf__err(&p->pc_offs) || buf__err(&p->semaphore_offs) || buf__err(&p->cookies) ||
	    buf__err(&r->usdt->sites))
		return -ENOMEM;
	return 0;
}

static int read_probe(struct reading *r, int probe, const struct sdt_note *n)
{
	struct usdt_site site = { 0 };
	struct sdt_place place;
	const char *why, *bad;
	int err = sdt__place(r->target->file, n, &place, &why), cnt;

	if (err)
		return lies(r, n, why);
	cnt = usdt_args__parse(n->args, site.args, usdt_probes[probe].arg_cnt, &bad);
	if (cnt < 0) {
		if (r->left_out++ == 0) {
			r->bad_probe = n->name;
			r->bad_arg = bad;
		}
		return 0;
	}
	if ((size_t)cnt < usdt_probes[probe].arg_cnt)
		return lies(r, n, "it has too few arguments");
	return add_place(r, &r->target->places[probe], &place, &site);
}

static int see_note(const struct sdt_note *n, void *arg)
{
	struct reading *r = arg;

	if (strcmp(n->provider, PROVIDER) != 0) {
		note_other(r, n);
		return 0;
	}
	r->ours = true;
	for (int i = 0; i < USDT_PROBE_CNT; i++) {
		if (!strcmp(n->name, usdt_probes[i].name))
			return read_probe(r, i, n);
	}
	return 0;
}

#define HOW_TO "; programs get them from stacks_tracing.h"

static void say_what_is_missing(const struct reading *r, int err)
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

static void say_left_out(const struct reading *r)
{
	log__warn("%s: %zu %s left out of its probes: the argument '%.*s' of " PROVIDER
		  ":%s is in no register and at no address",
		  r->target->choice->path, r->left_out,
		  r->left_out == 1 ? "place is" : "places are", (int)strcspn(r->bad_arg, " "),
		  r->bad_arg, r->bad_probe);
}

static int read_notes(struct usdt *u, struct target *t)
{
	struct reading r = { .usdt = u, .target = t };
	int err = sdt__each(t->file, see_note, &r);

	if (r.left_out)
		say_left_out(&r);
	if (!err && places__cnt(&t->places[ENTER]))
		return 0;
	if (!r.said)
		say_what_is_missing(&r, err);
	return err ? err : -ENOENT;
}

/* ---- files --------------------------------------------------------------------------------------
 */

/* Returns what is wrong with the file; NULL: nothing. */
static const char *refusal(const struct usdt *u, const struct elf_file *f)
{
	GElf_Ehdr header;

	if (gelf_getclass(elf_file__elf(f)) != ELFCLASS64)
		return "32-bit programs are not supported";
	if (!gelf_getehdr(elf_file__elf(f), &header) || header.e_machine != machine_native.elf)
		return "the program is for another architecture";
	for (size_t i = 0; i < u->target_cnt; i++) {
		if (u->targets[i].file->dev == f->dev && u->targets[i].file->ino == f->ino)
			return "named twice";
	}
	return NULL;
}

static int add_target(struct usdt *u, const struct probe_choice *choice)
{
	struct elf_file *f = elf_file__open(choice->path);
	int err = f ? 0 : -errno;
	const char *why = err == -ENOEXEC ? "not a program or library (ELF)"
			  : err		  ? strerror(-err)
					  : refusal(u, f);
	struct target *t = &u->targets[u->target_cnt];

	if (why) {
		log__error("%s: %s", choice->path, why);
		elf_file__put(f);
		return err ? err : -EINVAL;
	}
	*t = (struct target){ .file = f, .choice = choice };
	for (int i = 0; i < USDT_PROBE_CNT; i++)
		t->places[i].fd = -1;
	u->target_cnt++;
	return read_notes(u, t);
}

#define SYS_UPROBE 336 /* arch/x86/entry/syscalls/syscall_64.tbl, from 6.18 on */

/* Returns true if the kernel has the system call in which such a call ends. It refuses all other
 * callers. */
static bool has_calls(void)
{
	return syscall(SYS_UPROBE) < 0 && errno == ENXIO;
}

struct usdt *usdt__new(const struct probe_choice *choices, size_t cnt)
{
	struct usdt *u = calloc(1, sizeof(*u));
	int err = u ? 0 : -ENOMEM;

	if (u)
		u->calls = has_calls();

	for (size_t i = 0; i < cnt && !err; i++) {
		if (choices[i].path)
			err = add_target(u, &choices[i]);
	}
	if (!err)
		return u;
	usdt__free(u);
	errno = -err;
	return NULL;
}

static struct usdt *usdt_of(struct errand *e)
{
	return (struct usdt *)((char *)e - offsetof(struct usdt, end));
}

static void places__detach(struct places *p)
{
	for (size_t i = 0; i < p->link_cnt; i++)
		bpf_link__destroy(p->links[i]);
	p->link_cnt = 0;
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

static void usdt_detach(struct errand *e)
{
	struct usdt *u = usdt_of(e);

	for (size_t i = 0; i < u->target_cnt; i++)
		for (int probe = 0; probe < USDT_PROBE_CNT; probe++)
			places__detach(&u->targets[i].places[probe]);
}

static void places__free(struct places *p)
{
	free(p->links);
	buf__free(&p->pc_offs);
	buf__free(&p->semaphore_offs);
	buf__free(&p->cookies);
}

static void usdt_drop(struct errand *e)
{
	struct usdt *u = usdt_of(e);

	for (size_t i = 0; i < u->target_cnt; i++)
		for (int probe = 0; probe < USDT_PROBE_CNT; probe++)
			places__free(&u->targets[i].places[probe]);
	buf__free(&u->sites);
	free(u);
}

static uint64_t usdt_user(const struct errand *e)
{
	(void)e;
	return 0;
}

/* The kernel detaches under the lock of each address space that maps the file. A process can hold
 * that lock for any time. */
void usdt__free(struct usdt *u)
{
	struct errands *errands = u && u->target_cnt ? errands__new() : NULL;

	if (!u)
		return;
	for (size_t i = 0; i < u->target_cnt; i++)
		elf_file__put(u->targets[i].file);
	u->end = (struct errand){ .run = usdt_detach, .drop = usdt_drop, .user = usdt_user };
	if (errands__run(errands, &u->end))
		usdt_drop(&u->end);
	else
		log__warn("the kernel has not detached the probes of usdt yet: the recording is "
			  "complete, but a child process remains until no process that maps the "
			  "program is in the way");
	errands__free(errands);
}

/* ---- the kernel's side --------------------------------------------------------------------------
 */

#define ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, include/uapi/linux/bpf.h from 6.6 on */

/* bpf_attr.link_create.uprobe_multi */
struct uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, pc_offs, semaphore_offs, cookies;
	uint32_t cnt, multi_flags, pid, unused;
};

static struct bpf_program *program_of(struct collector_bpf *skel, int probe)
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
			program_of(skel, i), (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	return err;
}

static int attach_all(const struct bpf_program *prog, const char *path, struct places *p)
{
	struct uprobe_multi attr = {
		.prog_fd = (uint32_t)bpf_program__fd(prog),
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.pc_offs = (uintptr_t)p->pc_offs.data,
		.semaphore_offs = (uintptr_t)p->semaphore_offs.data,
		.cookies = (uintptr_t)p->cookies.data,
		.cnt = (uint32_t)places__cnt(p),
	};

	p->fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return p->fd < 0 ? -errno : 0;
}

static int attach_each(const struct bpf_program *prog, const char *path, struct places *p)
{
	const uint64_t *pc_offs = (const void *)p->pc_offs.data,
		       *semaphore_offs = (const void *)p->semaphore_offs.data,
		       *cookies = (const void *)p->cookies.data;

	p->links = calloc(places__cnt(p), sizeof(*p->links));
	if (!p->links)
		return -ENOMEM;
	for (; p->link_cnt < places__cnt(p); p->link_cnt++) {
		size_t i = p->link_cnt;
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = semaphore_offs[i],
			    .bpf_cookie = cookies[i]);

		p->links[i] = bpf_program__attach_uprobe_opts(prog, -1, path, pc_offs[i], &opts);
		if (!p->links[i])
			return -errno;
	}
	return 0;
}

static int attach_target(struct usdt *u, struct target *t, struct collector_bpf *skel)
{
	char path[PATH_SZ];
	int err = 0;

	/* The file that was read, whatever file has its name now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", t->file->fd);
	for (int i = 0; i < USDT_PROBE_CNT && !err; i++) {
		if (places__cnt(&t->places[i]))
			err = (u->multi ? attach_all : attach_each)(program_of(skel, i), path,
								    &t->places[i]);
	}
	if (err)
		log__error("%s: cannot attach to the probes: %s", t->choice->path, strerror(-err));
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
	for (size_t i = 0; i < u->target_cnt && !err; i++)
		err = attach_target(u, &u->targets[i], skel);
	return err;
}
