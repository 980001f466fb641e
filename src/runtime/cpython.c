// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPython 3.9 to 3.15. A thread's calls are a linked list of _PyInterpreterFrame.
 * Several calls share one activation of _PyEval_EvalFrameDefault(): Python calls Python without C.
 * Up to 3.10, they are a list of PyFrameObject, with an activation each.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/activations.h"
#include "runtime/cpython_layout.h"
#include "runtime/threadslot.h"

/* enum _frameowner: from 3.12 on, the C function has its own frame at the end of its calls. */
#define OWNED_BY_INTERPRETER 3

#define INTERPRETERS_MAX 64
#define CODE_TAGS	 7ull /* of _PyStackRef, from 3.14 on */
#define OFFSET_MAX	 (1u << 20)

/* The offsets in CPython's objects for versions that do not export them (3.9 to 3.12;
 * Include/internal, Include/cpython). */
static const struct runtime_layout fixed[] = {
	{ .version = VERSION(3, 9),
	  .at = { [AT_INTERPRETERS] = 32,	 [AT_INTERP_NEXT] = 0,
		  [AT_INTERP_THREADS] = 8,	 [AT_THREAD_NEXT] = 8,
		  [AT_THREAD_ID] = 176,		 [AT_THREAD_FIRST] = 24,
		  [AT_CFRAME_CURRENT] = AT_NONE, [AT_CFRAME_PREVIOUS] = AT_NONE,
		  [AT_FRAME_CODE] = 32,		 [AT_FRAME_PREVIOUS] = 24,
		  [AT_FRAME_INSTR] = 104,	 [AT_FRAME_OWNER] = 104,
		  [AT_CODE_FILE] = 104,		 [AT_CODE_NAME] = 112,
		  [AT_CODE_LINES] = 120,	 [AT_CODE_FIRST_LINE] = 40,
		  [AT_CODE_BYTES] = 48,		 [AT_TEXT_LENGTH] = 16,
		  [AT_TEXT_STATE] = 32,		 [AT_TEXT_ASCII] = 48,
		  [AT_TEXT_OTHER] = 72,		 [AT_BYTES] = 32 } },
	{ .version = VERSION(3, 10),
	  .at = { [AT_INTERPRETERS] = 32,	 [AT_INTERP_NEXT] = 0,
		  [AT_INTERP_THREADS] = 8,	 [AT_THREAD_NEXT] = 8,
		  [AT_THREAD_ID] = 176,		 [AT_THREAD_FIRST] = 24,
		  [AT_CFRAME_CURRENT] = AT_NONE, [AT_CFRAME_PREVIOUS] = AT_NONE,
		  [AT_FRAME_CODE] = 32,		 [AT_FRAME_PREVIOUS] = 24,
		  [AT_FRAME_INSTR] = 96,	 [AT_FRAME_OWNER] = 96,
		  [AT_CODE_FILE] = 104,		 [AT_CODE_NAME] = 112,
		  [AT_CODE_LINES] = 120,	 [AT_CODE_FIRST_LINE] = 40,
		  [AT_CODE_BYTES] = 48,		 [AT_TEXT_LENGTH] = 16,
		  [AT_TEXT_STATE] = 32,		 [AT_TEXT_ASCII] = 48,
		  [AT_TEXT_OTHER] = 72,		 [AT_BYTES] = 32 } },
	{ .version = VERSION(3, 11), .at = { [AT_INTERPRETERS] = 40,   [AT_INTERP_NEXT] = 0,
					     [AT_INTERP_THREADS] = 16, [AT_THREAD_NEXT] = 8,
					     [AT_THREAD_ID] = 152,     [AT_THREAD_FIRST] = 56,
					     [AT_CFRAME_CURRENT] = 8,  [AT_CFRAME_PREVIOUS] = 16,
					     [AT_FRAME_CODE] = 32,     [AT_FRAME_PREVIOUS] = 48,
					     [AT_FRAME_INSTR] = 56,    [AT_FRAME_OWNER] = 68,
					     [AT_CODE_FILE] = 112,     [AT_CODE_NAME] = 128,
					     [AT_CODE_LINES] = 136,    [AT_CODE_FIRST_LINE] = 72,
					     [AT_CODE_BYTES] = 184,    [AT_TEXT_LENGTH] = 16,
					     [AT_TEXT_STATE] = 32,     [AT_TEXT_ASCII] = 48,
					     [AT_TEXT_OTHER] = 72,     [AT_BYTES] = 32 } },
	{ .version = VERSION(3, 12),
	  .at = { [AT_INTERPRETERS] = 40,   [AT_INTERP_NEXT] = 0,
		  [AT_INTERP_THREADS] = 72, [AT_THREAD_NEXT] = 8,
		  [AT_THREAD_ID] = 136,	    [AT_THREAD_FIRST] = 56,
		  [AT_CFRAME_CURRENT] = 0,  [AT_CFRAME_PREVIOUS] = AT_NONE,
		  [AT_FRAME_CODE] = 0,	    [AT_FRAME_PREVIOUS] = 8,
		  [AT_FRAME_INSTR] = 56,    [AT_FRAME_OWNER] = 70,
		  [AT_CODE_FILE] = 112,	    [AT_CODE_NAME] = 128,
		  [AT_CODE_LINES] = 136,    [AT_CODE_FIRST_LINE] = 68,
		  [AT_CODE_BYTES] = 192,    [AT_TEXT_LENGTH] = 16,
		  [AT_TEXT_STATE] = 32,	    [AT_TEXT_ASCII] = 40,
		  [AT_TEXT_OTHER] = 56,	    [AT_BYTES] = 32 } },
};

