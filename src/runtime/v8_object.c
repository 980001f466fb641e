// SPDX-License-Identifier: GPL-2.0-or-later
/* Objects and strings of V8 (src/objects/), read from another process. */
#include <stdlib.h>

#include "base/array.h"
#include "base/search.h"
#include "runtime/v8.h"

#define TYPE_STRING_MAX 127
#define STRING_KIND	7
#define STRING_ONE_BYTE 8
#define STRING_UNCACHED 16  /* an external string without the address of its characters */
#define TEXT_MAX	512 /* bytes of a name; more are cut off */
#define PARTS_MAX	16  /* strings that a string may be made of */
#define BYTES_MAX	(4u << 20)

/* Kinds of strings (src/objects/string.h), and where the fields behind the length are. */
enum { STRING_SEQUENTIAL, STRING_CONS, STRING_EXTERNAL, STRING_SLICED, STRING_THIN = 5 };
#define STRING_FIRST  16
#define STRING_SECOND 24

uint64_t v8__word(const struct v8_heap *h, uint64_t object, uint32_t off)
{
	if (v8__is_object(object))
		return remote__u64(h->remote, object - 1 + off);
	h->remote->err = true;
	return 0;
}

uint64_t v8__field(const struct v8_heap *h, uint64_t object, enum v8_at at)
{
	return v8__word(h, object, h->layout->at[at]);
}

uint32_t v8__type(const struct v8_heap *h, uint64_t value)
{
	bool err = h->remote->err;
	uint64_t map = v8__word(h, value, 0);
	uint32_t type = (uint16_t)v8__field(h, map, V8_MAP_TYPE);

	if (h->remote->err)
		type = V8_NONE;
	h->remote->err = err;
	return type;
}

bool v8__has_type(const struct v8_heap *h, uint64_t value, enum v8_at type)
{
	return v8__is_object(value) && v8__type(h, value) == h->layout->at[type];
}

/* ---- strings ------------------------------------------------------------------------------------
 */

/* The characters of a string: they may be those of another one. */
struct v8_chars {
	uint64_t at; /* address */
	uint32_t cnt;
	bool one_byte;
};

static uint32_t v8_count_chars(const struct v8_heap *h, uint64_t string)
{
	return (uint32_t)v8__field(h, string, V8_STRING_CNT);
}

/* Returns the string that this one stands for, or 0. */
static uint64_t v8_find_real(const struct v8_heap *h, uint64_t string, uint32_t type, uint32_t *off)
{
	switch (type & STRING_KIND) {
	case STRING_SLICED:
		*off += (uint32_t)v8__smi(v8__word(h, string, STRING_SECOND));
		return v8__word(h, string, STRING_FIRST);
	case STRING_CONS: /* the second part is empty once it was made flat */
		if (v8_count_chars(h, v8__word(h, string, STRING_SECOND)))
			return 0;
		return v8__word(h, string, STRING_FIRST);
	case STRING_THIN: return v8__word(h, string, STRING_FIRST);
	default: return 0;
	}
}

/* Returns false for a string that is made of two. */
static bool v8_find_chars(const struct v8_heap *h, uint64_t string, struct v8_chars *c)
{
	uint32_t off = 0, type = v8__type(h, string), kind;

	c->cnt = v8_count_chars(h, string);
	for (size_t i = 0; i < PARTS_MAX && type <= TYPE_STRING_MAX; i++) {
		kind = type & STRING_KIND;
		c->one_byte = type & STRING_ONE_BYTE;
		c->at = string - 1 + STRING_FIRST;
		if (kind == STRING_EXTERNAL)
			c->at = type & STRING_UNCACHED ? 0 : v8__word(h, string, STRING_SECOND);
		if (kind == STRING_SEQUENTIAL || kind == STRING_EXTERNAL) {
			c->at += (uint64_t)off * (c->one_byte ? 1 : 2);
			return c->at && !h->remote->err;
		}
		string = v8_find_real(h, string, type, &off);
		type = v8__type(h, string);
	}
	return false;
}

