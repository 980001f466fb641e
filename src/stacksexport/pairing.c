// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/pairing.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"

#define NONE UINT32_MAX

/* Bytes of a value in a vector; 0: it cannot be kept. */
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

/* A text that is too long to lie in a vector itself; each is kept once. */
struct text {
	UT_hash_handle hh;
	char bytes[];
};

struct column {
	struct pairing_column is;
	size_t sz;
	uint8_t *kept; /* by key, or by mark; none of PAIRING_NEXT */
	bool *null;
};

struct key {
	uint64_t value;
	int64_t moment;	 /* of its last row */
	uint32_t newest; /* of its marks */
	uint32_t next;	 /* of the free ones */
	bool has_row;
};

struct mark {
	int64_t moment;
	uint32_t older; /* of the same key, or the next free one */
};

/* What one row of a chunk does to the columns; NONE: nothing. */
struct step {
	uint32_t give;	    /* the row of the output for the key's row before it */
	uint32_t from;	    /* where that is kept */
	uint32_t from_mark; /* where its mark is kept */
	uint32_t to;	    /* where the row is to be kept */
	uint32_t to_mark;   /* where the mark is to be kept that it is */
};

static const struct step no_step = { NONE, NONE, NONE, NONE, NONE };

struct pairing {
	struct pairing_control control;
	struct column *columns;
	size_t column_cnt;

	struct key *keys;
	uint32_t key_cnt, key_capacity, free_key;
	uint32_t *slots; /* key's number + 1 by its value, open addressing; 0: free */
	uint32_t slot_mask;
	int64_t moment; /* of the last row of all */

	struct mark *marks;
	uint32_t mark_cnt, mark_capacity, free_mark;

	struct step *steps;
	struct text *texts;
	uint32_t finished; /* keys whose last row was given */
	uint32_t *last;	   /* keys whose last row is being given */
};

bool pairing__can(duckdb_type type)
{
	return type < sizeof(sizes) && sizes[type];
}

static bool is_text(const struct column *c)
{
	return c->is.type == DUCKDB_TYPE_VARCHAR || c->is.type == DUCKDB_TYPE_BLOB;
}

