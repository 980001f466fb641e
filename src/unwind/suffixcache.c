// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/suffixcache.h"

#include <string.h>

#include "unwind/fastslot.h"

/* Returns true for the pseudo frame after the root, which has a return address of 0. */
static bool suffixcache_is_end(const struct frame *f)
{
	return f->pc == 0;
}

/* ---- using --------------------------------------------------------------------------------------
 */

void suffix_cache__prefetch(const struct fastwalk_slot *l)
{
	const struct suffix_stack *s = l->cached_stack;
	uintptr_t bytes = (uintptr_t)l->bytes - l->addr;

	for (size_t at = s->first + 1; at < SUFFIX_FRAMES; at++) /* see suffixcache_copy_rest() */
		__builtin_prefetch((const void *)(bytes + s->frames[at].pc_at));
}

/* Returns the index of the first frame, from `at` on, with a stack pointer of at least `sp`. */
static size_t suffixcache_first_from(const struct suffix_stack *s, size_t at, uint64_t sp)
{
	if (at < s->first)
		at = s->first;
	while (at < SUFFIX_FRAMES && s->frames[at].frame.sp < sp)
		at++;
	return at;
}

static bool suffixcache_is_here(const struct fastwalk_slot *l, const struct suffix_frame *r)
{
	return l->flags & FRAME_CALLER && r->frame.pc == l->pc && r->frame.sp == l->sp &&
	       r->fp == l->fp;
}

/* Returns true if the snapshot covers the stack from the current frame to the root, and so every
 * word that is compared. */
static bool suffixcache_holds_rest(const struct fastwalk_slot *l, const struct suffix_stack *s)
{
	uint64_t sz = l->words_end + sizeof(uint64_t) - 1;

	return l->sp >= l->addr && s->frames[SUFFIX_FRAMES - 1].frame.sp - l->addr <= sz;
}

static inline uint64_t suffixcache_word_at(uintptr_t at)
{
	uint64_t word;

	memcpy(&word, (const void *)at, sizeof(word));
	return word;
}

/* Copies the current frame and its callers while they are unchanged. Returns the index of the first
 * frame that changed, or SUFFIX_FRAMES. */
static size_t suffixcache_copy_rest(const struct fastwalk_slot *l, const struct suffix_stack *s,
				    size_t at)
{
	uintptr_t bytes = (uintptr_t)l->bytes - l->addr;
	struct frame *to = l->frame;

	*to = s->frames[at].frame;
	to->source = l->source;
	for (const struct suffix_frame *r = &s->frames[at + 1]; r < s->frames + SUFFIX_FRAMES;
	     r++) {
		if ((suffixcache_word_at(bytes + r->pc_at) & l->code_bits) != r->frame.pc ||
		    suffixcache_word_at(bytes + r->fp_at) != r->fp_word)
			return (size_t)(r - s->frames);
		*++to = r->frame;
	}
	return SUFFIX_FRAMES;
}

/* No match: next compare at the frame `at`. A match before it would end at the same frame. */
static bool suffixcache_go_on(struct fastwalk_slot *l, const struct suffix_stack *s, size_t at)
{
	l->suffix_idx = at;
	l->suffix_sp = at < SUFFIX_FRAMES ? s->frames[at].frame.sp : UINT64_MAX;
	return false;
}

bool suffix_cache__copy_rest(struct fastwalk_slot *l)
{
	const struct suffix_stack *s = l->cached_stack;
	size_t at, cnt, same;

	if (!s || s->maps != l->process->version) { /* the entry was reset for another process */
		l->suffix_sp = UINT64_MAX;
		return false;
	}
	at = suffixcache_first_from(s, l->suffix_idx, l->sp);
	cnt = SUFFIX_FRAMES - at;
	if (!cnt || s->frames[at].frame.sp != l->sp)
		return suffixcache_go_on(l, s, at);
	if (cnt > (size_t)(l->past - l->frame) || !suffixcache_is_here(l, &s->frames[at]) ||
	    !suffixcache_holds_rest(l, s))
		return suffixcache_go_on(l, s, at + 1);
	same = suffixcache_copy_rest(l, s, at);
	if (same < SUFFIX_FRAMES)
		return suffixcache_go_on(l, s, same);
	l->suffix_idx = at;
	l->frame += cnt;
	if (suffixcache_is_end(l->frame - 1))
		l->frame--;
	return l->from_cache = true;
}

/* ---- remembering --------------------------------------------------------------------------------
 */

/* Returns true if the word at this address lies in the part of the stack that `before` owns. */
static bool suffixcache_is_between(const struct frame *before, uint64_t at)
{
	const struct frame *f = before + 1;

	return at >= before->sp && at <= f->sp && f->sp - at >= sizeof(at);
}

/* Stores which stack words lead from `before` to this frame. Returns false if they are outside the
 * part of the stack that `before` owns. */
static bool suffixcache_set_words(struct suffix_frame *r, const struct fastwalk_slot *l,
				  const struct suffix_note *n, const struct frame *before)
{
	uint64_t pc_off = (uintptr_t)n->pc_from - (uintptr_t)l->bytes;
	uint64_t fp_off = (uintptr_t)n->fp_from - (uintptr_t)l->bytes;

	if (pc_off >= l->words_end)
		return false;
	if (fp_off >= l->words_end)
		fp_off = pc_off;
	r->pc_at = l->addr + pc_off;
	r->fp_at = l->addr + fp_off;
	memcpy(&r->fp_word, l->bytes + fp_off, sizeof(r->fp_word));
	return suffixcache_is_between(before, r->pc_at) && suffixcache_is_between(before, r->fp_at);
}

/* Returns true for an ordinary caller in a file. A signal can interrupt any code, and the rules of
 * code without a file may arrive later. */
static bool suffixcache_is_plain(const struct frame *f)
{
	return f->flags == FRAME_CALLER && f->map && f->map->file;
}

/*
 * Stores all frames if none matched, else one frame more than matched. The frames next to the leaf
 * differ each time, and comparing them costs more than it saves.
 */
void suffix_cache__keep(struct fastwalk_slot *l)
{
	struct suffix_stack *s = l->cached_stack;
	const struct suffix_note *n = l->note - 1; /* of the last frame that the walk reached */
	const struct frame *f = l->trace->frames + (n - l->notes);
	size_t at = l->from_cache ? l->suffix_idx : SUFFIX_FRAMES - 1,
	       more = l->from_cache ? 1 : at;

	if (s->maps != l->process->version || !(suffixcache_is_plain(f) || suffixcache_is_end(f)))
		return;
	for (;; more--, n--, f--, at--) {
		s->frames[at].frame = *f;
		s->frames[at].fp = n->fp;
		if (!more || !at || n == l->notes || !suffixcache_is_plain(f - 1) ||
		    !suffixcache_set_words(&s->frames[at], l, n, f - 1))
			break;
	}
	s->first = at;
}