/*
 * From 3.13 on, _PyRuntime begins with struct _Py_DebugOffsets, which has the offsets of the
 * build. Here, .at has indexes of its words (Include/internal/pycore_debug_offsets.h); 0: no such
 * word.
 */
#define COOKIE	      "xdebugpy"
#define DEBUG_VERSION 8

static const struct runtime_layout described[] = {
	{ .version = VERSION(3, 13),
	  .at = { [AT_INTERPRETERS] = 5, [AT_INTERP_NEXT] = 8,	    [AT_INTERP_THREADS] = 9,
		  [AT_THREAD_NEXT] = 21, [AT_THREAD_ID] = 24,	    [AT_THREAD_FIRST] = 23,
		  [AT_FRAME_CODE] = 30,	 [AT_FRAME_PREVIOUS] = 29,  [AT_FRAME_INSTR] = 31,
		  [AT_FRAME_OWNER] = 33, [AT_CODE_FILE] = 35,	    [AT_CODE_NAME] = 37,
		  [AT_CODE_LINES] = 38,	 [AT_CODE_FIRST_LINE] = 39, [AT_CODE_BYTES] = 43,
		  [AT_TEXT_LENGTH] = 69, [AT_TEXT_STATE] = 68,	    [AT_TEXT_ASCII] = 70,
		  [AT_BYTES] = 66,	 [AT_OBJECT_TYPE] = 45,	    [AT_OBJECT_SIZE] = 65,
		  [AT_TYPE_NAME] = 47 } },
	{ .version = VERSION(3, 14),
	  .at = { [AT_INTERPRETERS] = 5, [AT_INTERP_NEXT] = 8,	    [AT_INTERP_THREADS] = 9,
		  [AT_THREAD_NEXT] = 24, [AT_THREAD_ID] = 27,	    [AT_THREAD_FIRST] = 26,
		  [AT_FRAME_CODE] = 33,	 [AT_FRAME_PREVIOUS] = 32,  [AT_FRAME_INSTR] = 34,
		  [AT_FRAME_OWNER] = 36, [AT_CODE_FILE] = 40,	    [AT_CODE_NAME] = 42,
		  [AT_CODE_LINES] = 43,	 [AT_CODE_FIRST_LINE] = 44, [AT_CODE_BYTES] = 48,
		  [AT_TEXT_LENGTH] = 79, [AT_TEXT_STATE] = 78,	    [AT_TEXT_ASCII] = 80,
		  [AT_BYTES] = 76,	 [AT_OBJECT_TYPE] = 51,	    [AT_OBJECT_SIZE] = 75,
		  [AT_TYPE_NAME] = 53,	 [AT_CODE_COPIES] = 49 } },
	{ .version = VERSION(3, 15),
	  .at = { [AT_INTERPRETERS] = 5, [AT_INTERP_NEXT] = 8,	    [AT_INTERP_THREADS] = 9,
		  [AT_THREAD_NEXT] = 24, [AT_THREAD_ID] = 30,	    [AT_THREAD_FIRST] = 26,
		  [AT_FRAME_CODE] = 41,	 [AT_FRAME_PREVIOUS] = 40,  [AT_FRAME_INSTR] = 42,
		  [AT_FRAME_OWNER] = 44, [AT_CODE_FILE] = 48,	    [AT_CODE_NAME] = 50,
		  [AT_CODE_LINES] = 51,	 [AT_CODE_FIRST_LINE] = 52, [AT_CODE_BYTES] = 56,
		  [AT_TEXT_LENGTH] = 91, [AT_TEXT_STATE] = 90,	    [AT_TEXT_ASCII] = 92,
		  [AT_BYTES] = 88,	 [AT_OBJECT_TYPE] = 59,	    [AT_OBJECT_SIZE] = 87,
		  [AT_TYPE_NAME] = 61,	 [AT_CODE_COPIES] = 57 } },
};

