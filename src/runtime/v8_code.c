// SPDX-License-Identifier: GPL-2.0-or-later
/* The code that V8 has made: from an address to the object there (src/objects/code.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/v8.h"

#define CODE_MAX    (1u << 19) /* bytes before an address that are searched for its code's start */
#define HEADER_MAX  256	       /* bytes of an object before its instructions */
#define PAGE_SZ	    4096
#define ADDRESS_MIN 65536
#define ADDRESS_MAX (1ull << 47)
#define KIND_MASK   15
#define KIND_REGEXP 3

/* The object that has the instructions, and the one that says what they are. Up to V8 10 it is the
 * same one. */
struct v8_code {
	uint64_t stream, code; /* values */
	uint64_t start, end;   /* of the instructions */
};

static bool v8_has_streams(const struct runtime_layout *l)
{
	return l->at[V8_TYPE_STREAM] != V8_NONE;
}

static bool v8_code_read_code(const struct v8_heap *h, uint64_t stream, struct v8_code *c)
{
	const struct runtime_layout *l = h->layout;

	*c = (struct v8_code){ .stream = stream, .code = stream };
	if (v8_has_streams(l))
		c->code = v8__word(h, stream, 8);
	if (v8_has_streams(l) && !v8__has_type(h, c->code, V8_TYPE_CODE))
		c->code = v8__word(h, stream, 16);
	if (!v8__has_type(h, c->code, V8_TYPE_CODE))
		return false;
	c->start = v8_has_streams(l) ? v8__field(h, c->code, V8_CODE_START)
				     : stream - 1 + l->at[V8_CODE_START];
	c->end = c->start + (uint32_t)v8__field(h, c->code, V8_CODE_SZ);
	return !h->remote->err && c->start > stream && c->start - stream < HEADER_MAX &&
	       c->end > c->start && c->end - c->start <= CODE_MAX &&
	       (!v8_has_streams(l) || v8__field(h, c->code, V8_CODE_STREAM) == stream);
}

/* Returns true if there is code. Leaves no error. */
static bool v8_code_is_code(const struct v8_heap *h, uint64_t stream, struct v8_code *c)
{
	bool err = h->remote->err, found;

	found = v8__has_type(h, stream,
			     v8_has_streams(h->layout) ? V8_TYPE_STREAM : V8_TYPE_CODE) &&
		v8_code_read_code(h, stream, c);
	h->remote->err = err;
	return found;
}

/* Looks for the map of a code object in the words before the address, the next ones first. A page
 * without access precedes the first code of an area. */
static bool v8_find_code(const struct v8_heap *h, uint64_t pc, struct v8_code *c)
{
	uint64_t words[PAGE_SZ / 8], page = pc & -(uint64_t)PAGE_SZ, end = (pc & 7) ^ pc;
	size_t cnt = (end - page) / 8 + 1;

	for (size_t sz = 0; sz < CODE_MAX; sz += PAGE_SZ, page -= PAGE_SZ, cnt = PAGE_SZ / 8) {
		if (!remote__read(h->remote, page, words, cnt * 8))
			return false;
		while (cnt-- > 0)
			if (v8__is_object(words[cnt]) && words[cnt] < ADDRESS_MAX &&
			    words[cnt] > ADDRESS_MIN && v8_code_is_code(h, page + 8 * cnt + 1, c))
				return pc >= c->start && pc < c->end;
	}
	return false;
}

static int v8_code_fill(const struct v8_heap *h, const struct v8_code *c, uint32_t kind,
			struct code_blob *b)
{
	int err = code_blob__read(b, h->remote);

	if (err)
		return err;
	switch (b->kind) {
	case CODE_COMPILED: return v8__read_scopes(h, c->code, b);
	case CODE_BASELINE: return v8__read_baseline(h, c->code, b);
	default:
		return code_blob__name(b, h->layout->runtime->name,
				       h->layout->runtime->unknown.module,
				       kind == KIND_REGEXP ? "(regexp)" : "(code)");
	}
}

static int v8_read_jit(const struct v8_heap *h, const struct code_wanted *w, struct code_blob *b)
{
	uint32_t kind, baseline = h->layout->at[V8_KIND_BASELINE];
	struct v8_code c;

	if (!v8_find_code(h, w->pc, &c))
		return -ENOENT;
	kind = (uint32_t)v8__field(h, c.code, V8_CODE_FLAGS) & KIND_MASK;
	b->kind = kind > baseline ? CODE_COMPILED : kind == baseline ? CODE_BASELINE : CODE_JIT;
	b->start = c.start;
	b->end = c.end;
	b->header = c.code;
	b->id = (uint32_t)(v8__field(h, c.code, V8_CODE_DEOPT) >> 3) ^ (uint32_t)(c.end - c.start);
	if (h->remote->err)
		return -EFAULT;
	return b->header == w->header && b->id == w->id ? -EALREADY : v8_code_fill(h, &c, kind, b);
}

int v8__read_code(struct remote *r, const struct runtime_layout *l, const struct code_wanted *w,
		  struct code_blob *b)
{
	const struct v8_heap h = { r, l };

	return w->hint ? v8__read_bytecode(&h, w, b) : v8_read_jit(&h, w, b);
}
