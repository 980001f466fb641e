// SPDX-License-Identifier: GPL-2.0-or-later
/* The layout of CRuby by version, and where a process has its VM and its symbols. */
#include <errno.h>
#include <string.h>

#include "runtime/ruby_layout.h"

#define VERSION(major, minor) ((major) << 8 | (minor))

#define SINCE_3_2                                                                 \
	[RUBY_THREAD_NATIVE] = 40, [RUBY_THREAD_EC] = 48, [RUBY_BODY_INFO] = 112, \
	[RUBY_EMBEDDED_TEXT] = 24

/* vm_core.h, thread_pthread.h, iseq.h, internal/core/rstring.h of each version. */
static const struct runtime_layout known[] = {
	{ .version = VERSION(3, 1),
	  .at = { [RUBY_THREAD_NATIVE] = RUBY_NONE,
		  [RUBY_ID] = 80,
		  [RUBY_THREAD_EC] = 40,
		  [RUBY_FRAME_SIZE] = 64,
		  [RUBY_BODY_INFO] = 120,
		  [RUBY_EMBEDDED_TEXT] = 16,
		  [RUBY_HAS_BOXED_LINE] = 1,
		  [RUBY_HAS_FLAGS_LENGTH] = 1 } },
	{ .version = VERSION(3, 2), .at = { SINCE_3_2, [RUBY_ID] = 8, [RUBY_FRAME_SIZE] = 64 } },
	{ .version = VERSION(3, 3), .at = { SINCE_3_2, [RUBY_ID] = 16, [RUBY_FRAME_SIZE] = 56 } },
	{ .version = VERSION(3, 4), .at = { SINCE_3_2, [RUBY_ID] = 16, [RUBY_FRAME_SIZE] = 56 } },
};

#define ARRAY_CNT(a) (sizeof(a) / sizeof(*(a)))

/* ---- objects ------------------------------------------------------------------------------------
 */

static uint64_t ruby_layout_type_of(uint64_t flags)
{
	return flags & RUBY_TYPE_MASK;
}

uint64_t ruby__element(struct remote *r, uint64_t array, uint64_t index)
{
	uint64_t words[5];

	if (array % 8 || !remote__read(r, array, words, sizeof(words)) ||
	    ruby_layout_type_of(words[0]) != RUBY_TYPE_ARRAY)
		return 0;
	if (words[0] & RUBY_FLAG_USER1)
		return remote__u64(r, array + 16 + 8 * index);
	return index < words[2] ? remote__u64(r, words[4] + 8 * index) : 0;
}

/* Sets the place and the length of a String's bytes. */
static bool ruby_layout_find_text(struct remote *r, const struct runtime_layout *l, uint64_t *at,
				  uint64_t *sz)
{
	uint64_t words[4];

	if (*at % 8 || !remote__read(r, *at, words, sizeof(words)) ||
	    ruby_layout_type_of(words[0]) != RUBY_TYPE_STRING)
		return false;
	*sz = words[2];
	if (words[0] & RUBY_FLAG_USER1) {
		*at = words[3];
		return true;
	}
	if (l->at[RUBY_HAS_FLAGS_LENGTH])
		*sz = words[0] >> 14 & 0x1f;
	*at += l->at[RUBY_EMBEDDED_TEXT];
	return true;
}

bool ruby__text(struct remote *r, const struct runtime_layout *l, uint64_t string, char *text,
		size_t sz)
{
	uint64_t at = string, have;

	memset(text, 0, sz);
	if (!ruby_layout_find_text(r, l, &at, &have))
		return false;
	return remote__read(r, at, text, have < sz - 1 ? have : sz - 1);
}

/* ---- places -------------------------------------------------------------------------------------
 */

#define REACH	    (128u << 10) /* bytes of .data and .bss, on both sides of rb_cObject */
#define CHUNK	    1024
#define STEP	    (CHUNK - 8 * RUBY_SYMBOLS_WORDS) /* so that a struct is whole in one chunk */
#define POINTER_MIN 4096
#define PLUS	    '+' /* an operator's id is its character */
#define LAST_ID_MAX (1u << 28)

/* Whatever is read of a wrong candidate must not end the search. */
static struct remote ruby_trial_of(const struct remote *r)
{
	return (struct remote){ .mem = r->mem, .left = r->left };
}

