// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/stitch.h"

#include <utlist.h>

#include "base/hash.h"
#include "base/search.h"

#define AGREE_MIN    5	/* frames in a row; 3 occasionally join a recursion of node wrongly */
#define SIGNATURE_SZ 32 /* bytes below a frame's CFA: its return address and saved registers */

/* A frame with a known caller, and therefore a known CFA: the caller's stack pointer. */
struct node {
	uint64_t pc, sp;
	uint32_t signature; /* hash of the stack's bytes below the CFA; 0: unknown */
	uint32_t flags;	    /* enum frame_flags */
};

/* The last stack of a thread that reached the root. */
struct stitch_memory {
	uint32_t tid;
	uint32_t tgid;
	uint64_t from_ns; /* start of the process: differs if the pid is reused */
	size_t cnt, cap;
	struct node *nodes; /* leaf first */
	struct stitch_memory *prev, *next;
	UT_hash_handle hh;
};

struct stitch {
	size_t max_sz;
	struct stitch_memory *by_tid;
	struct stitch_memory *recent; /* least recently used first */
	struct stitch_stats stats;
	struct node nodes[TRACE_MAX]; /* of the current stack */
};

struct stitch *stitch__new(size_t max_sz)
{
	struct stitch *s = calloc(1, sizeof(*s));

	if (s)
		s->max_sz = max_sz;
	return s;
}

static size_t memory__sz(const struct stitch_memory *m)
{
	return sizeof(*m) + m->cap * sizeof(*m->nodes);
}

static void stitch_forget(struct stitch *s, struct stitch_memory *m)
{
	HASH_DEL(s->by_tid, m);
	DL_DELETE(s->recent, m);
	s->stats.sz -= memory__sz(m);
	s->stats.threads--;
	free(m->nodes);
	free(m);
}

void stitch__free(struct stitch *s)
{
	if (!s)
		return;
	while (s->recent)
		stitch_forget(s, s->recent);
	free(s);
}

void stitch__stats(const struct stitch *s, struct stitch_stats *stats)
{
	*stats = s->stats;
}

/* ---- fingerprints of frames ---- */

/* Hashes bytes that do not change during the frame's call. */
static uint32_t stitch_signature(const struct snapshot *snapshot, uint64_t cfa)
{
	const uint8_t *bytes = snapshot__at(snapshot, cfa - SIGNATURE_SZ, SIGNATURE_SZ);
	uint32_t hash = bytes ? (uint32_t)XXH3_64bits(bytes, SIGNATURE_SZ) : 0;

	return bytes && !hash ? 1 : hash;
}

static void stitch_look(struct stitch *s, const struct snapshot *snapshot, const struct trace *t)
{
	for (size_t i = 0; i < t->cnt; i++) {
		const struct frame *f = &t->frames[i];

		s->nodes[i] = (struct node){ f->pc, f->sp, 0, f->flags };
		if (i + 1 < t->cnt)
			s->nodes[i].signature = stitch_signature(snapshot, f[1].sp);
	}
}

/* ---- remembering ---- */

static struct stitch_memory *stitch_find(struct stitch *s, const struct stitch_thread *thread)
{
	struct stitch_memory *m;

	HASH_FIND(hh, s->by_tid, &thread->tid, sizeof(thread->tid), m);
	if (!m || (m->tgid == thread->process->tgid && m->from_ns == thread->process->from_ns))
		return m;
	stitch_forget(s, m);
	return NULL;
}

static struct stitch_memory *stitch_make(struct stitch *s, const struct stitch_thread *thread)
{
	struct stitch_memory *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->tid = thread->tid;
	m->tgid = thread->process->tgid;
	m->from_ns = thread->process->from_ns;
	HASH_ADD(hh, s->by_tid, tid, sizeof(m->tid), m);
	if (!HASH_ADDED(m)) { /* out of memory */
		free(m);
		return NULL;
	}
	DL_APPEND(s->recent, m);
	s->stats.threads++;
	s->stats.sz += memory__sz(m);
	return m;
}