#define ARRAY_CNT(a) (sizeof(a) / sizeof(*(a)))

/* ---- versions -----------------------------------------------------------------------------------
 */

static const struct runtime_layout *cpython_find_version(const struct runtime_layout *of,
							 size_t cnt, uint32_t version)
{
	for (size_t i = 0; i < cnt; i++)
		if (of[i].version == version)
			return &of[i];
	return NULL;
}

/* Offsets come from the process: what BPF reads of a frame has to be in the words that it reads. */
static bool cpython_is_sane(const struct runtime_layout *l)
{
	static const enum cpython_at words[] = { AT_FRAME_CODE, AT_FRAME_PREVIOUS, AT_FRAME_INSTR };

	for (size_t i = 0; i < AT_CNT; i++)
		if (l->at[i] > OFFSET_MAX && l->at[i] != AT_NONE)
			return false;
	for (size_t i = 0; i < ARRAY_CNT(words); i++)
		if (l->at[words[i]] % 8 || l->at[words[i]] / 8 >= CAPTURE_CALL_WORDS)
			return false;
	return l->at[AT_FRAME_OWNER] / 8 < CAPTURE_CALL_WORDS;
}

/* Reads the offsets that the process itself exports. */
static int cpython_read_described(struct remote *r, uint64_t state, struct runtime_layout *l)
{
	const struct runtime_layout *words;

	l->version = (uint32_t)remote__u64(r, state + DEBUG_VERSION) >> 16;
	words = cpython_find_version(described, ARRAY_CNT(described), l->version);
	if (!words)
		return -ENOTSUP;
	for (size_t i = 0; i < AT_CNT; i++) {
		uint64_t v = words->at[i] ? remote__u64(r, state + 8 * words->at[i]) : AT_NONE;

		l->at[i] = v > OFFSET_MAX && words->at[i] ? OFFSET_MAX + 1 : (uint32_t)v;
	}
	l->at[AT_TEXT_OTHER] = l->at[AT_TEXT_ASCII] + 16;
	return r->err ? -EAGAIN : cpython_is_sane(l) ? 0 : -ENOTSUP;
}

static bool cpython_has_cookie(struct remote *r, uint64_t state)
{
	char cookie[sizeof(COOKIE) - 1];

	return remote__read(r, state, cookie, sizeof(cookie)) &&
	       memcmp(cookie, COOKIE, sizeof(cookie)) == 0;
}

enum { SYMBOL_RUNTIME, SYMBOL_VERSION, SYMBOL_SINCE_3_10, SYMBOL_SINCE_3_9 };

static uint32_t cpython_read_version(struct remote *r, const uint64_t *symbols)
{
	if (symbols[SYMBOL_VERSION])
		return (uint32_t)remote__u64(r, symbols[SYMBOL_VERSION]) >> 16;
	return symbols[SYMBOL_SINCE_3_10]  ? VERSION(3, 10)
	       : symbols[SYMBOL_SINCE_3_9] ? VERSION(3, 9)
					   : 0;
}

/* struct _object and struct _typeobject are the same in all versions that have no offsets. */
static void cpython_set_fixed(struct runtime_layout *l, const struct runtime_layout *f)
{
	memcpy(l->at, f->at, sizeof(l->at));
	l->at[AT_OBJECT_TYPE] = 8;
	l->at[AT_OBJECT_SIZE] = 16;
	l->at[AT_TYPE_NAME] = 24;
}