static void v8_put_character(struct buf *b, uint32_t c)
{
	if (c < 0x80) {
		buf__u8(b, (uint8_t)c);
		return;
	}
	if (c >= 0x800)
		buf__u8(b, (uint8_t)(0xe0 | c >> 12));
	buf__u8(b, (uint8_t)(c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6));
	buf__u8(b, (uint8_t)(0x80 | (c & 0x3f)));
}

/* Surrogates become invalid UTF-8, which is cleaned later. */
static bool v8_put_chars(const struct v8_heap *h, const struct v8_chars *c, struct buf *b)
{
	uint32_t cnt = c->cnt < TEXT_MAX ? c->cnt : TEXT_MAX;
	uint8_t bytes[2 * TEXT_MAX];

	if (!remote__read(h->remote, c->at, bytes, (size_t)cnt * (c->one_byte ? 1 : 2)))
		return false;
	for (uint32_t i = 0; i < cnt; i++)
		v8_put_character(b, c->one_byte ? bytes[i]
						: bytes[2 * i] | (uint32_t)bytes[2 * i + 1] << 8);
	return true;
}

/* The parts of a string that is made of others, from left to right. */
bool v8__text(const struct v8_heap *h, uint64_t string, struct buf *b)
{
	uint64_t rest[PARTS_MAX] = { string };
	size_t cnt = 1, start = b->sz;

	for (size_t i = 0; cnt && i < 2 * PARTS_MAX && b->sz - start < TEXT_MAX; i++) {
		uint64_t part = rest[--cnt];
		uint32_t type = v8__type(h, part);
		struct v8_chars c;

		if (type > TYPE_STRING_MAX)
			return false;
		if (v8_find_chars(h, part, &c)) {
			if (!v8_put_chars(h, &c, b))
				return false;
		} else if ((type & STRING_KIND) == STRING_CONS && cnt + 2 <= PARTS_MAX) {
			rest[cnt++] = v8__word(h, part, STRING_SECOND);
			rest[cnt++] = v8__word(h, part, STRING_FIRST);
		} else {
			return false;
		}
	}
	return !h->remote->err;
}

uint8_t *v8__bytes(const struct v8_heap *h, uint64_t array, size_t *sz)
{
	int32_t cnt = v8__is_object(array) ? v8__smi(v8__field(h, array, V8_ARRAY_CNT)) : 0;
	uint8_t *bytes = cnt > 0 && (uint32_t)cnt <= BYTES_MAX ? malloc((size_t)cnt) : NULL;

	*sz = 0;
	if (bytes &&
	    remote__read(h->remote, array - 1 + h->layout->at[V8_ARRAY_DATA], bytes, (size_t)cnt)) {
		*sz = (size_t)cnt;
		return bytes;
	}
	free(bytes);
	return NULL;
}

/* ---- lines --------------------------------------------------------------------------------------
 */

#define SOURCE_MAX (4u << 20) /* characters */
#define PIECE_SZ   65536

static void lines__add(struct v8_lines *l, uint32_t position)
{
	uint32_t *ends = array__room(l->ends, l->cnt, &l->cap, sizeof(*ends));

	if (!ends) {
		l->end = l->end < position ? l->end : position;
		return;
	}
	l->ends = ends;
	ends[l->cnt++] = position;
}

static uint32_t v8_object_char_at(const struct v8_chars *c, const uint8_t *bytes, uint32_t i)
{
	return c->one_byte ? bytes[i] : bytes[2 * i] | (uint32_t)bytes[2 * i + 1] << 8;
}

/* A line ends like in ECMA-262, section 12.3; a carriage return and a line feed are one end. */
static bool v8_ends_line(uint32_t c, uint32_t next)
{
	return c == '\n' || (c == '\r' && next != '\n') || c == 0x2028 || c == 0x2029;
}

