/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each row of a stream with the one that follows it under the same key, in one pass: what
 * `lead() OVER (PARTITION BY key ORDER BY moment)` says of rows that come in the order of time,
 * without sorting them. One row per key is kept, and the marks since then.
 *
 * A row that is an end is followed by none: it completes the one before it, and its key is
 * forgotten. A row that is a mark is not given itself: it is told with the key's row before it; of
 * the marks from that row's moment to where the next one begins, the last.
 */
#ifndef STACKSEXPORT_DUCK_PAIRING_H
#define STACKSEXPORT_DUCK_PAIRING_H

#include <duckdb.h>
#include <stdbool.h>
#include <stddef.h>

/* Whose value a column gives. */
enum pairing_of {
	PAIRING_ROW,
	PAIRING_NEXT, /* null in the last row of a key */
	PAIRING_MARK, /* null without a mark */
};

struct pairing_column {
	idx_t input; /* the column's place in the chunks of the stream */
	idx_t output;
	enum pairing_of of;
	duckdb_type type;
};

/* The places of what the pass itself reads; null has no meaning there. */
struct pairing_control {
	idx_t key;     /* UBIGINT */
	idx_t moment;  /* BIGINT */
	idx_t begin;   /* BIGINT: where a row begins that follows another */
	idx_t is_mark; /* BOOLEAN */
	idx_t is_end;  /* BOOLEAN */
};

struct pairing;

/* `columns` is copied. NULL: out of memory, or a type that pairing__can() does not name. */
struct pairing *pairing__new(const struct pairing_control *, const struct pairing_column *columns,
			     size_t cnt);
void pairing__free(struct pairing *);

/* Numbers, texts and bytes: what can be kept between chunks. */
bool pairing__can(duckdb_type);

/*
 * Takes a chunk of the stream, of at most duckdb_vector_size() rows, and gives the rows that it
 * completes, at most as many; sets the output's size. 0, -ENOMEM, or -EINVAL for
 * a row that is before the one before it.
 */
int pairing__take(struct pairing *, duckdb_data_chunk input, duckdb_data_chunk output);

/* After the last chunk: gives rows that none follows, until it has given none. */
void pairing__finish(struct pairing *, duckdb_data_chunk output);

#endif