static int resize_columns(struct pairing *p, enum pairing_of of, uint32_t cnt)
{
	for (size_t i = 0; i < p->column_cnt; i++) {
		struct column *c = &p->columns[i];
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

static uint32_t home_of(const struct pairing *p, uint64_t value)
{
	return (uint32_t)(value ^ value >> 32) & p->slot_mask;
}

static uint32_t *slot_of(const struct pairing *p, uint64_t value)
{
	uint32_t at = home_of(p, value);

	while (p->slots[at] && p->keys[p->slots[at] - 1].value != value)
		at = (at + 1) & p->slot_mask;
	return &p->slots[at];
}

/* Frees a slot; those behind it that had to give way to it move up (Knuth, The Art of Computer
 * Programming 3, 6.4, algorithm R). */
static void empty_slot(struct pairing *p, uint32_t *slot)
{
	uint32_t hole = (uint32_t)(slot - p->slots);

	for (uint32_t at = (hole + 1) & p->slot_mask; p->slots[at]; at = (at + 1) & p->slot_mask) {
		uint32_t home = home_of(p, p->keys[p->slots[at] - 1].value);

		if (((at - home) & p->slot_mask) < ((at - hole) & p->slot_mask))
			continue;
		p->slots[hole] = p->slots[at];
		hole = at;
	}
	p->slots[hole] = 0;
}

/* Twice as many keys; half of the slots at most are used. */
static int grow_keys(struct pairing *p)
{
	uint32_t capacity = p->key_capacity ? 2 * p->key_capacity : 1024;
	struct key *keys = realloc(p->keys, capacity * sizeof(*keys));
	uint32_t *slots = calloc(2 * (size_t)capacity, sizeof(*slots));

	p->keys = keys ? keys : p->keys;
	if (!keys || !slots || resize_columns(p, PAIRING_ROW, capacity) != 0) {
		free(slots);
		return -ENOMEM;
	}
	free(p->slots);
	p->slots = slots;
	p->slot_mask = 2 * capacity - 1;
	p->key_capacity = capacity;
	for (uint32_t i = 0; i < p->key_cnt; i++) /* none is free */
		*slot_of(p, keys[i].value) = i + 1;
	return 0;
}

static int grow_marks(struct pairing *p)
{
	uint32_t capacity = p->mark_capacity ? 2 * p->mark_capacity : 1024;
	struct mark *marks = realloc(p->marks, capacity * sizeof(*marks));

	p->marks = marks ? marks : p->marks;
	if (!marks || resize_columns(p, PAIRING_MARK, capacity) != 0)
		return -ENOMEM;
	p->mark_capacity = capacity;
	return 0;
}

/* The number of a key, NONE without memory. */
static uint32_t add_key(struct pairing *p, uint64_t value)
{
	uint32_t key = p->free_key;

	if (key != NONE)
		p->free_key = p->keys[key].next;
	else if (p->key_cnt < p->key_capacity || grow_keys(p) == 0)
		key = p->key_cnt++;
	else
		return NONE;
	*slot_of(p, value) = key + 1;
	p->keys[key] = (struct key){ .value = value, .newest = NONE };
	return key;
}

/* This one and those older. */
static void drop_marks(struct pairing *p, uint32_t *first)
{
	while (*first != NONE) {
		uint32_t mark = *first;

		*first = p->marks[mark].older;
		p->marks[mark].older = p->free_mark;
		p->free_mark = mark;
	}
}

static void forget_key(struct pairing *p, uint32_t *slot)
{
	uint32_t key = *slot - 1;

	drop_marks(p, &p->keys[key].newest);
	empty_slot(p, slot);
	p->keys[key].has_row = false;
	p->keys[key].next = p->free_key;
	p->free_key = key;
}

/* A mark that is before the first row belongs to none. */
static int plan_mark(struct pairing *p, struct key *k, int64_t moment, struct step *s)
{
	uint32_t mark;

	if (!k->has_row)
		drop_marks(p, &k->newest);
	mark = p->free_mark;
	if (mark != NONE)
		p->free_mark = p->marks[mark].older;
	else if (p->mark_cnt < p->mark_capacity || grow_marks(p) == 0)
		mark = p->mark_cnt++;
	else
		return -ENOMEM;
	p->marks[mark] = (struct mark){ .moment = moment, .older = k->newest };
	k->newest = mark;
	s->to_mark = mark;
	return 0;
}

/* The last mark until `end` that is not before the key's row. */
static uint32_t mark_until(const struct pairing *p, const struct key *k, int64_t end)
{
	uint32_t mark = k->newest;

	while (mark != NONE && p->marks[mark].moment > end)
		mark = p->marks[mark].older;
	return mark != NONE && p->marks[mark].moment >= k->moment ? mark : NONE;
}

/* The row before it is complete. */
static void plan_pair(const struct pairing *p, uint32_t key, int64_t begin, idx_t *given,
		      struct step *s)
{
	const struct key *k = &p->keys[key];

	if (!k->has_row)
		return;
	s->give = (uint32_t)(*given)++;
	s->from = key;
	s->from_mark = mark_until(p, k, begin > k->moment ? begin : k->moment);
}

static void plan_row(struct pairing *p, uint32_t key, int64_t moment, struct step *s)
{
	struct key *k = &p->keys[key];

	s->to = key;
	k->has_row = true;
	k->moment = moment;
	if (k->newest != NONE) /* the last may be of this very moment */
		drop_marks(p, p->marks[k->newest].moment == moment ? &p->marks[k->newest].older
								   : &k->newest);
}

static const void *values_of(duckdb_data_chunk chunk, idx_t column)
{
	return duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, column));
}

