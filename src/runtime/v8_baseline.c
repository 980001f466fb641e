// SPDX-License-Identifier: GPL-2.0-or-later
/* Which bytecode each place of baseline code was made for
 * (src/baseline/bytecode-offset-iterator.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "runtime/v8.h"

#define BYTECODES_MAX (1u << 20) /* bytes */
#define KINDS_MAX     256
#define PREFIX_WIDE   0 /* operands of 2 bytes follow; 2: the debugger's copy */
#define PREFIX_EXTRA  1 /* … of 4 bytes; 3 */
#define WIDTH_CNT     3

/* The size of each kind of bytecode, for each width of its operands. */
struct sizes {
	uint8_t of[WIDTH_CNT * KINDS_MAX];
	uint32_t kind_cnt;
};

static bool v8_read_sizes(const struct v8_heap *h, struct sizes *s)
{
	const struct runtime_layout *l = h->layout;

	s->kind_cnt = l->at[V8_BYTECODES];
	return s->kind_cnt && s->kind_cnt <= KINDS_MAX &&
	       remote__read(h->remote, l->heaps, s->of, (size_t)WIDTH_CNT * s->kind_cnt);
}

/* Returns the bytes of the bytecode at `at`, with its prefix; 0: it is none. */
static size_t bytecode_sz(const struct sizes *s, const uint8_t *at, size_t left)
{
	uint32_t width = 0, prefix = 0;

	if (!left)
		return 0;
	if (*at <= 3) {
		width = *at % 2 == PREFIX_WIDE ? 1 : 2;
		prefix = 1;
	}
	if (left <= prefix || at[prefix] >= s->kind_cnt)
		return 0;
	return prefix + s->of[width * s->kind_cnt + at[prefix]];
}

struct bytecodes {
	uint8_t *at;
	size_t sz;
};

static bool v8_read_bytecodes(const struct v8_heap *h, uint64_t array, struct bytecodes *b)
{
	int32_t sz = v8__has_type(h, array, V8_TYPE_BYTECODE)
			     ? v8__smi(v8__field(h, array, V8_BYTECODE_CNT))
			     : 0;

	b->at = sz > 0 && (uint32_t)sz <= BYTECODES_MAX ? malloc((size_t)sz) : NULL;
	b->sz = b->at ? (size_t)sz : 0;
	return b->at &&
	       remote__read(h->remote, array - 1 + h->layout->at[V8_BYTECODE_DATA], b->at, b->sz);
}

/* A distance for the function's entry, then one for each bytecode: to where its code ends. The
 * entry counts as the first bytecode. */
static int v8_baseline_read_places(struct code_blob *b, const struct sizes *s,
				   const struct bytecodes *codes, struct v8_numbers *table)
{
	size_t at = 0, max = (size_t)(table->end - table->at), sz = 0;
	uint64_t end = 0;

	b->places = calloc(max + 1, sizeof(*b->places));
	if (!b->places)
		return -ENOMEM;
	for (size_t i = 0; i < max && at < codes->sz; i++) {
		uint64_t distance = v8_numbers__take(table);

		end += distance;
		if (table->err || distance > b->end - b->start || end > b->end - b->start)
			break;
		if (distance)
			b->places[b->place_cnt++] =
				(struct code_place){ (uint32_t)end, (uint32_t)at };
		at += sz;
		sz = bytecode_sz(s, codes->at + at, at < codes->sz ? codes->sz - at : 0);
	}
	return 0;
}

/* Without the table a frame has no line. */
int v8__read_baseline(const struct v8_heap *h, uint64_t code, struct code_blob *b)
{
	struct bytecodes codes = { 0 };
	struct v8_numbers table = { 0 };
	struct sizes s;
	uint8_t *bytes;
	size_t sz;
	int err = 0;

	bytes = v8__bytes(h, v8__field(h, code, V8_CODE_POSITIONS), &sz);
	if (bytes && v8_read_sizes(h, &s) &&
	    v8_read_bytecodes(h, v8__field(h, code, V8_CODE_DEOPT), &codes)) {
		table = (struct v8_numbers){ bytes, bytes + sz, false };
		err = v8_baseline_read_places(b, &s, &codes, &table);
	}
	h->remote->err = false;
	free(codes.at);
	free(bytes);
	return err;
}
