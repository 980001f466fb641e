// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/pairing.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "stacksexport/duck/pairplan.h"

/* Bytes of a value in a vector; 0: the type cannot be kept. */
static const uint8_t sizes[] = {
	[DUCKDB_TYPE_BOOLEAN] = 1,
	[DUCKDB_TYPE_TINYINT] = 1,
	[DUCKDB_TYPE_UTINYINT] = 1,
	[DUCKDB_TYPE_SMALLINT] = 2,
	[DUCKDB_TYPE_USMALLINT] = 2,
	[DUCKDB_TYPE_INTEGER] = 4,
	[DUCKDB_TYPE_UINTEGER] = 4,
	[DUCKDB_TYPE_FLOAT] = 4,
	[DUCKDB_TYPE_BIGINT] = 8,
	[DUCKDB_TYPE_UBIGINT] = 8,
	[DUCKDB_TYPE_DOUBLE] = 8,
	[DUCKDB_TYPE_HUGEINT] = 16,
	[DUCKDB_TYPE_UHUGEINT] = 16,
	[DUCKDB_TYPE_VARCHAR] = sizeof(duckdb_string_t),
	[DUCKDB_TYPE_BLOB] = sizeof(duckdb_string_t),
};

/* A text that is too long to be inline in a vector. Each is kept once. */
struct kept_text {
	UT_hash_handle hh;
	char bytes[];
};

struct paired_column {
	struct pairing_column is;
	size_t sz;
	uint8_t *kept; /* by key, or by mark; none of PAIRING_NEXT */
	bool *null;
};

struct pairing {
	struct pairing_control control;
	struct paired_column *columns;
	size_t column_cnt;

	struct pair_plan plan;
	uint32_t row_capacity, mark_capacity; /* of the columns */
	struct pair_step *steps;	      /* of the present chunk */
	struct kept_text *texts;
	uint32_t finished; /* number of keys that gave their last row */
	uint32_t *last;	   /* keys that are giving their last row */
};

bool pairing__can(duckdb_type type)
{
	return type < sizeof(sizes) && sizes[type];
}

static bool pairing_is_text(const struct paired_column *c)
{
	return c->is.type == DUCKDB_TYPE_VARCHAR || c->is.type == DUCKDB_TYPE_BLOB;
}

static int pairing_resize_columns(struct pairing *p, enum pairing_of of, uint32_t cnt)
{
	for (size_t i = 0; i < p->column_cnt; i++) {
		struct paired_column *c = &p->columns[i];
		uint8_t *kept;
		bool *null;

		if (c->is.of != of)
			continue;
		kept = realloc(c->kept, cnt * c->sz);
		c->kept = kept ? kept : c->kept;
		null = realloc(c->null, cnt * sizeof(*null));
		c->null = null ? null : c->null;
		if (!kept || !null)
			return -ENOMEM;
	}
	return 0;
}

/* Reserves room for all rows and marks that the plan keeps. */
static int pairing_make_room(struct pairing *p)
{
	uint32_t rows = p->plan.key_capacity, marks = p->plan.mark_capacity;

	if (rows > p->row_capacity && pairing_resize_columns(p, PAIRING_ROW, rows) != 0)
		return -ENOMEM;
	p->row_capacity = rows;
	if (marks > p->mark_capacity && pairing_resize_columns(p, PAIRING_MARK, marks) != 0)
		return -ENOMEM;
	p->mark_capacity = marks;
	return 0;
}

static const void *pairing_values_of(duckdb_data_chunk chunk, idx_t column)
{
	return duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, column));
}

/* Plans what each row does, in order. */
static int pairing_plan(struct pairing *p, duckdb_data_chunk input, idx_t rows, uint32_t *given)
{
	const uint64_t *key = pairing_values_of(input, p->control.key);
	const int64_t *moment = pairing_values_of(input, p->control.moment);
	const int64_t *begin = pairing_values_of(input, p->control.begin);
	const bool *is_mark = pairing_values_of(input, p->control.is_mark);
	const bool *is_end = pairing_values_of(input, p->control.is_end);
	int err = 0;

	for (idx_t i = 0; i < rows && !err; i++) {
		const struct pair_row row = { key[i], moment[i], begin[i], is_mark[i], is_end[i] };

		err = pair_plan__add(&p->plan, &row, given, &p->steps[i]);
	}
	return err ? err : pairing_make_room(p);
}

