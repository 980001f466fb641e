// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/mergeplan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/digest.h"
#include "base/hashindex.h"
#include "base/log.h"
#include "base/seed.h"

#define UNIT_SZ (192ull << 20) /* parts have 30 to 80 % of it */

int64_t merge_batch__first(const struct merge_batch *b, enum fleet_table table)
{
	return b->first_ns > b->last_ns ? 1 : fleet_partition__of(table, b->first_ns);
}

int64_t merge_batch__last(const struct merge_batch *b, enum fleet_table table)
{
	return b->first_ns > b->last_ns ? 0 : fleet_partition__of(table, b->last_ns);
}

static int mergeplan_add(struct merge_plan *plan, struct merge_batch *b, int64_t partition)
{
	struct merge_entry *entries =
		array__room(plan->entries, plan->cnt, &plan->cap, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	plan->entries = entries;
	entries[plan->cnt++] = (struct merge_entry){ partition, b->files[plan->table].schema, b };
	return 0;
}

static int plan_add_batch(struct merge_plan *plan, struct merge_batch *b, struct merge_ledger *l)
{
	struct merge_file *file = &b->files[plan->table];
	size_t before = plan->cnt;
	int err = 0;

	if (b->is_bad || file->is_done)
		return 0;
	for (int64_t p = merge_batch__first(b, plan->table);
	     p <= merge_batch__last(b, plan->table) && file->row_cnt && !err; p++) {
		struct fleet_part part = { plan->table, p, 0 };

		if (!merge_ledger__has(l, &part, file->id))
			err = mergeplan_add(plan, b, p);
	}
	if (!err && plan->cnt == before)
		file->is_done = true;
	return err;
}

static int mergeplan_entry_compare(const void *pa, const void *pb)
{
	const struct merge_entry *a = pa, *b = pb;

	if (a->partition != b->partition)
		return a->partition < b->partition ? -1 : 1;
	if (a->schema != b->schema)
		return a->schema < b->schema ? -1 : 1;
	return a->batch < b->batch ? -1 : a->batch > b->batch;
}

int merge_plan__make(struct merge_plan *plan, struct merge_inputs *in, struct merge_ledger *l,
		     enum fleet_table table)
{
	int err = 0;

	*plan = (struct merge_plan){ .table = table };
	for (size_t i = 0; i < in->cnt && !err; i++)
		err = plan_add_batch(plan, &in->batches[i], l);
	if (err)
		log__error("out of memory");
	else if (plan->cnt)
		qsort(plan->entries, plan->cnt, sizeof(*plan->entries), mergeplan_entry_compare);
	return err;
}

void merge_plan__free(struct merge_plan *plan)
{
	free(plan->entries);
	*plan = (struct merge_plan){ 0 };
}

/* Returns how many bytes the next unit has, so that all that are left in its partition are about
 * equal. */
static uint64_t mergeplan_unit_sz(const struct merge_plan *plan)
{
	const struct merge_entry *first = &plan->entries[plan->next];
	uint64_t sz = 0, units;

	for (size_t i = plan->next; i < plan->cnt; i++) {
		const struct merge_entry *e = &plan->entries[i];

		if (e->partition != first->partition || e->schema != first->schema)
			break;
		sz += e->batch->files[plan->table].sz;
	}
	units = (sz + UNIT_SZ / 2) / UNIT_SZ;
	return units ? sz / units : sz;
}

/* The unit's name is made of its inputs, so that a merge that is repeated writes the same name. */
static uint64_t mergeplan_unit_id(const struct merge_unit *u)
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, sizeof(u->part.table), (const uint8_t *)&u->part.table);
	sha256_update(&ctx, sizeof(u->part.partition), (const uint8_t *)&u->part.partition);
	for (size_t i = 0; i < u->cnt; i++) {
		uint64_t id = u->batches[i]->files[u->part.table].id;

		sha256_update(&ctx, sizeof(id), (const uint8_t *)&id);
	}
	return digest__end(&ctx);
}

/* Adds an input to the unit if neither the ledger nor the unit has its content. */
static int mergeplan_unit_add(struct merge_unit *u, struct hashindex *ids, struct merge_ledger *l,
			      struct merge_batch *b)
{
	enum fleet_table t = u->part.table;
	uint64_t id = b->files[t].id, hash = seed__mix(id);

	if (b->is_bad || merge_ledger__has(l, &u->part, id) ||
	    HASHINDEX_FIND(ids, hash, n, u->batches[n]->files[t].id == id) != HASHINDEX_NONE)
		return 0;
	u->batches[u->cnt] = b;
	return hashindex__add(ids, hash, (uint32_t)u->cnt++);
}

/* Takes the entries of one unit; it can be empty. */
static void mergeplan_take_entries(struct merge_plan *plan, struct merge_ledger *l,
				   struct merge_unit *u)
{
	const struct merge_entry *first = &plan->entries[plan->next];
	uint64_t max_sz = mergeplan_unit_sz(plan), sz = 0;
	struct hashindex ids = { 0 };
	int err = 0;

	u->part = (struct fleet_part){ plan->table, first->partition, 0 };
	u->cnt = 0;
	for (; plan->next < plan->cnt && sz < max_sz && u->cnt < MERGE_UNIT_MAX && !err;
	     plan->next++) {
		const struct merge_entry *e = &plan->entries[plan->next];

		if (e->partition != first->partition || e->schema != first->schema)
			break;
		sz += e->batch->files[plan->table].sz;
		/* out of memory: the next unit has it */
		err = mergeplan_unit_add(u, &ids, l, e->batch);
	}
	hashindex__free(&ids);
	u->part.id = mergeplan_unit_id(u);
}

bool merge_plan__next(struct merge_plan *plan, struct merge_ledger *l, struct merge_unit *u)
{
	u->cnt = 0;
	while (plan->next < plan->cnt && !u->cnt)
		mergeplan_take_entries(plan, l, u);
	return u->cnt > 0;
}
