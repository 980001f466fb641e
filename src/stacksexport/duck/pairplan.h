/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which row follows which: the keys and moments of pairing.h, without the columns. */
#ifndef STACKSEXPORT_DUCK_PAIRPLAN_H
#define STACKSEXPORT_DUCK_PAIRPLAN_H

#include <stdbool.h>
#include <stdint.h>

#define PAIR_NONE UINT32_MAX

/* One row of the stream, as struct pairing_control says. */
struct pair_row {
	uint64_t key;
	int64_t moment, begin;
	bool is_mark, is_end;
};

/* What it does to the columns; PAIR_NONE: nothing. */
struct pair_step {
	uint32_t give;	    /* the row of the output for the key's row before it */
	uint32_t from;	    /* where that is kept */
	uint32_t from_mark; /* where its mark is kept */
	uint32_t to;	    /* where the row is to be kept */
	uint32_t to_mark;   /* where the mark is to be kept that it is */
};

struct pair_key {
	uint64_t value;
	int64_t moment;	 /* of its last row */
	uint32_t newest; /* of its marks */
	uint32_t next;	 /* of the free ones */
	bool has_row;
};

struct pair_mark {
	int64_t moment;
	uint32_t older; /* of the same key, or the next free one */
};

/* Rows are kept by their key's number, marks by theirs: below these capacities, which grow. */
struct pair_plan {
	struct pair_key *keys;
	uint32_t key_cnt, key_capacity, free_key;
	uint32_t *slots; /* key's number + 1 by its value, open addressing; 0: free */
	uint32_t slot_mask;
	struct pair_mark *marks;
	uint32_t mark_cnt, mark_capacity, free_mark;
	int64_t moment; /* of the last row of all */
};

int pair_plan__init(struct pair_plan *); /* 0 or -ENOMEM; to be freed in either case */
void pair_plan__free(struct pair_plan *);

/*
 * What the next row does. *given counts the rows that are given. 0, -ENOMEM, or -EINVAL for a row
 * that is before the one before it.
 */
int pair_plan__add(struct pair_plan *, const struct pair_row *, uint32_t *given,
		   struct pair_step *);

#endif
