// SPDX-License-Identifier: GPL-2.0-or-later
/* Methods of HotSpot: class, name, source, lines. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "runtime/hotspot.h"

#define TEXT_MAX     1024 /* bytes of a name; more are cut off */
#define LINES_MAX    (1u << 18)
#define LINES_ESCAPE 0xff
#define HIDDEN	     "+0x"	/* a hidden class has its address at the end of its name */
#define LAMBDA	     "$$Lambda" /* … a number before it, up to JDK 20; up to 14 only that */
#define SPARSE_JDK   20		/* from here on no byte of a number is 0 */
#define NUMBER_LOW   192	/* a lower byte is the last one (utilities/unsigned5.hpp) */
#define NUMBER_SHIFT 6
#define NUMBER_BYTES 5

struct hotspot_numbers hotspot_numbers__on(const struct runtime_layout *l, const uint8_t *bytes,
					   size_t sz)
{
	return (struct hotspot_numbers){ bytes, bytes + sz, l->version >= SPARSE_JDK, false };
}

uint32_t hotspot_numbers__take(struct hotspot_numbers *n)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < NUMBER_BYTES; i++) {
		uint8_t byte;

		if (n->at >= n->end || *n->at < n->excluded)
			break;
		byte = *n->at++;
		v += (uint32_t)(byte - n->excluded) << i * NUMBER_SHIFT;
		if (byte < NUMBER_LOW || i + 1 == NUMBER_BYTES)
			return v;
	}
	n->err = true;
	return 0;
}

static uint32_t hotspot_method_take_signed(struct hotspot_numbers *n)
{
	uint32_t v = hotspot_numbers__take(n);

	return v >> 1 ^ -(v & 1);
}

/* ---- names --------------------------------------------------------------------------------------
 */

/* Reads a Symbol, up to its first NUL, with a NUL. */
static int hotspot_method_read_symbol(struct remote *r, const struct runtime_layout *l, uint64_t at,
				      char text[TEXT_MAX + 1])
{
	size_t sz;

	if (!at)
		return -EINVAL;
	sz = (uint16_t)remote__u32(r, at + l->at[JVM_SYMBOL_SZ]);
	sz = sz < TEXT_MAX ? sz : TEXT_MAX;
	text[sz] = 0;
	return !sz || remote__read(r, at + l->at[JVM_SYMBOL_TEXT], text, sz) ? 0 : -EFAULT;
}

/* Reads the name at an index of a ConstantPool. */
static int hotspot_read_constant(struct remote *r, const struct runtime_layout *l,
				 const uint64_t place[2], char text[TEXT_MAX + 1])
{
	uint64_t pool = place[0], idx = place[1];

	if (!pool || !idx || idx >= hotspot__u32(r, l, pool, JVM_POOL_CNT))
		return -EINVAL;
	return hotspot_method_read_symbol(r, l, remote__u64(r, pool + l->at[JVM_POOL_SZ] + 8 * idx),
					  text);
}

/* Cuts off what differs from one run of a program to the next. */
static void hotspot_cut_hidden(char *class)
{
	char *hidden = strstr(class, HIDDEN), *lambda = strstr(class, LAMBDA "$");

	if (hidden)
		*hidden = 0;
	if (lambda)
		lambda[strlen(LAMBDA)] = 0;
}

/* The source beside the class's package; without one, the class. */
static int hotspot_method_set_names(struct script_function *f, const char *runtime, char *class,
				    const char *const names[2])
{
	const char *slash = strrchr(class, '/'), *source = names[1];
	struct buf module = { 0 }, name = { 0 };
	int err = -ENOMEM;

	if (*source)
		buf__append(&module, class, slash ? (size_t)(slash + 1 - class) : 0);
	buf__str(&module, *source ? source : class);
	buf__u8(&module, 0);
	for (char *c = class; *c; c++)
		*c = *c == '/' ? '.' : *c;
	buf__str(&name, class);
	buf__u8(&name, '.');
	buf__str(&name, names[0]);
	buf__u8(&name, 0);
	if (!buf__err(&module) && !buf__err(&name))
		err = script_function__name(f, runtime, (const char *)module.data,
					    (const char *)name.data);
	buf__free(&module);
	buf__free(&name);
	return err;
}

