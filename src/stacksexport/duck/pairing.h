/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs each row of a stream with the next row of the same key, in one pass: like `lead() OVER
 * (PARTITION BY key ORDER BY moment)` for rows that arrive in the order of time, without sorting.
 * Keeps one row per key, and the marks since then.
 *
 * No row follows an end: it completes the row before it, and its key is forgotten. A mark is not a
 * row of the result. It belongs to the key's row before it: of the marks from that row's moment to
 * the begin of the next row, the last one counts.
 */
#ifndef STACKSEXPORT_DUCK_PAIRING_H
#define STACKSEXPORT_DUCK_PAIRING_H

#include <duckdb.h>
#include <stdbool.h>
#include <stddef.h>

/* The source of a column's value. */
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

/* The places of the columns that the pass itself reads. They must not contain null. */
struct pairing_control {
	idx_t key;     /* UBIGINT */
	idx_t moment;  /* BIGINT */
	idx_t begin;   /* BIGINT: the begin of a row that follows another */
	idx_t is_mark; /* BOOLEAN */
	idx_t is_end;  /* BOOLEAN */
};

struct pairing;

/* Copies `columns`. Returns NULL if out of memory, or if pairing__can() rejects a type. */
struct pairing *pairing__new(const struct pairing_control *, const struct pairing_column *columns,
			     size_t cnt);
void pairing__free(struct pairing *);

/* Returns true for numbers, texts and bytes, which can be kept between chunks. */
bool pairing__can(duckdb_type);

/*
 * Takes a chunk of the stream, of at most duckdb_vector_size() rows, and gives the rows that it
 * completes, at most as many; sets the output's size. Returns 0, -ENOMEM, or -EINVAL if rows are
 * not in the order of time.
 */
int pairing__take(struct pairing *, duckdb_data_chunk input, duckdb_data_chunk output);

/* Gives the last rows of all keys. Call it after the last chunk, until it gives none. */
void pairing__finish(struct pairing *, duckdb_data_chunk output);

#endif