/* `symbols`: addresses, see below. */
static int cpython_find_layout(struct remote *r, const uint64_t *symbols, struct runtime_layout *l)
{
	const struct runtime_layout *f;

	if (cpython_has_cookie(r, symbols[SYMBOL_RUNTIME]))
		return cpython_read_described(r, symbols[SYMBOL_RUNTIME], l);
	l->version = cpython_read_version(r, symbols);
	f = cpython_find_version(fixed, ARRAY_CNT(fixed), l->version);
	if (f)
		cpython_set_fixed(l, f);
	return r->err ? -EAGAIN : f ? 0 : -ENOTSUP;
}

static void cpython_print_version(uint32_t version, char *text, size_t sz)
{
	snprintf(text, sz, "%u.%u", version >> 8, version & 255);
}

/* ---- where a thread's calls are -----------------------------------------------------------------
 */

/* Votes for the place of a thread's state by all threads of an interpreter. */
static void cpython_vote_by_threads(struct remote *r, const struct runtime_layout *l,
				    uint64_t interpreter, struct thread_slot *slot)
{
	uint64_t thread = remote__u64(r, interpreter + l->at[AT_INTERP_THREADS]);

	while (thread && !r->err && thread_slot__wants_more(slot)) {
		thread_slot__vote(slot, r, remote__u64(r, thread + l->at[AT_THREAD_ID]), thread);
		thread = remote__u64(r, thread + l->at[AT_THREAD_NEXT]);
	}
}

static int cpython_find_slot(struct remote *r, const struct runtime_layout *l, uint64_t state,
			     struct capture_runtime *c)
{
	uint64_t interpreter = remote__u64(r, state + l->at[AT_INTERPRETERS]);
	struct thread_slot slot = { 0 };

	for (size_t i = 0; interpreter && !r->err && i < INTERPRETERS_MAX; i++) {
		cpython_vote_by_threads(r, l, interpreter, &slot);
		interpreter = remote__u64(r, interpreter + l->at[AT_INTERP_NEXT]);
	}
	return thread_slot__place(&slot, r, c);
}

/* The cookie of a code object is made of its first line, and the addresses of its name and lines,
 * or bytes. */
static bool cpython_set_cookie(struct runtime_layout *l)
{
	const enum cpython_at words[] = { AT_CODE_FIRST_LINE, AT_CODE_NAME,
					  cpython__has_frame_objects(l) ? AT_CODE_BYTES
									: AT_CODE_LINES };

	l->code_mask = ~CODE_TAGS;
	l->cookie_off = l->at[AT_CODE_FIRST_LINE] & ~7u;
	for (size_t i = 0; i < ARRAY_CNT(words); i++) {
		l->cookie[i] = (l->at[words[i]] - l->cookie_off) / 8;
		if (l->at[words[i]] < l->cookie_off || l->cookie[i] >= CAPTURE_CALL_WORDS)
			return false;
	}
	return true;
}

static int cpython_locate(struct remote *r, const uint64_t *symbols, struct runtime_layout *l,
			  struct capture_runtime *c)
{
	int err = cpython_find_layout(r, symbols, l);
	uint32_t off;

	if (err)
		return err;
	off = cpython__has_frame_objects(l) ? l->at[AT_FRAME_PREVIOUS] : 0;
	*c = (struct capture_runtime){
		.id_off = l->at[AT_THREAD_ID],
		.first_off = l->at[AT_THREAD_FIRST],
		.indirect = l->at[AT_CFRAME_CURRENT],
		.code = (l->at[AT_FRAME_CODE] - off) / 8,
		.previous = (l->at[AT_FRAME_PREVIOUS] - off) / 8,
		.instr = (l->at[AT_FRAME_INSTR] - off) / 8,
		.word = (l->at[AT_FRAME_OWNER] - off) / 8,
		.frame_off = off,
	};
	return cpython_set_cookie(l) ? cpython_find_slot(r, l, symbols[0], c) : -ENOTSUP;
}

/* ---- runs ---------------------------------------------------------------------------------------
 */

static uint8_t cpython_owner_of(const struct runtime_layout *l, const struct event_call *c)
{
	return (uint8_t)(c->word >> l->at[AT_FRAME_OWNER] % 8 * 8);
}

static bool cpython__has_entry_frames(const struct runtime_layout *l)
{
	return !cpython__has_frame_objects(l) && l->at[AT_CFRAME_PREVIOUS] == AT_NONE;
}