static bool ruby_is_vm(struct remote *r, const struct runtime_layout *l, uint64_t vm, uint64_t *ec)
{
	struct remote trial = ruby_trial_of(r);
	uint64_t thread, of_thread;

	thread = remote__u64(&trial, vm + RUBY_VM_MAIN_THREAD);
	of_thread = trial.err ? 0 : remote__u64(&trial, thread + RUBY_THREAD_VM);
	*ec = of_thread == vm ? remote__u64(&trial, thread + l->at[RUBY_THREAD_EC]) : 0;
	of_thread = *ec ? remote__u64(&trial, *ec + RUBY_EC_THREAD) : 0;
	r->left = trial.left;
	return !trial.err && *ec && of_thread == thread;
}

/* The table of symbols has the name of an operator at the right place. */
static bool ruby_are_symbols(struct remote *r, const struct runtime_layout *l,
			     const uint64_t *words)
{
	struct remote trial = ruby_trial_of(r);
	char name[4] = "";
	uint64_t string;

	if (words[0] <= PLUS || words[0] > LAST_ID_MAX || !words[RUBY_SYMBOLS_IDS])
		return false;
	string = ruby__element(&trial, words[RUBY_SYMBOLS_IDS], 0);
	string = ruby__element(&trial, string, 2 * PLUS);
	ruby__text(&trial, l, string, name, sizeof(name));
	r->left = trial.left;
	return strcmp(name, "+") == 0;
}

struct places {
	uint64_t ec, symbols;
};

static bool ruby_layout_is_pointer(uint64_t word)
{
	return word > POINTER_MIN && word % 8 == 0 && word <= INT64_MAX;
}

static void ruby_search_chunk(struct remote *r, struct runtime_layout *l, uint64_t at,
			      struct places *p)
{
	uint64_t words[CHUNK / 8], ec;
	struct remote trial = ruby_trial_of(r);
	bool there = remote__read(&trial, at, words, sizeof(words));

	r->left = trial.left;
	for (size_t i = 0; there && i < ARRAY_CNT(words); i++) {
		if (!p->ec && ruby_layout_is_pointer(words[i]) && ruby_is_vm(r, l, words[i], &ec))
			p->ec = ec;
		if (!p->symbols && i + RUBY_SYMBOLS_WORDS <= ARRAY_CNT(words) &&
		    ruby_are_symbols(r, l, words + i))
			p->symbols = at + i * 8;
	}
}

/* Newer versions do not export the variables: they are found by what they lead to. */
static void ruby_layout_search(struct remote *r, struct runtime_layout *l, uint64_t around,
			       struct places *p)
{
	for (uint64_t off = 0; off < REACH && !(p->ec && p->symbols); off += STEP) {
		ruby_search_chunk(r, l, around + off, p);
		ruby_search_chunk(r, l, around - STEP - off, p);
	}
}

static bool ruby_layout_find_version(struct remote *r, uint64_t api_version,
				     struct runtime_layout *l)
{
	uint32_t major = remote__u32(r, api_version), minor = remote__u32(r, api_version + 4);

	l->version = VERSION(major & 255, minor & 255);
	for (size_t i = 0; i < ARRAY_CNT(known); i++) {
		if (known[i].version != l->version)
			continue;
		memcpy(l->at, known[i].at, sizeof(l->at));
		return true;
	}
	return false;
}

int ruby__find_layout(struct remote *r, const uint64_t *symbols, struct runtime_layout *l,
		      uint64_t *ec)
{
	struct places p = { 0 };

	if (!ruby_layout_find_version(r, symbols[RUBY_API_VERSION], l))
		return r->err ? -EAGAIN : -ENOTSUP;
	if (!symbols[RUBY_OBJECT] || !symbols[RUBY_STDOUT])
		return -ENOTSUP;
	if (!remote__u64(r, symbols[RUBY_STDOUT])) /* Init_IO() comes after all that is needed */
		return -EAGAIN;
	if (symbols[RUBY_CURRENT_VM] &&
	    !ruby_is_vm(r, l, remote__u64(r, symbols[RUBY_CURRENT_VM]), &p.ec))
		p.ec = 0;
	ruby_layout_search(r, l, symbols[RUBY_OBJECT], &p);
	*ec = p.ec;
	l->heaps = p.symbols;
	return r->err ? -EAGAIN : p.ec && p.symbols ? 0 : -ENOTSUP;
}
