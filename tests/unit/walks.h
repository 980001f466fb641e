/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two walks of one stack, compared. */
#ifndef UNIT_WALKS_H
#define UNIT_WALKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "live.h"
#include "symbol/symbol.h"
#include "unwind/naive.h"
#include "unwind/unwinder.h"

struct walks {
	struct process_table *table;
	const struct process *process;
	struct unwinder *unwinder;
	struct naive *naive;
	struct event *event;
	struct trace *fast, *reference;
};

static inline struct walks *walks__new(pid_t pid)
{
	struct walks *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->table = process_table__new("/proc");
	w->process = process_table__get(w->table, (uint32_t)pid);
	w->unwinder = unwinder__new(NULL);
	w->naive = naive__new();
	w->event = live__event();
	w->fast = calloc(1, sizeof(*w->fast));
	w->reference = calloc(1, sizeof(*w->reference));
	assert_true(w->process && w->unwinder && w->naive && w->fast && w->reference);
	return w;
}

static inline void walks__free(struct walks *w)
{
	naive__free(w->naive);
	unwinder__free(w->unwinder);
	process_table__free(w->table);
	free(w->event);
	free(w->fast);
	free(w->reference);
	free(w);
}

/* The function a frame is in; "?" where nobody knows. */
static inline const char *walks__name(const struct frame *f)
{
	struct symbol s;
	uint64_t vaddr;

	if (f->map && f->map->file &&
	    elf_file__vaddr(f->map->file, frame__place(f) - f->map->start + f->map->pgoff,
			    &vaddr) &&
	    elf_file__symbol(f->map->file, vaddr, &s))
		return s.name;
	return "?";
}

static inline const char *walks__status(const struct trace *t)
{
#define X(id, name) name,
	static const char *const names[] = { UNWIND_STATUSES(X) };
#undef X
	return names[t->status];
}

static inline void walks__print(const char *title, const struct trace *t)
{
	fprintf(stderr, "%s:\n", title);
	for (size_t i = 0; i < t->cnt && i < 60; i++)
		fprintf(stderr, "  %2zu %012lx %x %s\n", i, (unsigned long)t->frames[i].pc,
			t->frames[i].flags, walks__name(&t->frames[i]));
	fprintf(stderr, "  %s\n", walks__status(t));
}

/* The first frame that differs; the common length when none does. */
static inline size_t walks__common(const struct walks *w)
{
	const struct frame *a = w->fast->frames, *b = w->reference->frames;
	size_t i = 0;

	while (i < w->fast->cnt && i < w->reference->cnt && a[i].pc == b[i].pc &&
	       a[i].map == b[i].map && (a[i].flags & FRAME_CALLER) == (b[i].flags & FRAME_CALLER))
		i++;
	return i;
}

/*
 * Where libdwfl (0.188) is wrong:
 * - It takes rbx for a register that calls clobber, because its table of the ones they preserve
 *   (x86_64_cfi.c) has 0, rax, in rbx's place. _dl_runtime_resolve's CFA is in rbx: the walk stops
 *   there while _dl_fixup has not saved it.
 * - Without CFI (a static program's PLT, _init, JIT code) it follows rbp also from leaves that have
 *   no frame, and so loses their callers or ends up anywhere.
 * - It knows nothing of the ends of Go's stacks and goes on into what is above them, nor that
 *   Go's nanotime1 and walltime call the vdso on another stack.
 * - It knows signal trampolines by their CFI only: Go's has none.
 */
static inline bool walks__reference_is_wrong(const struct walks *w, size_t at)
{
	const struct trace *t = w->fast;
	const char *last = walks__name(&t->frames[at - 1]);

	if (at < t->cnt && (t->frames[at].flags & (FRAME_FP | FRAME_SIGNAL)))
		return true;
	if (at == t->cnt)
		return strncmp(last, "runtime.", 8) == 0 &&
		       (t->status == UNWIND_ROOT || t->status == UNWIND_OTHER_STACK);
	return strncmp(last, "runtime.nanotime1", 17) == 0 ||
	       strncmp(last, "runtime.walltime", 16) == 0 ||
	       (at == w->reference->cnt && strncmp(last, "_dl_runtime_resolve", 19) == 0);
}

/* With libdw's rules and, when its files' tables are there, by flat ones: the same to the frame. */
static inline bool walks__both_ways(struct walks *w)
{
	unwinder__walk(w->unwinder, w->process, w->event, w->reference);
	unwinder__settle(w->unwinder);
	unwinder__walk(w->unwinder, w->process, w->event, w->fast);
	if (w->fast->cnt == w->reference->cnt && w->fast->status == w->reference->status &&
	    memcmp(w->fast->frames, w->reference->frames,
		   w->fast->cnt * sizeof(w->fast->frames[0])) == 0)
		return true;
	walks__print("by tables", w->fast);
	walks__print("before there were any", w->reference);
	return false;
}

/* Walks w->event all ways; false after printing a difference that is our fault. */
static inline bool walks__agree(struct walks *w)
{
	size_t common;

	if (!walks__both_ways(w))
		return false;
	naive__walk(w->naive, w->process, w->event, w->reference);
	common = walks__common(w);
	if (common == w->fast->cnt && common == w->reference->cnt)
		return true;
	if (common && walks__reference_is_wrong(w, common))
		return true;
	walks__print("the walk", w->fast);
	walks__print("libdwfl", w->reference);
	return false;
}

#endif