static bool stitch_reserve(struct stitch *s, struct stitch_memory *m, size_t cnt)
{
	struct node *nodes;

	if (cnt <= m->cap)
		return true;
	nodes = realloc(m->nodes, cnt * sizeof(*nodes));
	if (!nodes)
		return false;
	s->stats.sz += (cnt - m->cap) * sizeof(*nodes);
	m->nodes = nodes;
	m->cap = cnt;
	return true;
}

static void stitch_remember(struct stitch *s, const struct stitch_thread *thread, size_t cnt)
{
	struct stitch_memory *m = stitch_find(s, thread);

	if (!m)
		m = stitch_make(s, thread);
	if (!m)
		return;
	DL_DELETE(s->recent, m);
	DL_APPEND(s->recent, m);
	m->cnt = 0;
	if (stitch_reserve(s, m, cnt)) {
		memcpy(m->nodes, s->nodes, cnt * sizeof(*m->nodes));
		m->cnt = cnt;
	}
	while (s->stats.sz > s->max_sz && s->recent)
		stitch_forget(s, s->recent);
}

/* ---- joining ---- */

static bool stitch_same_place(const struct node *a, const struct node *b)
{
	return a->pc == b->pc && a->sp == b->sp;
}

/* Returns the index of the frame with this stack pointer; stack pointers ascend. */
static size_t stitch_find_sp(const struct stitch_memory *m, uint64_t sp)
{
	return SEARCH_COUNT(m->nodes, m->cnt, n, n->sp < sp);
}

/*
 * Compares the current stack with the remembered one: it ends with `cnt` frames, and the last one
 * has no signature. All common frames must be the same. Sets *at to the last frame's index in the
 * remembered stack. Returns false if the stacks differ.
 */
static bool stitch_agree(const struct stitch *s, size_t cnt, const struct stitch_memory *m,
			 size_t *at)
{
	size_t i = cnt - 1, j = stitch_find_sp(m, s->nodes[i].sp), same = 0;

	*at = j;
	if (j == m->cnt || !stitch_same_place(&s->nodes[i], &m->nodes[j]))
		return false;
	while (same < AGREE_MIN && i-- > 0 && j-- > 0) {
		const struct node *a = &s->nodes[i], *b = &m->nodes[j];

		if (!stitch_same_place(a, b) || !a->signature || a->signature != b->signature)
			return false;
		same++;
	}
	return same == AGREE_MIN;
}

/* Returns false if one of the callers is in code that is not mapped any more. */
static bool stitch_join(struct stitch *s, const struct process *p, const struct stitch_memory *m,
			size_t at, struct trace *t)
{
	size_t cnt = m->cnt - at - 1;

	if (t->cnt + cnt > TRACE_MAX)
		return false;
	for (size_t i = 0; i < cnt; i++) {
		const struct node *n = &m->nodes[at + 1 + i];
		struct frame f = {
			.pc = n->pc, .sp = n->sp, .flags = n->flags, .source = FRAME_BY_STITCH
		};

		f.map = process__find(p, frame__place(&f));
		if (!f.map)
			return false;
		t->frames[t->cnt + i] = f;
		s->nodes[t->cnt + i] = *n;
	}
	s->nodes[t->cnt - 1] = m->nodes[at];
	t->cnt += cnt;
	t->status = UNWIND_STITCHED;
	return true;
}

static void stitch_complete(struct stitch *s, const struct stitch_thread *thread, struct trace *t)
{
	struct stitch_memory *m = stitch_find(s, thread);
	size_t at;

	s->stats.truncated++;
	if (!m || !stitch_agree(s, t->cnt, m, &at) || !stitch_join(s, thread->process, m, at, t))
		return;
	s->stats.joined++;
	stitch_remember(s, thread, t->cnt);
}

void stitch__apply(struct stitch *s, const struct stitch_thread *thread,
		   const struct snapshot *snapshot, struct trace *t)
{
	if (t->status != UNWIND_ROOT && t->status != UNWIND_TRUNCATED)
		return;
	stitch_look(s, snapshot, t);
	if (t->status == UNWIND_ROOT)
		stitch_remember(s, thread, t->cnt);
	else
		stitch_complete(s, thread, t);
}
