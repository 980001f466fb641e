/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares two walks of one stack. */
#ifndef UNIT_WALKS_H
#define UNIT_WALKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/section.h"
#include "lib/live_rig.h"
#include "symbol/symbol.h"
#include "unwind/libdwflwalk.h"
#include "unwind/unwinder.h"

struct walks {
	struct process_table *table;
	const struct process *process;
	struct jobs *jobs;
	struct unwinder *unwinder;
	struct libdwflwalk *naive;
	struct event *event;
	struct trace *fast, *reference;
};

static inline struct walks *walks__new(pid_t pid)
{
	struct walks *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->table = process_table__new(&(struct process_options){ .proc = "/proc" });
	w->process = process_table__get(w->table, (uint32_t)pid);
	w->jobs = jobs__new();
	w->unwinder = unwinder__new(NULL, w->jobs);
	w->naive = libdwflwalk__new();
	w->event = live__event();
	w->fast = calloc(1, sizeof(*w->fast));
	w->reference = calloc(1, sizeof(*w->reference));
	assert_true(w->process && w->unwinder && w->naive && w->fast && w->reference);
	return w;
}

static inline void walks__free(struct walks *w)
{
	libdwflwalk__free(w->naive);
	jobs__free(w->jobs);
	unwinder__free(w->unwinder);
	process_table__free(w->table);
	free(w->event);
	free(w->fast);
	free(w->reference);
	free(w);
}

/* Returns the function of a frame; "?" if it is unknown. */
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

/* Returns the index of the first frame that differs, or the common length. */
static inline size_t walks__common(const struct walks *w)
{
	const struct frame *a = w->fast->frames, *b = w->reference->frames;
	size_t i = 0;

	while (i < w->fast->cnt && i < w->reference->cnt && a[i].pc == b[i].pc &&
	       a[i].map == b[i].map && (a[i].flags & FRAME_CALLER) == (b[i].flags & FRAME_CALLER))
		i++;
	return i;
}

/* ---- reasons for differences ---- */

/* Returns whether the last common frame has such a name; the next frame differs. */
static inline bool walks__last_is(const struct walks *w, size_t at, const char *prefix)
{
	return strncmp(walks__name(&w->fast->frames[at - 1]), prefix, strlen(prefix)) == 0;
}

static inline bool walks__is_in(const struct frame *f, const char *section)
{
	GElf_Shdr shdr;
	uint64_t vaddr;

	return f->map && f->map->file && section__named(f->map->file, section, &shdr) &&
	       elf_file__vaddr(f->map->file, frame__place(f) - f->map->start + f->map->pgoff,
			       &vaddr) &&
	       vaddr - shdr.sh_addr < shdr.sh_size;
}

/* libdwfl lost callers and continues with later ones, or ends. */
static inline bool walks__comes_back(const struct walks *w, size_t at)
{
	const struct trace *fast = w->fast, *reference = w->reference;
	size_t rest = reference->cnt - at;

	if (reference->status != UNWIND_ROOT)
		return true;
	if (rest > fast->cnt - at)
		return false;
	for (size_t i = 0; i < rest; i++)
		if (fast->frames[fast->cnt - rest + i].pc != reference->frames[at + i].pc)
			return false;
	return true;
}

static inline bool walks__init(const struct walks *w, size_t at)
{
	const struct frame *f = &w->fast->frames[at - 1];

	return (walks__is_in(f, ".init") || walks__is_in(f, ".fini")) && walks__comes_back(w, at);
}

static inline bool walks__without_cfi(const struct walks *w, size_t at)
{
	return at < w->fast->cnt && w->fast->frames[at].source > FRAME_BY_CFI &&
	       walks__comes_back(w, at);
}

/* Or libdwfl ends in one, because the pc during the system call is after it. */
static inline bool walks__unmarked_signal(const struct walks *w, size_t at)
{
	const struct frame *f = w->fast->frames;

	return (at < w->fast->cnt && f[at].flags & FRAME_SIGNAL) ||
	       (at == w->reference->cnt && f[at - 1].flags & FRAME_SIGNAL);
}

static inline bool walks__signal_stack(const struct walks *w, size_t at)
{
	return at > 1 && w->fast->frames[at - 2].flags & FRAME_SIGNAL &&
	       w->event->flags & EVENT_F_SWITCHED;
}

/* After code that switches to the thread's stack we continue on the goroutine's. */
static inline bool walks__end_of_go(const struct walks *w, size_t at)
{
	if (walks__last_is(w, at, "runtime.systemstack") ||
	    walks__last_is(w, at, "runtime.morestack") ||
	    walks__last_is(w, at, "runtime.asmcgocall"))
		return true;
	return at == w->fast->cnt && walks__last_is(w, at, "runtime.") &&
	       (w->fast->status == UNWIND_ROOT || w->fast->status == UNWIND_OTHER_STACK);
}

static inline bool walks__go_in_vdso(const struct walks *w, size_t at)
{
	return walks__last_is(w, at, "runtime.nanotime1") ||
	       walks__last_is(w, at, "runtime.walltime");
}

