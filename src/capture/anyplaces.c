// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the places of chosen probes. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/strcopy.h"
#include "capture/anyprobe_private.h"
#include "capture/tracepoint.h"
#include "capture/usdt_args.h"
#include "elf/addresstask.h"
#include "elf/gopclntab.h"
#include "elf/sdttask.h"

#define SYMBOLS_SZ_MAX (64u << 20) /* bytes of the symbols of a file */
#define PLACE_MAX      16384	   /* of one static probe */

/* A single text has all the room. */
static void anyplaces_set_wide(struct any_site *site)
{
	unsigned texts = 0;

	for (size_t i = 0; i < EVENT_ARG_CNT; i++)
		texts += site->args[i].text != ANY_NUMBER;
	site->wide = texts == 1;
}

/* Returns the index of the site; adds it if it is new. Returns -EFBIG if there is no room. */
static int anyplaces_add_site(const struct any_wish *w, struct any_site *site)
{
	struct any_probes *a = w->probes;
	int err = any_tests__parse(w, site);

	if (err)
		return err;
	anyplaces_set_wide(site);
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

/* Opens PATH, the first path_sz bytes of the name. */
static int anyplaces_open_program(struct any_target *t, size_t path_sz)
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
		err = any_target__wrong(t, "the program is for another architecture");
	}
	free(path);
	return err;
}

static int anyplaces_add_place(const struct any_wish *w, struct any_site *site,
			       const struct sdt_place *place)
{
	struct uprobe_places *p = &w->target->places;
	int idx = anyplaces_add_site(w, site);

	if (idx < 0)
		return idx;
	buf__u64(&p->pc_offs, place->pc_off);
	buf__u64(&p->semaphore_offs, place->semaphore_off);
	buf__u64(&p->cookies, (uint64_t)idx);
	return buf__err(&p->pc_offs) || buf__err(&p->semaphore_offs) || buf__err(&p->cookies)
		       ? -ENOMEM
		       : 0;
}

/* Returns the file offset of the function, or 0. Sets `*failed` if workers failed. */
static uint64_t anyplaces_function_off(struct workers *workers, const struct elf_file *f,
				       const char *name, bool *failed)
{
	struct symbol_search search = { .workers = workers, .left = SYMBOLS_SZ_MAX };
	uint64_t vaddr;

	address_task__find(&search, f, &(struct elf_symbol_names){ &name, 1 }, &vaddr);
	*failed = search.failed;
	for (size_t i = 0; i < f->segment_cnt; i++) {
		const struct elf_segment *s = &f->segments[i];

		if ((s->flags & PF_X) && vaddr >= s->vaddr && vaddr - s->vaddr < s->sz)
			return vaddr - s->vaddr + s->off;
	}
	return 0;
}

/* Applies letters and tests. */
static int anyplaces_describe_function(const struct any_wish *w, bool in_kernel)
{
	struct found_args args;

	found_args__function(&args);
	args.in_kernel = in_kernel;
	return w->args ? any_args__apply(w, &args, &w->place->site) : 0;
}

int any_places__function(const struct any_wish *w)
{
	struct any_target *t = w->target;
	const char *colon = strrchr(t->name, ':');
	struct sdt_place place = { 0 };
	bool failed;
	int err = colon ? anyplaces_open_program(t, (size_t)(colon - t->name))
			: any_target__wrong(t, "expected PATH:FUNCTION");

	if (err)
		return err;
	place.pc_off = anyplaces_function_off(w->probes->workers, t->file, colon + 1, &failed);
	if (!place.pc_off)
		return any_target__wrong(t, failed ? "its symbols could not be read"
						   : "the file has no symbol of such a function");
	err = anyplaces_describe_function(w, false);
	return err ? err : anyplaces_add_place(w, &w->place->site, &place);
}

/* The kernel replaces return addresses on the stack. Go's runtime moves stacks and walks them, and
 * ends the program when it finds such an address. */