static const char *pairing_keep_bytes(struct pairing *p, const char *bytes, uint32_t sz)
{
	struct kept_text *t;

	HASH_FIND(hh, p->texts, bytes, sz, t);
	if (t)
		return t->bytes;
	t = malloc(sizeof(*t) + sz);
	if (!t)
		return NULL;
	memcpy(t->bytes, bytes, sz);
	HASH_ADD_KEYPTR(hh, p->texts, t->bytes, sz, t);
	if (HASH_ADDED(t))
		return t->bytes;
	free(t);
	return NULL;
}

/* Copies a long text, which points into its chunk, and lets `kept` point to the copy. */
static int pairing_keep_text(struct pairing *p, duckdb_string_t *kept)
{
	const char *bytes;

	if (duckdb_string_is_inlined(*kept))
		return 0;
	bytes = pairing_keep_bytes(p, kept->value.pointer.ptr, kept->value.pointer.length);
	if (!bytes)
		return -ENOMEM;
	kept->value.pointer.ptr = (char *)bytes;
	return 0;
}

static void pairing_copy(void *to, const void *from, size_t sz)
{
	if (sz == 8)
		memcpy(to, from, 8);
	else if (sz == 16)
		memcpy(to, from, 16);
	else if (sz == 4)
		memcpy(to, from, 4);
	else
		memcpy(to, from, sz);
}

/* The input and the output of a column in one call. */
struct ends {
	const uint8_t *in;     /* NULL: the stream has ended */
	uint64_t *in_validity; /* NULL: no row is null */
	duckdb_vector output;
	uint8_t *out;
	uint64_t *out_validity;
};

static struct ends ends_of(const struct paired_column *c, duckdb_data_chunk input,
			   duckdb_data_chunk output)
{
	struct ends e = { .output = duckdb_data_chunk_get_vector(output, c->is.output) };

	if (input) {
		duckdb_vector in = duckdb_data_chunk_get_vector(input, c->is.input);

		e.in = duckdb_vector_get_data(in);
		e.in_validity = duckdb_vector_get_validity(in);
	}
	e.out = duckdb_vector_get_data(e.output);
	duckdb_vector_ensure_validity_writable(e.output);
	e.out_validity = duckdb_vector_get_validity(e.output);
	return e;
}

static void pairing_give(const struct paired_column *c, const struct ends *e, idx_t row,
			 const void *value, bool null)
{
	if (null) {
		duckdb_validity_set_row_invalid(e->out_validity, row);
	} else if (pairing_is_text(c) &&
		   !duckdb_string_is_inlined(*(const duckdb_string_t *)value)) {
		const duckdb_string_t *s = value;

		duckdb_vector_assign_string_element_len(e->output, row, s->value.pointer.ptr,
							s->value.pointer.length);
	} else {
		pairing_copy(e->out + row * c->sz, value, c->sz);
	}
}

static bool pairing_is_null(const struct ends *e, idx_t row)
{
	return e->in_validity && !(e->in_validity[row / 64] >> row % 64 & 1);
}

static int pairing_keep(struct pairing *p, struct paired_column *c, uint32_t at,
			const struct ends *e, idx_t row)
{
	uint8_t *kept = c->kept + at * c->sz;

	c->null[at] = pairing_is_null(e, row);
	if (c->null[at])
		return 0;
	pairing_copy(kept, e->in + row * c->sz, c->sz);
	return pairing_is_text(c) ? pairing_keep_text(p, (duckdb_string_t *)kept) : 0;
}

static int pairing_move_rows(struct pairing *p, struct paired_column *c, const struct ends *e,
			     idx_t rows)
{
	int err = 0;

	for (idx_t i = 0; i < rows && !err; i++) {
		const struct pair_step *s = &p->steps[i];

		if (s->give != PAIR_NONE)
			pairing_give(c, e, s->give, c->kept + s->from * c->sz, c->null[s->from]);
		if (s->to != PAIR_NONE)
			err = pairing_keep(p, c, s->to, e, i);
	}
	return err;
}

static int pairing_move_next(struct pairing *p, struct paired_column *c, const struct ends *e,
			     idx_t rows)
{
	for (idx_t i = 0; i < rows; i++) {
		const struct pair_step *s = &p->steps[i];

		if (s->give != PAIR_NONE)
			pairing_give(c, e, s->give, e->in + i * c->sz, pairing_is_null(e, i));
	}
	return 0;
}

