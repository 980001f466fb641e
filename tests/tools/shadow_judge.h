/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a walk with the chain that the shadow stack expects: five verdicts, and tables of them.
 */
#ifndef TOOLS_SHADOW_JUDGE_H
#define TOOLS_SHADOW_JUDGE_H

#include <inttypes.h>

#include "event/trace.h"
#include "must.h"
#include "shadow_proc.h"
#include "shadow_stack.h"

/* X(id, name, meaning) */
#define VERDICTS(X)                                                                         \
	X(WHOLE, "whole", "all frames, and the status root")                                \
	X(HONEST, "honest", "the first frames, and a status that says that there are more") \
	X(MARKED, "marked", "a wrong frame, which has a mark or follows one that has")      \
	X(NOT_JUDGED, "not judged", "the program itself has no right stack there")          \
	X(WRONG_ROOT, "wrong root", "callers are missing, and the status is root")          \
	X(WRONG_OTHER, "wrong other", "a wrong frame that has no mark")

#define X(id, ...) VERDICT_##id,
enum verdict { VERDICTS(X) VERDICT_CNT };
#undef X

static inline bool verdict__is_wrong(enum verdict v)
{
	return v >= VERDICT_WRONG_ROOT;
}

static inline const char *verdict__name(enum verdict v)
{
#define X(id, name, ...) name,
	static const char *const names[] = { VERDICTS(X) };
#undef X
	return names[v];
}

/* ---- what is expected -------------------------------------------------------------------------*/

struct expected_frame {
	uint64_t pc;
	bool caller; /* .pc is a return address */
	/* the slot of the return address; 0: for the leaf, and the target of a jump */
	uint64_t slot;
};

struct expected {
	struct expected_frame frames[TRACE_MAX];
	size_t cnt;
};

static inline void expected__add(struct expected *x, const struct shadow_entry *e)
{
	if (x->cnt < TRACE_MAX)
		x->frames[x->cnt++] =
			(struct expected_frame){ e->pc, e->kind == SHADOW_CALL, e->slot };
}

static inline void expected__add_chain(struct expected *x, const struct shadow *s)
{
	for (size_t i = s->chain->cnt; i-- > 0;)
		expected__add(x, &s->chain->entries[i]);
}

/* Sets the thread's chain at pc. `held`: a popped return address counts. */
static inline void expected__set(struct expected *x, const struct shadow *s, uint64_t pc, bool held)
{
	x->frames[0] = (struct expected_frame){ .pc = pc };
	x->cnt = 1;
	if (held && s->holds)
		expected__add(x, &s->held);
	expected__add_chain(x, s);
}

/* Sets the chain of code at pc that is about to jump to `target`, the thread's present place. */
static inline void expected__set_jump(struct expected *x, const struct shadow *s, uint64_t pc,
				      uint64_t target)
{
	x->frames[0] = (struct expected_frame){ .pc = pc };
	x->frames[1] = (struct expected_frame){ .pc = target, .caller = true };
	x->cnt = 2;
	expected__add_chain(x, s);
}

/* ---- one walk ---------------------------------------------------------------------------------*/

/* Returns the index of the first frame that differs, or the shorter length if none does. */
static inline size_t judge__common(const struct trace *t, const struct expected *x)
{
	size_t i = 0;

	while (i < t->cnt && i < x->cnt && t->frames[i].pc == x->frames[i].pc &&
	       !(t->frames[i].flags & FRAME_CALLER) == !x->frames[i].caller)
		i++;
	return i;
}

static inline bool judge__has_mark(const struct trace *t, size_t at)
{
	return t->frames[at].source > FRAME_BY_CFI;
}

static inline enum verdict judge(const struct trace *t, const struct expected *x)
{
	size_t common = judge__common(t, x);

	if (common == t->cnt && t->status != UNWIND_ROOT)
		return VERDICT_HONEST;
	if (common == t->cnt)
		return common == x->cnt ? VERDICT_WHOLE : VERDICT_WRONG_ROOT;
	if (judge__has_mark(t, common) || (common && judge__has_mark(t, common - 1)))
		return VERDICT_MARKED;
	return VERDICT_WRONG_OTHER;
}

/* ---- pending walks ----------------------------------------------------------------------------
 */

#define PENDING_FRAMES 256 /* kept frames of each walk */

/*
 * A walk that is wrong unless the thread is about to jump: in longjmp() and similar functions the
 * call-frame information leads to the jump's target before the stack pointer has changed.
 */
struct pending {
	struct pending *next;
	uint64_t step;
	enum verdict verdict;
	enum unwind_status status;
	bool jumping; /* the thread had already loaded the stack pointer */
	bool unfit;   /* not judged unless a jump explains it */
	size_t cnt, expected_cnt, common;
	struct frame frames[PENDING_FRAMES];
	struct expected_frame expected[PENDING_FRAMES];
};

static inline struct pending *pending__new(const struct trace *t, const struct expected *x,
					   uint64_t step)
{
	struct pending *p = calloc(1, sizeof(*p));

	must(p);
	p->step = step;
	p->verdict = judge(t, x);
	p->status = t->status;
	p->common = judge__common(t, x);
	p->cnt = t->cnt < PENDING_FRAMES ? t->cnt : PENDING_FRAMES;
	p->expected_cnt = x->cnt < PENDING_FRAMES ? x->cnt : PENDING_FRAMES;
	memcpy(p->frames, t->frames, p->cnt * sizeof(*p->frames));
	memcpy(p->expected, x->frames, p->expected_cnt * sizeof(*p->expected));
	return p;
}

/* ---- counts -----------------------------------------------------------------------------------*/

#define GROUP_MAX   256
#define GROUP_PRINT 30