/* The columns that the pass itself reads. */
struct control {
	const uint64_t *key;
	const int64_t *moment, *begin;
	const bool *is_mark, *is_end;
};

static int plan_one(struct pairing *p, const struct control *c, idx_t row, idx_t *given,
		    struct step *s)
{
	uint32_t *slot = slot_of(p, c->key[row]);
	uint32_t key = *slot - 1;

	*s = no_step;
	if (c->moment[row] < p->moment)
		return -EINVAL;
	p->moment = c->moment[row];
	if (!*slot && c->is_end[row])
		return 0;
	if (!*slot)
		key = add_key(p, c->key[row]);
	if (key == NONE)
		return -ENOMEM;
	if (c->is_mark[row])
		return plan_mark(p, &p->keys[key], c->moment[row], s);
	plan_pair(p, key, c->begin[row], given, s);
	if (c->is_end[row])
		forget_key(p, slot);
	else
		plan_row(p, key, c->moment[row], s);
	return 0;
}

/* What each row does, in their order. */
static int plan(struct pairing *p, duckdb_data_chunk input, idx_t rows, idx_t *given)
{
	const struct control c = {
		.key = values_of(input, p->control.key),
		.moment = values_of(input, p->control.moment),
		.begin = values_of(input, p->control.begin),
		.is_mark = values_of(input, p->control.is_mark),
		.is_end = values_of(input, p->control.is_end),
	};
	int err = 0;

	for (idx_t i = 0; i < rows && !err; i++)
		err = plan_one(p, &c, i, given, &p->steps[i]);
	return err;
}