/* From 3.12 on, the calls end with the C function's own frame, which is a local variable of that
 * function. */
static bool cpython__is_link(const struct runtime_layout *l, const struct event_call *c)
{
	return cpython__has_entry_frames(l) && cpython_owner_of(l, c) >= OWNED_BY_INTERPRETER;
}

static size_t cpython_split_by_owner(const struct runtime_calls *c, struct runtime_run *runs)
{
	size_t cnt = 0, first = 0;

	for (size_t i = 0; i < c->cnt; i++) {
		if (!cpython__is_link(c->layout, &c->calls[i]))
			continue;
		runs[cnt++] = (struct runtime_run){ first, i - first, c->calls[i].at, 0 };
		first = i + 1;
	}
	if (first < c->cnt)
		runs[cnt++] = (struct runtime_run){ first, c->cnt - first, 0, 0 };
	return cnt;
}

/* In 3.11 a flag marks the last call of a run. A _PyCFrame, a local variable of the C function,
 * has a pointer to that of the previous run. */
static size_t cpython_split_by_entry(const struct runtime_calls *c, struct runtime_run *runs)
{
	size_t cnt = 0, first = 0;
	uint64_t cframe = c->base;

	for (size_t i = 0; i < c->cnt; i++) {
		if (!cpython_owner_of(c->layout, &c->calls[i]) && i + 1 < c->cnt)
			continue;
		runs[cnt++] = (struct runtime_run){ first, i + 1 - first, cframe, 0 };
		first = i + 1;
		if (!snapshot__word(c->stack, cframe + c->layout->at[AT_CFRAME_PREVIOUS], &cframe))
			cframe = 0;
	}
	return cnt;
}

/* Up to 3.10, each call has an activation of its own. */
static size_t cpython_split_by_call(const struct runtime_calls *c, struct runtime_run *runs)
{
	for (size_t i = 0; i < c->cnt; i++)
		runs[i] = (struct runtime_run){ i, 1, 0, 0 };
	activations__assign(c, runs, c->cnt);
	return c->cnt;
}

static size_t cpython_split(const struct runtime_calls *c, struct runtime_run *runs)
{
	if (cpython__has_frame_objects(c->layout))
		return cpython_split_by_call(c, runs);
	return (cpython__has_entry_frames(c->layout) ? cpython_split_by_owner
						     : cpython_split_by_entry)(c, runs);
}

/* The stub between a class and its __init__() is no function of the program. */
static bool cpython_is_hidden(const struct script *s)
{
	return strcmp(s->module, "__init__") == 0;
}

static bool cpython_may_have(const char *file)
{
	return strncmp(file, "python", 6) == 0 || strncmp(file, "libpython", 9) == 0;
}

/* Up to 3.10, f_lasti counts bytes, or units; it is -1 before the first one. */
static uint64_t cpython_instr_of(const struct runtime_layout *l, const struct event_call *c)
{
	int32_t last = (int32_t)c->instr;

	if (!cpython__has_frame_objects(l))
		return c->instr;
	return last <= 0 ? 0 : l->version == VERSION(3, 10) ? 2 * (uint64_t)last : (uint64_t)last;
}

static const char *const symbols[] = { "_PyRuntime", "Py_Version", "Py_NewRef", "PyFrame_GetBack",
				       NULL };

const struct runtime cpython = {
	.name = "python",
	.by_order = "python_order",
	.gone = "python_gone",
	.unknown = { .module = "[python]" },
	.symbols = symbols,
	.may_have = cpython_may_have,
	.locate = cpython_locate,
	.split = cpython_split,
	.is_link = cpython__is_link,
	.read = cpython__read,
	.instr = cpython_instr_of,
	.is_hidden = cpython_is_hidden,
	.evaluator = { "_PyEval_EvalFrameDefault", cpython_may_have },
	/* Locks are semaphores: the interpreter uses these functions for nothing else. It waits in
	 * the second one after it has given the GIL away, until another thread has it. */
	.waits = { { "pthread_cond_timedwait", runtime__is_c_library },
		   { "pthread_cond_wait", runtime__is_c_library } },
	.waiting = { .module = "[python]",
		     .name = "(waits for the GIL)",
		     .module_key = 0x6e6f68747970,
		     .name_key = 0x4c494720726f66 },
	.print_version = cpython_print_version,
};