int any_places__call(const struct any_wish *w)
{
	int err = any_places__function(w);
	GElf_Shdr header;

	if (!err && gopclntab__section(w->target->file, &header))
		err = any_target__wrong(w->target,
					"a return probe would make a Go program crash; record its "
					"entry with uprobe instead");
	return err;
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

static bool anyplaces_is_note(const struct note_search *s, const struct sdt_note *n)
{
	size_t sz = (size_t)(s->name - 1 - s->provider);

	return strlen(n->provider) == sz && !strncmp(n->provider, s->provider, sz) &&
	       !strcmp(n->name, s->name);
}

/* Without letters, the arguments are numbers as the note describes them. */
static int anyplaces_fill_site(const struct any_wish *w, const struct found_args *args,
			       struct any_site *site)
{
	if (w->args)
		return any_args__apply(w, args, site);
	for (size_t i = 0; i < args->cnt; i++)
		any_args__take(w, site, i, &(struct any_arg){ .value = args->at[i] });
	return 0;
}

static int anyplaces_see_note(const struct sdt_note *n, void *arg)
{
	struct note_search *s = arg;
	struct any_site site = s->blank;
	struct found_args args = { .cnt = 0 };
	struct sdt_place place;
	const char *why;
	int err, cnt;

	if (!anyplaces_is_note(s, n))
		return 0;
	cnt = usdt_args__parse(n->args, args.at, EVENT_ARG_CNT, &why);
	if (cnt < 0 || sdt__place(s->wish->target->file, n, &place, &why) != 0 ||
	    s->cnt == PLACE_MAX) {
		s->left_out++;
		return 0;
	}
	args.cnt = cnt < EVENT_ARG_CNT ? (size_t)cnt : EVENT_ARG_CNT;
	err = anyplaces_fill_site(s->wish, &args, &site);
	if (!err)
		err = anyplaces_add_place(s->wish, &site, &place);
	if (s->cnt++ == 0)
		s->wish->place->site = site;
	return err;
}

/* Points .provider and .name into PATH:PROVIDER:NAME; returns the length of the path, or 0. */
static size_t anyplaces_split_sdt(const char *text, struct note_search *s)
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

int any_places__note(const struct any_wish *w)
{
	struct note_search s = { .wish = w, .blank = w->place->site };
	struct any_target *t = w->target;
	size_t path_sz = anyplaces_split_sdt(t->name, &s);
	int err = path_sz ? anyplaces_open_program(t, path_sz)
			  : any_target__wrong(t, "expected PATH:PROVIDER:NAME");

	if (!err)
		err = sdt_task__each(w->probes->workers, t->file, anyplaces_see_note, &s);
	if (err == -ENOENT || (!err && !s.cnt))
		err = any_target__wrong(t, "the file has no such probe with readable arguments");
	if (!err && s.left_out)
		log__warn("%s:%s: %zu of its places cannot be read and are left out",
			  t->source->probe, t->name, s.left_out);
	return err;
}

/* ---- spans ------------------------------------------------------------------------------------
 */

/* Returns the name at the end of PATH:FUNCTION or PATH:PROVIDER:NAME. */
static char *anyplaces_last_part(char *text)
{
	char *colon = strrchr(text, ':');

	return colon ? colon + 1 : text;
}

/* Splits BEGIN..END. Names have no dots, paths may. */
static char *anyplaces_cut_end(char *text)
{
	char *end = NULL;

	for (char *at = text; (at = strstr(at, "..")) != NULL; at++)
		end = at;
	if (!end)
		return NULL;
	*end = '\0';
	return end + 2;
}

/* Removes the word that says which kind of place it is. */
static void anyplaces_drop_kind(char *name)
{
	static const char *const kinds[] = { "usdt:", "sdt:", "uprobe:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t sz = strlen(kinds[i]);

		if (!strncmp(name, kinds[i], sz)) {
			memmove(name, name + sz, strlen(name + sz) + 1);
			return;
		}
	}
}

/* A static probe has one part more than a function. */
static int anyplaces_find_either(const struct any_wish *w)
{
	const char *slash = strrchr(w->target->name, '/'),
		   *colon = strchr(slash ? slash : w->target->name, ':');

	return colon && strchr(colon + 1, ':') ? any_places__note(w) : any_places__function(w);
}

/* An end without a path is in the file, and of the provider, of the begin. */
static int anyplaces_name_end(const struct any_wish *w, struct any_target *end, const char *text)
{
	char *name = w->target->name;
	int sz = strchr(text, ':') ? 0 : (int)(anyplaces_last_part(name) - name);

	if (asprintf(&end->name, "%.*s%s", sz, name, text) < 0)
		return end->name = NULL, -ENOMEM;
	anyplaces_drop_kind(end->name);
	return 0;
}

/* The first text is the span's name, or else the name of its begin. */
static void anyplaces_label_span(const struct any_wish *w)
{
	struct any_site *site = &w->place->site;

	const char *args = w->args ? w->args : "", *text = strchr(args, 's');

	site->label_arg =
		text && text - args < EVENT_ARG_CNT ? (uint32_t)(text - args) : EVENT_ARG_CNT;
	str__copy(site->label, sizeof(site->label), anyplaces_last_part(w->target->name));
}

static int anyplaces_name_span(const struct any_wish *w, const struct any_target *end)
{
	char **name = &w->probes->span_names[w->place->site.blank.choice];

	if (asprintf(name, "%s..%s", w->target->name, anyplaces_last_part(end->name)) < 0)
		return *name = NULL, -ENOMEM;
	w->place->name = *name;
	return 0;
}

int any_places__span(const struct any_wish *wish)
{
	struct any_target *end = &wish->probes->ends[wish->place->site.blank.choice];
	struct any_place end_place = { .site = wish->place->site };
	struct any_wish begin_wish = *wish, end_wish = *wish;
	char *end_text = anyplaces_cut_end(wish->target->name);
	int err;

	if (!end_text)
		return any_target__wrong(wish->target, "expected BEGIN..END");
	any_wish__cut(&begin_wish);
	anyplaces_drop_kind(wish->target->name);
	end->source = wish->target->source;
	end_wish.target = end;
	end_wish.place = &end_place;
	err = anyplaces_name_end(wish, end, end_text);
	if (err)
		return err;
	any_wish__cut(&end_wish);
	anyplaces_label_span(&begin_wish);
	err = anyplaces_find_either(&begin_wish);
	if (!err)
		err = anyplaces_find_either(&end_wish);
	if (!err && !wish->place->site.key.sz != !end_place.site.key.sz)
		err = any_target__wrong(wish->target, "begin and end need a key (k) each, or none");
	return err ? err : anyplaces_name_span(wish, end);
}

/* ---- the kernel -------------------------------------------------------------------------------
 */

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static int anyplaces_add_kernel_place(const struct any_wish *w)
{
	int idx = anyplaces_add_site(w, &w->place->site);

	w->target->site_idx = (uint32_t)idx;
	return idx < 0 ? idx : 0;
}

int any_places__tracepoint(const struct any_wish *w)
{
	const char *name = w->target->name, *colon = strchr(name, ':');
	int err;

	if (!colon || colon[1 + strspn(colon + 1, NAME_CHARS)] ||
	    name + strspn(name, NAME_CHARS) != colon)
		return any_target__wrong(w->target, "expected GROUP:NAME");
	err = tracepoint__describe(w->place, w->args, &w->target->tracepoint_id);
	return err ? err : anyplaces_add_kernel_place(w);
}

int any_places__kernel_function(const struct any_wish *w)
{
	const char *name = w->target->name;
	int err;

	if (!*name || name[strspn(name, NAME_CHARS ".")])
		return any_target__wrong(w->target, "expected the name of a function");
	err = anyplaces_describe_function(w, true);
	return err ? err : anyplaces_add_kernel_place(w);
}