/* The last character of a piece is looked at again with the next one. */
static void lines__scan(struct v8_lines *l, const struct v8_heap *h, const struct v8_chars *c)
{
	uint8_t bytes[PIECE_SZ];
	uint32_t width = c->one_byte ? 1 : 2, from = 0, cnt, known;

	while (from < c->cnt) {
		cnt = c->cnt - from < PIECE_SZ / width ? c->cnt - from : PIECE_SZ / width;
		if (!remote__read(h->remote, c->at + (uint64_t)from * width, bytes,
				  (size_t)cnt * width))
			return;
		known = from + cnt < c->cnt ? cnt - 1 : cnt;
		for (uint32_t i = 0; i < known; i++)
			if (v8_ends_line(v8_object_char_at(c, bytes, i),
					 i + 1 < cnt ? v8_object_char_at(c, bytes, i + 1) : 0))
				lines__add(l, from + i);
		from += known;
		l->end = from;
	}
}

/* Without its source a function has no lines. */
void v8_lines__read(struct v8_lines *l, const struct v8_heap *h, uint64_t script, uint32_t end)
{
	bool err = h->remote->err;
	struct v8_chars c;

	if (l->script == script && end <= l->end)
		return;
	l->script = script;
	l->cnt = l->end = 0;
	if (end <= SOURCE_MAX && v8_find_chars(h, v8__field(h, script, V8_SCRIPT_SOURCE), &c)) {
		c.cnt = c.cnt < end ? c.cnt : end;
		lines__scan(l, h, &c);
	}
	h->remote->err = err;
}

uint32_t v8_lines__at(const struct v8_lines *l, uint32_t position)
{
	if (position >= l->end)
		return 0;
	return 1 + (uint32_t)SEARCH_COUNT(l->ends, l->cnt, end, *end < position);
}

void v8_lines__free(struct v8_lines *l)
{
	free(l->ends);
	*l = (struct v8_lines){ 0 };
}

/* ---- compressed tables --------------------------------------------------------------------------
 */

uint64_t v8_numbers__take(struct v8_numbers *n)
{
	uint64_t v = 0;

	for (unsigned shift = 0; n->at < n->end && shift < 64; shift += 7) {
		uint8_t byte = *n->at++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	n->err = true;
	return 0;
}

int64_t v8_numbers__take_signed(struct v8_numbers *n)
{
	uint64_t v = v8_numbers__take(n);

	return (int64_t)(v >> 1 ^ -(v & 1));
}

/* Bits of a position (src/codegen/source-position.h). */
#define POSITION_EXTERNAL     1u
#define POSITION_AT(raw)      ((raw) >> 1 & 0x3fffffff)
#define POSITION_INLINED(raw) ((raw) >> 31 & 0xffff)

/* Both numbers are stored plus 1, so that 0 is none; like that, none becomes V8_NOWHERE. */
void v8_position__decode(uint64_t raw, struct v8_position *p)
{
	p->at = raw & POSITION_EXTERNAL ? V8_NOWHERE : (uint32_t)POSITION_AT(raw) - 1;
	p->inlined = (uint32_t)POSITION_INLINED(raw) - 1;
}

/* Whether a statement begins there, and whether a debugger can stop there, is said by flags, or by
 * the sign. */
static int64_t v8_positions_take_distance(struct v8_positions *p)
{
	int64_t distance;

	if (p->has_flags)
		return (int64_t)(v8_numbers__take(&p->numbers) >> 2);
	distance = v8_numbers__take_signed(&p->numbers);
	return distance < 0 ? -(distance + 1) : distance;
}

/* Each is a distance from the one before. */
bool v8_positions__next(struct v8_positions *p)
{
	int64_t raw;

	if (p->numbers.at >= p->numbers.end)
		return false;
	p->off += v8_positions_take_distance(p);
	raw = v8_numbers__take_signed(&p->numbers);
	if (p->numbers.err || p->off < 0 || p->off > INT32_MAX)
		return false;
	p->raw = (int64_t)((uint64_t)p->raw + (uint64_t)raw);
	return true;
}