static uint64_t hotspot_source_index(struct remote *r, const struct runtime_layout *l,
				     uint64_t pool, uint64_t class)
{
	return (uint16_t)(l->at[JVM_POOL_FILE] != JVM_NONE
				  ? hotspot__u32(r, l, pool, JVM_POOL_FILE)
				  : hotspot__u32(r, l, class, JVM_CLASS_FILE));
}

static int hotspot_method_read_names(struct remote *r, const struct runtime_layout *l,
				     uint64_t constant, struct script_function *f)
{
	char class[TEXT_MAX + 1], name[TEXT_MAX + 1], source[TEXT_MAX + 1];
	uint64_t pool = hotspot__word(r, l, constant, JVM_CONST_CONSTANTS);
	uint64_t holder = pool ? hotspot__word(r, l, pool, JVM_POOL_HOLDER) : 0;
	uint64_t idx = (uint16_t)hotspot__u32(r, l, constant, JVM_CONST_NAME);
	int err = hotspot_read_constant(r, l, (uint64_t[]){ pool, idx }, name);

	if (err || !holder)
		return err ? err : -EINVAL;
	err = hotspot_method_read_symbol(r, l, hotspot__word(r, l, holder, JVM_CLASS_NAME), class);
	idx = hotspot_source_index(r, l, pool, holder);
	if (err || hotspot_read_constant(r, l, (uint64_t[]){ pool, idx }, source) != 0)
		*source = 0;
	if (err || r->err)
		return err ? err : -EFAULT;
	hotspot_cut_hidden(class);
	return hotspot_method_set_names(f, l->runtime->name, class,
					(const char *[]){ name, source });
}

/* ---- lines --------------------------------------------------------------------------------------
 */

/* Pairs of distances, of the code's offset and of the line, one after the other. */
static int hotspot_decode_lines(struct script_function *f, struct hotspot_numbers *n)
{
	uint32_t off = 0, line = 0, last = 0;
	int err = 0;

	while (!err && n->at < n->end && *n->at) {
		uint8_t byte = *n->at++;

		off += byte == LINES_ESCAPE ? hotspot_method_take_signed(n) : byte >> 3;
		line += byte == LINES_ESCAPE ? hotspot_method_take_signed(n) : byte & 7;
		if (n->err || off >= f->sz)
			break;
		if (!f->first_line || line < f->first_line)
			f->first_line = line;
		if (f->cnt && off <= last)
			continue;
		err = script_function__add(f, off, line);
		last = off;
	}
	return err;
}

static int hotspot_method_read_lines(struct remote *r, const struct runtime_layout *l,
				     uint64_t constant, struct script_function *f)
{
	uint64_t at = f->start + f->sz, end;
	struct hotspot_numbers n;
	uint8_t *bytes;
	size_t sz;
	int err;

	if (!(hotspot__u32(r, l, constant, JVM_CONST_FLAGS) & l->at[JVM_CONST_HAS_LINES]) ||
	    l->at[JVM_CONST_HAS_LINES] == JVM_NONE)
		return 0;
	end = constant + 8ull * hotspot__u32(r, l, constant, JVM_CONST_WORDS);
	sz = end > at && end - at < LINES_MAX ? end - at : 0;
	bytes = sz ? malloc(sz) : NULL;
	n = hotspot_numbers__on(l, bytes, bytes && remote__read(r, at, bytes, sz) ? sz : 0);
	err = hotspot_decode_lines(f, &n);
	free(bytes);
	return err;
}

int hotspot__read_method(struct remote *r, const struct runtime_layout *l, uint64_t method,
			 struct script_function *f)
{
	uint64_t constant = hotspot__word(r, l, method, JVM_METHOD_CONST);
	int err;

	if (r->err || !constant || constant % 8)
		return -EINVAL;
	err = hotspot_method_read_names(r, l, constant, f);
	f->start = constant + l->at[JVM_CONST_SZ];
	f->sz = (uint16_t)hotspot__u32(r, l, constant, JVM_CONST_CODE_SZ);
	if (!err)
		err = hotspot_method_read_lines(r, l, constant, f);
	return err ? err : r->err ? -EFAULT : 0;
}
