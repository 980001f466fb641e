// SPDX-License-Identifier: GPL-2.0-or-later
/* Code objects of CPython: script, qualified name, lines. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/search.h"
#include "runtime/cpython_layout.h"

#define TEXT_CHARS_MAX 1024
#define LINES_MAX      (1u << 20) /* bytes of a line table; larger ones give no lines */
#define CODE_UNITS_MAX (1u << 28)
#define COPIES_MAX     (1u << 14) /* of a code object; more are not found */

/* ---- texts --------------------------------------------------------------------------------------
 */

static void cpython_append_utf8(struct buf *b, uint32_t c)
{
	if (c < 0x80) {
		buf__u8(b, (uint8_t)c);
	} else if (c < 0x800) {
		buf__u8(b, (uint8_t)(0xc0 | c >> 6));
		buf__u8(b, (uint8_t)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buf__u8(b, (uint8_t)(0xe0 | c >> 12));
		buf__u8(b, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
		buf__u8(b, (uint8_t)(0x80 | (c & 0x3f)));
	} else {
		buf__u8(b, (uint8_t)(0xf0 | (c >> 18 & 7)));
		buf__u8(b, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
		buf__u8(b, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
		buf__u8(b, (uint8_t)(0x80 | (c & 0x3f)));
	}
}

/* Characters of 1 (Latin-1), 2 or 4 bytes as UTF-8; up to the first NUL. */
static void cpython_append_characters(struct buf *b, const uint8_t *chars, size_t cnt,
				      unsigned width)
{
	for (size_t i = 0; i < cnt; i++) {
		uint32_t c = 0;

		memcpy(&c, chars + i * width, width);
		if (!c)
			return;
		cpython_append_utf8(b, c);
	}
}

/* Bits of PyASCIIObject.state. */
struct text_state {
	unsigned width;
	bool compact, ascii;
};

static struct text_state text_state__of(uint32_t state)
{
	return (struct text_state){ state >> 2 & 7, state >> 5 & 1, state >> 6 & 1 };
}

/* Appends a str object and a NUL. */
static int cpython_code_read_text(struct remote *r, const struct runtime_layout *l, uint64_t at,
				  struct buf *out)
{
	uint8_t chars[TEXT_CHARS_MAX * sizeof(uint32_t)];
	uint64_t cnt = remote__u64(r, at + l->at[AT_TEXT_LENGTH]);
	struct text_state s = text_state__of(remote__u32(r, at + l->at[AT_TEXT_STATE]));
	uint64_t data = at + l->at[s.ascii ? AT_TEXT_ASCII : AT_TEXT_OTHER];
	bool cut = cnt > TEXT_CHARS_MAX;

	if (!s.compact || (s.width != 1 && s.width != 2 && s.width != 4))
		return -EINVAL;
	cnt = cut ? TEXT_CHARS_MAX : cnt;
	if (!remote__read(r, data, chars, cnt * s.width))
		return -EFAULT;
	cpython_append_characters(out, chars, cnt, s.width);
	if (cut)
		buf__str(out, "…");
	buf__u8(out, 0);
	return buf__err(out);
}

static int cpython_code_read_names(struct remote *r, const struct runtime_layout *l, uint64_t code,
				   struct script_function *f)
{
	struct buf module = { 0 }, name = { 0 };
	int err = cpython_code_read_text(r, l, remote__u64(r, code + l->at[AT_CODE_FILE]), &module);

	if (!err)
		err = cpython_code_read_text(r, l, remote__u64(r, code + l->at[AT_CODE_NAME]),
					     &name);
	if (!err)
		err = script_function__name(f, l->runtime->name, (const char *)module.data,
					    (const char *)name.data);
	buf__free(&module);
	buf__free(&name);
	return err;
}

/* ---- lines --------------------------------------------------------------------------------------
 */

/* Six bits per byte, the lowest first; bit 6: there are more. */
static uint32_t cpython_take_varint(struct cursor *c)
{
	uint32_t v = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 32; shift += 6) {
		byte = cursor__u8(c);
		v |= (uint32_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			return v;
	}
	c->err = true;
	return 0;
}

/* The sign is bit 0. */
static int32_t cpython_take_signed_varint(struct cursor *c)
{
	uint32_t v = cpython_take_varint(c);

	return v & 1 ? -(int32_t)(v >> 1) : (int32_t)(v >> 1);
}

enum { LOCATION_ONE_LINE = 10, LOCATION_NO_COLUMNS = 13, LOCATION_LONG, LOCATION_NONE };

/* Takes what follows an entry's first byte. Returns the change of the line. */
static int32_t cpython_take_location(struct cursor *c, unsigned kind)
{
	int32_t delta = 0;

	if (kind < LOCATION_ONE_LINE) {
		cursor__u8(c);
	} else if (kind < LOCATION_NO_COLUMNS) {
		delta = (int32_t)(kind - LOCATION_ONE_LINE);
		cursor__u8(c);
		cursor__u8(c);
	} else if (kind < LOCATION_NONE) {
		delta = cpython_take_signed_varint(c);
	}
	for (int i = 0; kind == LOCATION_LONG && i < 3; i++)
		cpython_take_varint(c);
	return delta;
}

int cpython__decode_lines(struct script_function *f, const uint8_t *table, size_t sz)
{
	struct cursor c = cursor__on(table, sz);
	uint32_t off = 0, line = f->first_line;
	int err = 0;

	while (!err && !c.err && cursor__left(&c)) {
		uint8_t byte = cursor__u8(&c);
		unsigned kind = byte >> 3 & 15;

		if (!(byte & 0x80))
			return -EINVAL;
		line += (uint32_t)cpython_take_location(&c, kind);
		if (!c.err)
			err = script_function__add(
				f, off, kind == LOCATION_NONE || line > INT32_MAX ? 0 : line);
		off += 2 * ((byte & 7) + 1u);
	}
	return c.err ? -EINVAL : err;
}

#define PAIR_NO_LINE -128

int cpython__decode_line_pairs(struct script_function *f, const uint8_t *table, size_t sz)
{
	uint32_t off = 0, line = f->first_line;
	int err = 0;

	for (size_t i = 0; !err && i + 2 <= sz; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		if (delta != PAIR_NO_LINE)
			line += (uint32_t)delta;
		if (delta == PAIR_NO_LINE || line > INT32_MAX)
			err = table[i] ? script_function__add(f, off, 0) : 0;
		else
			err = table[i] ? script_function__add(f, off, line) : 0;
		off += table[i];
	}
	return err ? err : sz % 2 ? -EINVAL : 0;
}

int cpython__decode_lnotab(struct script_function *f, const uint8_t *table, size_t sz)
{
	uint32_t off = 0, line = f->first_line;
	int err = 0;

	for (size_t i = 0; !err && i + 2 <= sz; i += 2) {
		if (table[i]) /* else more is added to the line of the same place */
			err = script_function__add(f, off, line > INT32_MAX ? 0 : line);
		off += table[i];
		line += (uint32_t)(int8_t)table[i + 1];
	}
	if (!err)
		err = script_function__add(f, off, line > INT32_MAX ? 0 : line);
	return err ? err : sz % 2 ? -EINVAL : 0;
}

static int cpython_code_decode(const struct runtime_layout *l, struct script_function *f,
			       const uint8_t *table, size_t sz)
{
	if (!cpython__has_frame_objects(l))
		return cpython__decode_lines(f, table, sz);
	if (l->version == VERSION(3, 10))
		return cpython__decode_line_pairs(f, table, sz);
	return cpython__decode_lnotab(f, table, sz);
}

/* Without lines the function still has its names. */
static int cpython_code_read_lines(struct remote *r, const struct runtime_layout *l, uint64_t code,
				   struct script_function *f)
{
	uint64_t bytes = remote__u64(r, code + l->at[AT_CODE_LINES]);
	uint64_t sz = remote__u64(r, bytes + l->at[AT_OBJECT_SIZE]);
	uint8_t *table;
	int err = 0;

	if (r->err || sz > LINES_MAX)
		return r->err ? -EFAULT : 0;
	table = malloc(sz + 1);
	if (!table)
		return -ENOMEM;
	if (remote__read(r, bytes + l->at[AT_BYTES], table, sz))
		err = cpython_code_decode(l, f, table, sz) == -ENOMEM ? -ENOMEM : 0;
	else
		err = -EFAULT;
	free(table);
	return err;
}

/* ---- code objects -------------------------------------------------------------------------------
 */

static bool cpython_code_is_code(struct remote *r, const struct runtime_layout *l, uint64_t code)
{
	uint64_t type = remote__u64(r, code + l->at[AT_OBJECT_TYPE]);

	return remote__is_text(r, remote__u64(r, type + l->at[AT_TYPE_NAME]), "code");
}

/* Up to 3.10, places are counted from 0 on. */
static void cpython_code_find_bytes(struct remote *r, const struct runtime_layout *l, uint64_t code,
				    struct script_function *f)
{
	bool apart = cpython__has_frame_objects(l);
	uint64_t at = apart ? remote__u64(r, code + l->at[AT_CODE_BYTES]) : code;
	uint64_t units = remote__u64(r, at + l->at[AT_OBJECT_SIZE]);

	f->start = apart ? 0 : code + l->at[AT_CODE_BYTES];
	f->sz = units > CODE_UNITS_MAX ? 0 : apart ? units : 2 * units;
}

static int cpython_compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Drops the zeros of ascending addresses, and their memory, which nothing counts. */
static void cpython_code__keep_copies(struct script_function *f, size_t cnt)
{
	size_t none = SEARCH_COUNT(f->copies, cnt, c, !*c);
	uint64_t *kept;

	f->copy_cnt = cnt - none;
	if (f->copy_cnt == 0) {
		free(f->copies);
		f->copies = NULL;
		return;
	}
	memmove(f->copies, f->copies + none, f->copy_cnt * sizeof(*f->copies));
	kept = realloc(f->copies, f->copy_cnt * sizeof(*f->copies));
	f->copies = kept ? kept : f->copies;
}

/* In free-threaded builds from 3.14 on, each thread executes a copy of its own: the array has their
 * number and addresses, 0 for a thread that has not called the function. */
static int cpython_code__read_copies(struct remote *r, const struct runtime_layout *l,
				     uint64_t code, struct script_function *f)
{
	uint64_t array = remote__u64(r, code + l->at[AT_CODE_COPIES]);
	uint64_t cnt = array ? remote__u64(r, array) : 0;

	f->is_copied = true;
	if (r->err || cnt == 0 || cnt > COPIES_MAX)
		return r->err ? -EFAULT : 0;
	f->copies = calloc(cnt, sizeof(*f->copies));
	if (!f->copies)
		return -ENOMEM;
	if (!remote__read(r, array + sizeof(cnt), f->copies, cnt * sizeof(*f->copies)))
		return -EFAULT;
	qsort(f->copies, cnt, sizeof(*f->copies), cpython_compare_addresses);
	cpython_code__keep_copies(f, cnt);
	return 0;
}

static bool cpython_code__has_copies(const struct runtime_layout *l)
{
	return l->at[AT_CODE_COPIES] && l->at[AT_CODE_COPIES] != AT_NONE;
}

int cpython__read(struct remote *r, const struct runtime_layout *l, uint64_t code,
		  struct script_function *f)
{
	int err;

	if (!cpython_code_is_code(r, l, code))
		return -EINVAL;
	cpython_code_find_bytes(r, l, code, f);
	f->first_line = remote__u32(r, code + l->at[AT_CODE_FIRST_LINE]);
	err = r->err ? -EFAULT : cpython_code_read_names(r, l, code, f);
	if (!err && cpython_code__has_copies(l))
		err = cpython_code__read_copies(r, l, code, f);
	return err ? err : cpython_code_read_lines(r, l, code, f);
}
