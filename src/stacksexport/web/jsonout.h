/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes JSON value by value. Adds the commas: before each value and key except the first. */
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

/* Append a key and its value. A text ends with NUL; NULL becomes null. */
void json_out__key_int(struct buf *, const char *name, int64_t);
void json_out__key_text(struct buf *, const char *name, const char *text);

/* Appends the rows of a result, each as an object, or as an array if `is_array`. Returns their
 * number. */
size_t json_out__rows(struct buf *, duckdb_result *, bool is_array);

/* Appends one value of a vector. Lists are arrays, structs are objects, 64-bit IDs are hexadecimal
 * text. */
void json_out__cell(struct buf *, duckdb_vector, idx_t row);

#endif