static int pairing_move_marks(struct pairing *p, struct paired_column *c, const struct ends *e,
			      idx_t rows)
{
	int err = 0;

	for (idx_t i = 0; i < rows && !err; i++) {
		const struct pair_step *s = &p->steps[i];

		if (s->give != PAIR_NONE && s->from_mark != PAIR_NONE)
			pairing_give(c, e, s->give, c->kept + s->from_mark * c->sz,
				     c->null[s->from_mark]);
		else if (s->give != PAIR_NONE)
			pairing_give(c, e, s->give, NULL, true);
		if (s->to_mark != PAIR_NONE)
			err = pairing_keep(p, c, s->to_mark, e, i);
	}
	return err;
}

static int (*const moves[])(struct pairing *, struct paired_column *, const struct ends *,
			    idx_t) = {
	[PAIRING_ROW] = pairing_move_rows,
	[PAIRING_NEXT] = pairing_move_next,
	[PAIRING_MARK] = pairing_move_marks,
};

int pairing__take(struct pairing *p, duckdb_data_chunk input, duckdb_data_chunk output)
{
	idx_t rows = duckdb_data_chunk_get_size(input);
	uint32_t given = 0;
	int err = pairing_plan(p, input, rows, &given);

	for (size_t i = 0; i < p->column_cnt && !err; i++) {
		struct paired_column *c = &p->columns[i];
		struct ends e = ends_of(c, input, output);

		err = moves[c->is.of](p, c, &e, rows);
	}
	duckdb_data_chunk_set_size(output, given);
	return err;
}

/* Gives the last rows of some keys. */
static void pairing_give_last(const struct paired_column *c, duckdb_data_chunk output,
			      const uint32_t *keys, idx_t cnt)
{
	struct ends e = ends_of(c, NULL, output);

	for (idx_t i = 0; i < cnt; i++)
		if (c->is.of == PAIRING_ROW)
			pairing_give(c, &e, i, c->kept + keys[i] * c->sz, c->null[keys[i]]);
		else
			pairing_give(c, &e, i, NULL, true);
}

void pairing__finish(struct pairing *p, duckdb_data_chunk output)
{
	idx_t cnt = 0, most = duckdb_vector_size();

	for (; p->finished < p->plan.key_cnt && cnt < most; p->finished++)
		if (p->plan.keys[p->finished].has_row)
			p->last[cnt++] = p->finished;
	for (size_t i = 0; i < p->column_cnt; i++)
		pairing_give_last(&p->columns[i], output, p->last, cnt);
	duckdb_data_chunk_set_size(output, cnt);
}

static int pairing_add_columns(struct pairing *p, const struct pairing_column *columns, size_t cnt)
{
	p->columns = calloc(cnt ? cnt : 1, sizeof(*p->columns));
	if (!p->columns)
		return -ENOMEM;
	for (; p->column_cnt < cnt; p->column_cnt++) {
		const struct pairing_column *is = &columns[p->column_cnt];

		if (!pairing__can(is->type))
			return -EINVAL;
		p->columns[p->column_cnt] =
			(struct paired_column){ .is = *is, .sz = sizes[is->type] };
	}
	return 0;
}

struct pairing *pairing__new(const struct pairing_control *control,
			     const struct pairing_column *columns, size_t cnt)
{
	struct pairing *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->control = *control;
	p->steps = calloc(duckdb_vector_size(), sizeof(*p->steps));
	p->last = calloc(duckdb_vector_size(), sizeof(*p->last));
	if (p->steps && p->last && pairing_add_columns(p, columns, cnt) == 0 &&
	    pair_plan__init(&p->plan) == 0)
		return p;
	pairing__free(p);
	return NULL;
}

void pairing__free(struct pairing *p)
{
	struct kept_text *t, *next;

	if (!p)
		return;
	HASH_ITER (hh, p->texts, t, next) {
		HASH_DEL(p->texts, t);
		free(t);
	}
	for (size_t i = 0; i < p->column_cnt; i++) {
		free(p->columns[i].kept);
		free(p->columns[i].null);
	}
	free(p->columns);
	pair_plan__free(&p->plan);
	free(p->steps);
	free(p->last);
	free(p);
}