static inline bool walks__resolver(const struct walks *w, size_t at)
{
	return at == w->reference->cnt && walks__last_is(w, at, "_dl_runtime_resolve");
}

static inline bool walks__no_frame_pointer(const struct walks *w, size_t at)
{
	return at == w->fast->cnt && w->fast->status == UNWIND_NO_CFI;
}

static inline bool walks__old_address(const struct walks *w, size_t at)
{
	return at == 1 && w->fast->cnt > 1 && w->fast->status != UNWIND_ROOT &&
	       w->fast->frames[1].source == FRAME_BY_RETURN_ADDRESS;
}

static inline bool walks__new_thread(const struct walks *w, size_t at)
{
	return at == 1 && w->fast->cnt == 1 && w->fast->status == UNWIND_ROOT &&
	       (walks__last_is(w, at, "clone") || walks__last_is(w, at, "__clone"));
}

static inline bool walks__jit_cfi(const struct walks *w, size_t at)
{
	const struct frame *f = &w->fast->frames[at - 1];

	return at < w->fast->cnt && f[1].source == FRAME_BY_CFI && f->map &&
	       f->map->kind == MAPPING_ANON;
}

/* The first matching row is the explanation; `at` is the first frame that differs. libdwfl is
 * 0.188. */
static const struct {
	const char *name;
	const char *why; /* our walk is right unless the text says that libdwfl is */
	bool (*holds)(const struct walks *, size_t at);
} walks__explanations[] = {
	{ "no CFI",
	  "a static program's PLT, JIT code: libdwfl follows rbp also from leaves that have no "
	  "frame, "
	  "and so loses their callers, or ends up nowhere",
	  walks__without_cfi },
	{ "_init, _fini",
	  "they have no CFI, and are known by their code; libdwfl does as without CFI",
	  walks__init },
	{ "CFI of generated code", "a jitdump, or the list for gdb, has it: libdwfl reads neither",
	  walks__jit_cfi },
	{ "unmarked signal frame",
	  "libdwfl knows trampolines by their CFI only: Go's has none, and the C library's ends "
	  "before the place where a thread is during the system call",
	  walks__unmarked_signal },
	{ "signal stack",
	  "libdwfl has the handler's stack only, not the one that it has interrupted",
	  walks__signal_stack },
	{ "end of a Go stack", "libdwfl does not know it and goes on into what is above",
	  walks__end_of_go },
	{ "Go in the vdso", "nanotime1 and walltime call it on another stack", walks__go_in_vdso },
	{ "no frame pointer",
	  "code without CFI that uses rbp for something else (PCRE's and LuaJIT's JIT, assembly): "
	  "we say "
	  "so and end, libdwfl takes it for a frame",
	  walks__no_frame_pointer },
	{ "old address",
	  "libdwfl is right: an earlier call has left its return address where the stack of a leaf "
	  "without CFI ends, and the leaf has a frame; nothing tells it from one that has none",
	  walks__old_address },
	{ "new thread",
	  "it begins behind the system call in clone(), where the C library has no CFI; libdwfl "
	  "takes "
	  "what lies on its stack for a caller",
	  walks__new_thread },
	{ "_dl_runtime_resolve",
	  "its CFA is in rbx, which libdwfl takes for a register that calls clobber: its table of "
	  "the "
	  "ones they preserve (x86_64_cfi.c) has 0, rax, in rbx's place; it stops there",
	  walks__resolver },
};

#define WALKS_EXPLANATIONS (sizeof(walks__explanations) / sizeof(*walks__explanations))

/* Returns the index of the explanation; WALKS_EXPLANATIONS: none. */
static inline size_t walks__explain(const struct walks *w, size_t at)
{
	size_t i = 0;

	while (i < WALKS_EXPLANATIONS && (!at || !walks__explanations[i].holds(w, at)))
		i++;
	return i;
}

/* Walks with libdw's rules and, if the files' tables exist, with packed ones: all frames are equal.
 */
static inline bool walks__both_ways(struct walks *w)
{
	struct sample s;

	event__sample(w->event, &s);
	unwinder__walk(w->unwinder, w->process, &s, w->reference);
	assert_true(jobs__wait(w->jobs, 60000000000));
	unwinder__walk(w->unwinder, w->process, &s, w->fast);
	if (w->fast->cnt == w->reference->cnt && w->fast->status == w->reference->status &&
	    memcmp(w->fast->frames, w->reference->frames,
		   w->fast->cnt * sizeof(w->fast->frames[0])) == 0)
		return true;
	walks__print("by tables", w->fast);
	walks__print("before there were any", w->reference);
	return false;
}

/* Walks w->event in all ways; returns false after printing a difference that is our fault. */
static inline bool walks__agree(struct walks *w)
{
	struct sample s;
	size_t common;

	event__sample(w->event, &s);
	if (!walks__both_ways(w))
		return false;
	libdwflwalk__walk(w->naive, w->process, &s, w->reference);
	common = walks__common(w);
	if (common == w->fast->cnt && common == w->reference->cnt)
		return true;
	if (walks__explain(w, common) < WALKS_EXPLANATIONS)
		return true;
	walks__print("the walk", w->fast);
	walks__print("libdwfl", w->reference);
	return false;
}

#endif
