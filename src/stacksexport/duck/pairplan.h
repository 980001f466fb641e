/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds which row follows which: the keys and moments of pairing.h, without the columns. */
#ifndef STACKSEXPORT_DUCK_PAIRPLAN_H
#define STACKSEXPORT_DUCK_PAIRPLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hashindex.h"

#define PAIR_NONE HASHINDEX_NONE

/* One row of the stream, with the columns of struct pairing_control. */
struct pair_row {
	uint64_t key;
	int64_t moment, begin;
	bool is_mark, is_end;
};

/* What a row does to the columns; PAIR_NONE: nothing. */
struct pair_step {
	uint32_t give;	    /* the row of the output that gets the key's row before it */
	uint32_t from;	    /* the place of that row */
	uint32_t from_mark; /* the place of its mark */
	uint32_t to;	    /* the place for the row */
	uint32_t to_mark;   /* the place for the mark, if the row is one */
};

struct pair_key {
	uint64_t value;
	int64_t moment;	 /* moment of its last row */
	uint32_t newest; /* the newest of its marks */
	uint32_t next;	 /* the next free key */
	bool has_row;
};

struct pair_mark {
	int64_t moment;
	uint32_t older; /* the next older mark of the same key, or the next free one */
};

/* Rows are kept by the number of their key, marks by their own number. Both are below these
 * capacities, which grow. */
struct pair_plan {
	struct pair_key *keys;
	uint32_t key_cnt, key_capacity, free_key;
	struct hashindex index; /* of the keys in use */
	struct pair_mark *marks;
	uint32_t mark_cnt, mark_capacity, free_mark;
	int64_t moment; /* moment of the last row of all keys */
};

int pair_plan__init(struct pair_plan *); /* returns 0 or -ENOMEM; must be freed in either case */
void pair_plan__free(struct pair_plan *);

/*
 * Plans the next row. *given counts the rows that are given. Returns 0, -ENOMEM, or -EINVAL if rows
 * are not in the order of time.
 */
int pair_plan__add(struct pair_plan *, const struct pair_row *, uint32_t *given,
		   struct pair_step *);

#endif
