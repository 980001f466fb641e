// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/model/waiting.h"

#include "stacksexport/model/waittraits.h"

/* A stack and its parts: [0, own) is the runtime's on top, [own, root) is the program's. */
struct waiting_stack {
	const uint16_t *traits;
	size_t cnt, own, root;
};

static bool waiting_counts(const struct waiting_stack *s, size_t i)
{
	return !(s->traits[i] & WAIT_SCHEDULES);
}

static size_t waiting_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static struct waiting_stack waiting_split(const uint16_t *traits, size_t cnt)
{
	struct waiting_stack s = { traits, cnt, 0, 0 };

	while (s.root < cnt && !(traits[s.root] & WAIT_ROOT))
		s.root++;
	while (s.own < cnt && (!waiting_counts(&s, s.own) || traits[s.own] & WAIT_RUNTIME))
		s.own++;
	return s;
}

/* Returns the first counting frame of [from, to) that lacks all of `without`; `to` if none does. */
static size_t waiting_first(const struct waiting_stack *s, size_t from, size_t to, uint16_t without)
{
	while (from < to && (!waiting_counts(s, from) || s->traits[from] & without))
		from++;
	return from;
}

/* A function of libc has a name where it can be called. */
static size_t waiting_call(const struct waiting_stack *s)
{
	size_t top = waiting_min(s->own, s->root), first = waiting_first(s, 0, top, 0);

	for (size_t i = top; i-- > 0;)
		if (waiting_counts(s, i) && s->traits[i] & WAIT_LIBC &&
		    !(s->traits[i] & WAIT_UNNAMED))
			return i;
	return first < top ? first : WAITING_NONE;
}

/* Returns the frame below the program's plumbing. */
static size_t waiting_below(const struct waiting_stack *s)
{
	for (size_t i = s->root; i-- > s->own;)
		if (waiting_counts(s, i) && s->traits[i] & WAIT_PLUMBING)
			return i + 1;
	return s->own;
}

static size_t waiting_place(const struct waiting_stack *s, size_t call)
{
	size_t below = waiting_below(s), at = waiting_first(s, below, s->root, WAIT_UNNAMED);

	if (at >= s->root)
		at = waiting_first(s, below, s->root, 0);
	if (at >= s->root)
		at = waiting_first(s, s->own, s->root, 0);
	if (at < s->root)
		return at;
	return call != WAITING_NONE ? call : s->cnt ? 0 : WAITING_NONE;
}

static bool waiting_has(const struct waiting_stack *s, size_t to, uint16_t trait)
{
	for (size_t i = 0; i < to; i++)
		if (waiting_counts(s, i) && s->traits[i] & trait)
			return true;
	return false;
}

/* Returns true if at most two functions are between the call and the thread's root. */
static bool waiting_is_near_root(const struct waiting_stack *s)
{
	size_t cnt = 0;

	for (size_t i = s->own; i < s->root; i++)
		cnt += waiting_counts(s, i) && !(s->traits[i] & WAIT_RUNTIME);
	return cnt <= 2;
}

static bool waiting_for_work(const struct waiting_stack *s, size_t waits_in)
{
	size_t top = waiting_min(s->own, s->root);

	if (!s->cnt || waiting_has(s, s->cnt, WAIT_CAUSE))
		return false;
	return waiting_has(s, s->cnt, WAIT_LOOP) || s->traits[waits_in] & WAIT_OUTER_LOOP ||
	       waiting_has(s, top, WAIT_LOOP_CALL) ||
	       (waiting_has(s, top, WAIT_POOL_CALL) && waiting_is_near_root(s));
}

struct waiting waiting__find(const uint16_t *traits, size_t cnt)
{
	struct waiting_stack s = waiting_split(traits, cnt);
	struct waiting w = { .call = waiting_call(&s) };

	w.waits_in = waiting_place(&s, w.call);
	w.is_idle = waiting_for_work(&s, w.waits_in);
	return w;
}