/* Incomplete or wrong walks that end or differ at the same place. */
struct group {
	enum verdict verdict;
	enum unwind_status status;
	char callee[96]; /* the last right frame's function */
	char file[64];
	uint64_t cnt;
};

struct tally {
	uint64_t walks, by_verdict[VERDICT_CNT];
	uint64_t honest[UNWIND_STATUS_CNT], marked[FRAME_SOURCE_CNT];
	uint64_t jumps; /* walks that are right for the target of a jump */
	struct group groups[GROUP_MAX];
	size_t group_cnt;
};

static inline struct group *tally__group(struct tally *t, const struct group *key)
{
	struct group *g = t->groups;

	while (g < t->groups + t->group_cnt &&
	       (g->verdict != key->verdict || g->status != key->status ||
		strcmp(g->callee, key->callee) != 0 || strcmp(g->file, key->file) != 0))
		g++;
	if (g == t->groups + GROUP_MAX)
		return g - 1;
	if (g == t->groups + t->group_cnt) {
		*g = *key;
		t->group_cnt++;
	}
	return g;
}

/* `last` is the last right frame; its callers are wrong or missing. */
static inline void tally__place(struct tally *t, enum verdict v, enum unwind_status status,
				const struct frame *last)
{
	struct group key = { .verdict = v, .status = status };
	const char *path = proc__path(last), *name = strrchr(path, '/');

	snprintf(key.callee, sizeof(key.callee), "%s", walks__name(last));
	snprintf(key.file, sizeof(key.file), "%s", name ? name + 1 : path);
	tally__group(t, &key)->cnt++;
}

static inline void tally__count(struct tally *t, enum verdict v, const struct trace *trace,
				size_t common)
{
	t->walks++;
	t->by_verdict[v]++;
	if (v == VERDICT_HONEST)
		t->honest[trace->status]++;
	if (v == VERDICT_MARKED)
		t->marked[judge__has_mark(trace, common) ? trace->frames[common].source
							 : trace->frames[common - 1].source]++;
	if (v != VERDICT_WHOLE)
		tally__place(t, v, trace->status, &trace->frames[common ? common - 1 : 0]);
}

static inline uint64_t tally__wrong_cnt(const struct tally *t)
{
	return t->by_verdict[VERDICT_WRONG_ROOT] + t->by_verdict[VERDICT_WRONG_OTHER];
}

/* ---- output -----------------------------------------------------------------------------------
 */

static inline const char *status__name(enum unwind_status s)
{
#define X(id, name) name,
	static const char *const names[] = { UNWIND_STATUSES(X) };
#undef X
	return names[s];
}

static inline const char *source__name(enum frame_source s)
{
#define X(id, mark) #id,
	static const char *const names[] = { FRAME_SOURCES(X) };
#undef X
	return names[s];
}

static inline void judge__print_frame(const char *what, const struct frame *f, const char *source)
{
	printf("    %-8s %012" PRIx64 "%s %s (%s) %s\n", what, f->pc,
	       f->flags & FRAME_CALLER ? "-" : " ", walks__name(f), proc__path(f), source);
}

/* Prints both chains from two frames before the first difference on. */
static inline void judge__print(const struct procs *ps, const struct proc *p,
				const struct pending *w)
{
	size_t from = w->common > 2 ? w->common - 2 : 0, to = w->common + 6;

	printf("---- instruction %" PRIu64 ", process %u: %s, status %s, %zu frames of %zu, "
	       "the first %zu are right\n",
	       w->step, p->tgid, verdict__name(w->verdict), status__name(w->status), w->cnt,
	       w->expected_cnt, w->common);
	for (size_t i = 0; i < w->cnt && i < to; i += i == 0 && from > 1 ? from : 1) {
		struct frame f =
			proc__frame(ps, p, w->frames[i].pc, w->frames[i].flags & FRAME_CALLER);

		judge__print_frame(i < w->common ? "right" : "walk", &f,
				   source__name(w->frames[i].source));
	}
	for (size_t i = w->common; i < w->expected_cnt && i < to; i++) {
		struct frame f = proc__frame(ps, p, w->expected[i].pc, w->expected[i].caller);

		judge__print_frame("expected", &f, "");
	}
}

static inline int group__compare(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->cnt < y->cnt ? 1 : x->cnt > y->cnt ? -1 : 0;
}

static inline void tally__print_groups(struct tally *t)
{
	qsort(t->groups, t->group_cnt, sizeof(*t->groups), group__compare);
	for (size_t i = 0; i < t->group_cnt && i < GROUP_PRINT; i++) {
		const struct group *g = &t->groups[i];

		printf("callers of\t%s (%s)\t%s\t%s\t%" PRIu64 "\n", g->callee, g->file,
		       verdict__name(g->verdict), status__name(g->status), g->cnt);
	}
}

/* Prints one line for each count: name, tab, number. */
static inline void tally__print(struct tally *t)
{
	printf("walks\t%" PRIu64 "\n", t->walks);
	for (size_t v = 0; v < VERDICT_CNT; v++)
		printf("%s\t%" PRIu64 "\n", verdict__name(v), t->by_verdict[v]);
	for (size_t i = 0; i < UNWIND_STATUS_CNT; i++)
		if (t->honest[i])
			printf("honest: %s\t%" PRIu64 "\n", status__name(i), t->honest[i]);
	for (size_t i = 0; i < FRAME_SOURCE_CNT; i++)
		if (t->marked[i])
			printf("marked: %s\t%" PRIu64 "\n", source__name(i), t->marked[i]);
	if (t->jumps)
		printf("target of a jump\t%" PRIu64 "\n", t->jumps);
	tally__print_groups(t);
}

#endif
