/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of Thrift's compact protocol that Parquet's metadata needs (thrift-compact-protocol.md).
 * Write the fields of a struct with ascending ids. Errors are sticky in the buf.
 */
#ifndef STORE_THRIFT_H
#define STORE_THRIFT_H

#include <stdbool.h>

#include "base/buf.h"

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE,
	THRIFT_I8,
	THRIFT_I16,
	THRIFT_I32,
	THRIFT_I64,
	THRIFT_DOUBLE,
	THRIFT_BINARY,
	THRIFT_LIST,
	THRIFT_SET,
	THRIFT_MAP,
	THRIFT_STRUCT,
};

#define THRIFT_DEPTH 12

struct thrift {
	struct buf *out; /* borrowed */
	unsigned depth;
	int last[THRIFT_DEPTH]; /* last field id of each open struct */
};

/* Opens the outermost struct; thrift__end() closes it. */
struct thrift thrift__on(struct buf *out);
void thrift__bool(struct thrift *, int id, bool);
void thrift__i8(struct thrift *, int id, int8_t);
void thrift__i16(struct thrift *, int id, int16_t);
void thrift__i32(struct thrift *, int id, int32_t);
void thrift__i64(struct thrift *, int id, int64_t);
void thrift__binary(struct thrift *, int id, const void *data, size_t sz);
void thrift__string(struct thrift *, int id, const char *);
void thrift__struct(struct thrift *, int id);
void thrift__end(struct thrift *);
/* Writes a field that is an empty struct, as in the unions of the format. */
void thrift__empty(struct thrift *, int id);

/* Writes a field that is a struct; `body` is its encoded body, with its end. */
void thrift__encoded(struct thrift *, int id, const struct buf *body);

/* Starts a list. cnt elements must follow: thrift__element() … thrift__end(), or one of the item
 * functions. */
void thrift__list(struct thrift *, int id, enum thrift_type, size_t cnt);
void thrift__element(struct thrift *);
void thrift__item_int(struct thrift *, int64_t);
void thrift__item_bool(struct thrift *, bool);
void thrift__item_binary(struct thrift *, const void *data, size_t sz);

#endif
