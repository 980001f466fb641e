/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON, value by value. Commas come by themselves: before each value and key but the first. */
#ifndef STACKSEXPORT_WEB_JSONOUT_H
#define STACKSEXPORT_WEB_JSONOUT_H

#include <duckdb.h>
#include <stdbool.h>

#include "base/buf.h"

void json_out__open(struct buf *, char bracket); /* '{' or '[' */
void json_out__close(struct buf *, char bracket);
void json_out__key(struct buf *, const char *name);
void json_out__int(struct buf *, int64_t);
void json_out__double(struct buf *, double); /* null if it is not finite */
void json_out__bool(struct buf *, bool);
void json_out__null(struct buf *);
void json_out__text(struct buf *, const char *, size_t sz);

/* A key and its value; the text ends with NUL, and NULL is null. */
void json_out__key_int(struct buf *, const char *name, int64_t);
void json_out__key_text(struct buf *, const char *name, const char *text);

/* Returns the number of rows: each is an object, or an array if `is_array`. */
size_t json_out__rows(struct buf *, duckdb_result *, bool is_array);

/* One value of a vector. Lists are arrays, structs objects, 64-bit IDs text in hexadecimal. */
void json_out__cell(struct buf *, duckdb_vector, idx_t row);

#endif
