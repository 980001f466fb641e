// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/pairplan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/seed.h"

static const struct pair_step no_step = { PAIR_NONE, PAIR_NONE, PAIR_NONE, PAIR_NONE, PAIR_NONE };

/* Recordings choose the keys: the hash has a seed that they cannot know. */
static uint32_t pairplan_find_key(const struct pair_plan *p, uint64_t value)
{
	return HASHINDEX_FIND(&p->index, seed__mix(value), i, p->keys[i].value == value);
}

static int pairplan_grow_keys(struct pair_plan *p)
{
	uint32_t capacity = p->key_capacity ? 2 * p->key_capacity : 1024;
	struct pair_key *keys = realloc(p->keys, capacity * sizeof(*keys));

	p->keys = keys ? keys : p->keys;
	if (!keys)
		return -ENOMEM;
	p->key_capacity = capacity;
	return 0;
}

static int pairplan_grow_marks(struct pair_plan *p)
{
	uint32_t capacity = p->mark_capacity ? 2 * p->mark_capacity : 1024;
	struct pair_mark *marks = realloc(p->marks, capacity * sizeof(*marks));

	p->marks = marks ? marks : p->marks;
	if (!marks)
		return -ENOMEM;
	p->mark_capacity = capacity;
	return 0;
}

/* Returns the number of a key, or PAIR_NONE if out of memory. */
static uint32_t pairplan_add_key(struct pair_plan *p, uint64_t value)
{
	uint32_t key = p->free_key != PAIR_NONE ? p->free_key : p->key_cnt;

	if (key == p->key_capacity && pairplan_grow_keys(p) != 0)
		return PAIR_NONE;
	if (hashindex__add(&p->index, seed__mix(value), key) != 0)
		return PAIR_NONE;
	if (key == p->key_cnt)
		p->key_cnt++;
	else
		p->free_key = p->keys[key].next;
	p->keys[key] = (struct pair_key){ .value = value, .newest = PAIR_NONE };
	return key;
}

/* Drops this mark and the older ones. */
static void pairplan_drop_marks(struct pair_plan *p, uint32_t *first)
{
	while (*first != PAIR_NONE) {
		uint32_t mark = *first;

		*first = p->marks[mark].older;
		p->marks[mark].older = p->free_mark;
		p->free_mark = mark;
	}
}

static void pairplan_forget_key(struct pair_plan *p, uint32_t key)
{
	pairplan_drop_marks(p, &p->keys[key].newest);
	hashindex__remove(&p->index, seed__mix(p->keys[key].value), key);
	p->keys[key].has_row = false;
	p->keys[key].next = p->free_key;
	p->free_key = key;
}

/* Plans a mark. A mark before the first row belongs to no row. */
static int pairplan_mark(struct pair_plan *p, struct pair_key *k, int64_t moment,
			 struct pair_step *s)
{
	uint32_t mark;

	if (!k->has_row)
		pairplan_drop_marks(p, &k->newest);
	mark = p->free_mark;
	if (mark != PAIR_NONE)
		p->free_mark = p->marks[mark].older;
	else if (p->mark_cnt < p->mark_capacity || pairplan_grow_marks(p) == 0)
		mark = p->mark_cnt++;
	else
		return -ENOMEM;
	p->marks[mark] = (struct pair_mark){ .moment = moment, .older = k->newest };
	k->newest = mark;
	s->to_mark = mark;
	return 0;
}

/* Returns the last mark up to `end` that is not before the key's row. */
static uint32_t pairplan_mark_until(const struct pair_plan *p, const struct pair_key *k,
				    int64_t end)
{
	uint32_t mark = k->newest;

	while (mark != PAIR_NONE && p->marks[mark].moment > end)
		mark = p->marks[mark].older;
	return mark != PAIR_NONE && p->marks[mark].moment >= k->moment ? mark : PAIR_NONE;
}

/* Gives the key's row before this one, which is now complete. */
static void plan_pair(const struct pair_plan *p, uint32_t key, int64_t begin, uint32_t *given,
		      struct pair_step *s)
{
	const struct pair_key *k = &p->keys[key];

	if (!k->has_row)
		return;
	s->give = (*given)++;
	s->from = key;
	s->from_mark = pairplan_mark_until(p, k, begin > k->moment ? begin : k->moment);
}

static void pairplan_row(struct pair_plan *p, uint32_t key, int64_t moment, struct pair_step *s)
{
	struct pair_key *k = &p->keys[key];

	s->to = key;
	k->has_row = true;
	k->moment = moment;
	if (k->newest != PAIR_NONE) /* the last mark may have the moment of this row */
		pairplan_drop_marks(p, p->marks[k->newest].moment == moment
					       ? &p->marks[k->newest].older
					       : &k->newest);
}

int pair_plan__add(struct pair_plan *p, const struct pair_row *row, uint32_t *given,
		   struct pair_step *s)
{
	uint32_t key = pairplan_find_key(p, row->key);

	*s = no_step;
	if (row->moment < p->moment)
		return -EINVAL;
	p->moment = row->moment;
	if (key == PAIR_NONE && row->is_end)
		return 0;
	if (key == PAIR_NONE)
		key = pairplan_add_key(p, row->key);
	if (key == PAIR_NONE)
		return -ENOMEM;
	if (row->is_mark)
		return pairplan_mark(p, &p->keys[key], row->moment, s);
	plan_pair(p, key, row->begin, given, s);
	if (row->is_end)
		pairplan_forget_key(p, key);
	else
		pairplan_row(p, key, row->moment, s);
	return 0;
}

int pair_plan__init(struct pair_plan *p)
{
	*p = (struct pair_plan){ .free_key = PAIR_NONE,
				 .free_mark = PAIR_NONE,
				 .moment = INT64_MIN };
	return pairplan_grow_keys(p);
}

void pair_plan__free(struct pair_plan *p)
{
	free(p->keys);
	hashindex__free(&p->index);
	free(p->marks);
}