static const char *keep_bytes(struct pairing *p, const char *bytes, uint32_t sz)
{
	struct text *t;

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

/* Long texts point into the chunk that they came with: now into what is kept. */
static int keep_text(struct pairing *p, duckdb_string_t *kept)
{
	const char *bytes;

	if (duckdb_string_is_inlined(*kept))
		return 0;
	bytes = keep_bytes(p, kept->value.pointer.ptr, kept->value.pointer.length);
	if (!bytes)
		return -ENOMEM;
	kept->value.pointer.ptr = (char *)bytes;
	return 0;
}

static void copy(void *to, const void *from, size_t sz)
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

/* The two ends of a column in a call. */
struct ends {
	const uint8_t *in;     /* NULL: the stream has ended */
	uint64_t *in_validity; /* NULL: no row is null */
	duckdb_vector output;
	uint8_t *out;
	uint64_t *out_validity;
};

static struct ends ends_of(const struct column *c, duckdb_data_chunk input,
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

static void give(const struct column *c, const struct ends *e, idx_t row, const void *value,
		 bool null)
{
	if (null) {
		duckdb_validity_set_row_invalid(e->out_validity, row);
	} else if (is_text(c) && !duckdb_string_is_inlined(*(const duckdb_string_t *)value)) {
		const duckdb_string_t *s = value;

		duckdb_vector_assign_string_element_len(e->output, row, s->value.pointer.ptr,
							s->value.pointer.length);
	} else {
		copy(e->out + row * c->sz, value, c->sz);
	}
}

static bool is_null(const struct ends *e, idx_t row)
{
	return e->in_validity && !(e->in_validity[row / 64] >> row % 64 & 1);
}

static int keep(struct pairing *p, struct column *c, uint32_t at, const struct ends *e, idx_t row)
{
	uint8_t *kept = c->kept + at * c->sz;

	c->null[at] = is_null(e, row);
	if (c->null[at])
		return 0;
	copy(kept, e->in + row * c->sz, c->sz);
	return is_text(c) ? keep_text(p, (duckdb_string_t *)kept) : 0;
}

static int move_rows(struct pairing *p, struct column *c, const struct ends *e, idx_t rows)
{
	int err = 0;

	for (idx_t i = 0; i < rows && !err; i++) {
		const struct step *s = &p->steps[i];

		if (s->give != NONE)
			give(c, e, s->give, c->kept + s->from * c->sz, c->null[s->from]);
		if (s->to != NONE)
			err = keep(p, c, s->to, e, i);
	}
	return err;
}

static int move_next(struct pairing *p, struct column *c, const struct ends *e, idx_t rows)
{
	for (idx_t i = 0; i < rows; i++) {
		const struct step *s = &p->steps[i];

		if (s->give != NONE)
			give(c, e, s->give, e->in + i * c->sz, is_null(e, i));
	}
	return 0;
}

static int move_marks(struct pairing *p, struct column *c, const struct ends *e, idx_t rows)
{
	int err = 0;

	for (idx_t i = 0; i < rows && !err; i++) {
		const struct step *s = &p->steps[i];

		if (s->give != NONE && s->from_mark != NONE)
			give(c, e, s->give, c->kept + s->from_mark * c->sz, c->null[s->from_mark]);
		else if (s->give != NONE)
			give(c, e, s->give, NULL, true);
		if (s->to_mark != NONE)
			err = keep(p, c, s->to_mark, e, i);
	}
	return err;
}

static int (*const moves[])(struct pairing *, struct column *, const struct ends *, idx_t) = {
	[PAIRING_ROW] = move_rows,
	[PAIRING_NEXT] = move_next,
	[PAIRING_MARK] = move_marks,
};

int pairing__take(struct pairing *p, duckdb_data_chunk input, duckdb_data_chunk output)
{
	idx_t rows = duckdb_data_chunk_get_size(input), given = 0;
	int err = plan(p, input, rows, &given);

	for (size_t i = 0; i < p->column_cnt && !err; i++) {
		struct column *c = &p->columns[i];
		struct ends e = ends_of(c, input, output);

		err = moves[c->is.of](p, c, &e, rows);
	}
	duckdb_data_chunk_set_size(output, given);
	return err;
}

/* The rows of some keys, which none follows. */
static void give_last(const struct column *c, duckdb_data_chunk output, const uint32_t *keys,
		      idx_t cnt)
{
	struct ends e = ends_of(c, NULL, output);

	for (idx_t i = 0; i < cnt; i++)
		if (c->is.of == PAIRING_ROW)
			give(c, &e, i, c->kept + keys[i] * c->sz, c->null[keys[i]]);
		else
			give(c, &e, i, NULL, true);
}

void pairing__finish(struct pairing *p, duckdb_data_chunk output)
{
	idx_t cnt = 0, most = duckdb_vector_size();

	for (; p->finished < p->key_cnt && cnt < most; p->finished++)
		if (p->keys[p->finished].has_row)
			p->last[cnt++] = p->finished;
	for (size_t i = 0; i < p->column_cnt; i++)
		give_last(&p->columns[i], output, p->last, cnt);
	duckdb_data_chunk_set_size(output, cnt);
}

static int add_columns(struct pairing *p, const struct pairing_column *columns, size_t cnt)
{
	p->columns = calloc(cnt ? cnt : 1, sizeof(*p->columns));
	if (!p->columns)
		return -ENOMEM;
	for (; p->column_cnt < cnt; p->column_cnt++) {
		const struct pairing_column *is = &columns[p->column_cnt];

		if (!pairing__can(is->type))
			return -EINVAL;
		p->columns[p->column_cnt] = (struct column){ .is = *is, .sz = sizes[is->type] };
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
	p->free_mark = p->free_key = NONE;
	p->moment = INT64_MIN;
	p->steps = calloc(duckdb_vector_size(), sizeof(*p->steps));
	p->last = calloc(duckdb_vector_size(), sizeof(*p->last));
	if (p->steps && p->last && add_columns(p, columns, cnt) == 0 && grow_keys(p) == 0)
		return p;
	pairing__free(p);
	return NULL;
}

void pairing__free(struct pairing *p)
{
	struct text *t, *next;

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
	free(p->keys);
	free(p->slots);
	free(p->marks);
	free(p->steps);
	free(p->last);
	free(p);
}
