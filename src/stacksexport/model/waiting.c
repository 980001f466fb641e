// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/model/waiting.h"

#include <string.h>

static bool waiting_text_is(struct frame_text t, const char *s)
{
	return t.sz == strlen(s) && memcmp(t.s, s, t.sz) == 0;
}

static bool waiting_text_begins(struct frame_text t, const char *s)
{
	return t.sz >= strlen(s) && memcmp(t.s, s, strlen(s)) == 0;
}

static bool waiting_text_has(struct frame_text t, const char *s)
{
	return t.sz && memmem(t.s, t.sz, s, strlen(s)) != NULL;
}

struct names {
	struct frame_text name, module;
};

static struct names waiting_names_of(const struct stackset *s, uint32_t frame)
{
	const struct function *f = stackset__function(s, stackset__frame_at(s, frame)->function);

	return (struct names){ stackset__text(s, f->name), stackset__text(s, f->module) };
}

bool waiting__is_hidden(const struct stackset *s, uint32_t frame)
{
	static const char *const cancel[] = { "__syscall_cancel_arch", "__internal_syscall_cancel",
					      "__syscall_cancel" };
	struct names n = waiting_names_of(s, frame);

	if (waiting_text_is(n.module, "[kernel]") &&
	    (waiting_text_has(n.name, "schedule") || waiting_text_is(n.name, "__cond_resched")))
		return true;
	for (size_t i = 0; i < sizeof(cancel) / sizeof(*cancel); i++)
		if (waiting_text_is(n.name, cancel[i]))
			return true;
	return false;
}

static bool is_of_libc(const struct names *n)
{
	return waiting_text_is(n->module, "libc.so.6");
}

static bool is_unnamed_of_libc(const struct names *n)
{
	return is_of_libc(n) &&
	       (waiting_text_begins(n->name, "+") || waiting_text_is(n->name, "[no symbol]"));
}

/* Returns the first frame from `at` on that counts; cnt if there is none. */
static size_t next_caller(const struct stackset *s, const uint32_t *frames, size_t cnt, size_t at)
{
	while (at < cnt && waiting__is_hidden(s, frames[at]))
		at++;
	return at;
}

/* Returns the first frame from `at` on that counts and, if it is in libc, has a name. */
static size_t first_named(const struct stackset *s, const uint32_t *frames, size_t cnt, size_t at)
{
	for (; at < cnt; at = next_caller(s, frames, cnt, at + 1)) {
		struct names n = waiting_names_of(s, frames[at]);

		if (!is_unnamed_of_libc(&n))
			break;
	}
	return at;
}

struct waiting waiting__find(const struct stackset *s, const uint32_t *frames, size_t cnt)
{
	size_t first = next_caller(s, frames, cnt, 0), named;
	struct names n;

	if (first == cnt)
		return (struct waiting){ cnt, true };
	n = waiting_names_of(s, frames[first]);
	named = is_of_libc(&n) ? first_named(s, frames, cnt, first) : cnt;
	if (named == cnt)
		return (struct waiting){ first, false };
	n = waiting_names_of(s, frames[named]);
	if (!is_of_libc(&n) || waiting_text_begins(n.name, "__libc_start"))
		return (struct waiting){ first, false };
	return (struct waiting){ named, false };
}
