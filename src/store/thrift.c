// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/thrift.h"

#include <assert.h>
#include <string.h>

#include "store/encode.h"

static void thrift_field(struct thrift *t, int id, enum thrift_type type)
{
	int delta = id - t->last[t->depth];

	assert(delta > 0 && delta < 16);
	t->last[t->depth] = id;
	buf__u8(t->out, (uint8_t)(delta << 4 | (int)type));
}

struct thrift thrift__on(struct buf *out)
{
	return (struct thrift){ .out = out };
}

void thrift__bool(struct thrift *t, int id, bool v)
{
	thrift_field(t, id, v ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift__i8(struct thrift *t, int id, int8_t v)
{
	thrift_field(t, id, THRIFT_I8);
	buf__u8(t->out, (uint8_t)v);
}

void thrift__i16(struct thrift *t, int id, int16_t v)
{
	thrift_field(t, id, THRIFT_I16);
	encode__zigzag(t->out, v);
}

void thrift__i32(struct thrift *t, int id, int32_t v)
{
	thrift_field(t, id, THRIFT_I32);
	encode__zigzag(t->out, v);
}

void thrift__i64(struct thrift *t, int id, int64_t v)
{
	thrift_field(t, id, THRIFT_I64);
	encode__zigzag(t->out, v);
}

void thrift__binary(struct thrift *t, int id, const void *data, size_t sz)
{
	thrift_field(t, id, THRIFT_BINARY);
	thrift__item_binary(t, data, sz);
}

void thrift__string(struct thrift *t, int id, const char *s)
{
	thrift__binary(t, id, s, strlen(s));
}

void thrift__struct(struct thrift *t, int id)
{
	thrift_field(t, id, THRIFT_STRUCT);
	thrift__element(t);
}

void thrift__end(struct thrift *t)
{
	buf__u8(t->out, 0);
	if (t->depth)
		t->depth--;
}

void thrift__empty(struct thrift *t, int id)
{
	thrift__struct(t, id);
	thrift__end(t);
}

void thrift__encoded(struct thrift *t, int id, const struct buf *body)
{
	thrift_field(t, id, THRIFT_STRUCT);
	buf__append(t->out, body->data, body->sz);
}

void thrift__list(struct thrift *t, int id, enum thrift_type type, size_t cnt)
{
	thrift_field(t, id, THRIFT_LIST);
	buf__u8(t->out, (uint8_t)((cnt < 15 ? cnt << 4 : 0xf0) | (size_t)type));
	if (cnt >= 15)
		buf__uleb(t->out, cnt);
}

void thrift__element(struct thrift *t)
{
	assert(t->depth + 1 < THRIFT_DEPTH);
	t->last[++t->depth] = 0;
}

void thrift__item_int(struct thrift *t, int64_t v)
{
	encode__zigzag(t->out, v);
}

void thrift__item_bool(struct thrift *t, bool v)
{
	buf__u8(t->out, v ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift__item_binary(struct thrift *t, const void *data, size_t sz)
{
	buf__uleb(t->out, sz);
	buf__append(t->out, data, sz);
}
