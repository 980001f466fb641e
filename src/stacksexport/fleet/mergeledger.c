// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/mergeledger.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/search.h"

#define WHOLE INT64_MAX /* instead of a partition: all of the input */

/* Spreads the bits of numbers that differ in few (the finalizer of MurmurHash3). */
static uint64_t ledger_mix(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

static uint64_t ledger_key(enum fleet_table table, int64_t partition, uint64_t input)
{
	return input ^ ledger_mix((uint64_t)partition * FLEET_TABLE_CNT + table + 1);
}

void merge_ledger__free(struct merge_ledger *l)
{
	free(l->keys);
	for (int t = 0; t < FLEET_TABLE_CNT; t++)
		free(l->days[t]);
	*l = (struct merge_ledger){ 0 };
}

static int ledger_append(struct merge_ledger *l, uint64_t key)
{
	uint64_t *keys = array__room(l->keys, l->cnt, &l->cap, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	l->keys = keys;
	l->keys[l->cnt++] = key;
	return 0;
}

int merge_ledger__add(struct merge_ledger *l, const struct fleet_part *p, uint64_t input, bool done)
{
	int err = ledger_append(l, ledger_key(p->table, p->partition, input));

	return !err && done ? ledger_append(l, ledger_key(p->table, WHOLE, input)) : err;
}

static int ledger_compare(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

static bool ledger_find(struct merge_ledger *l, uint64_t key)
{
	size_t at;

	if (l->sorted < l->cnt)
		qsort(l->keys, l->cnt, sizeof(*l->keys), ledger_compare);
	l->sorted = l->cnt;
	at = SEARCH_COUNT(l->keys, l->cnt, k, *k < key);
	return at < l->cnt && l->keys[at] == key;
}

bool merge_ledger__has(struct merge_ledger *l, const struct fleet_part *p, uint64_t input)
{
	return ledger_find(l, ledger_key(p->table, p->partition, input));
}

bool merge_ledger__is_done(struct merge_ledger *l, enum fleet_table table, uint64_t input)
{
	return ledger_find(l, ledger_key(table, WHOLE, input));
}

void merge_ledger__print(struct buf *entry, uint64_t input, bool done)
{
	buf__printf(entry, "%016" PRIx64 "%s\n", input, done ? " +" : "");
}

/* The partition stands in the first line: "# partition 490123". */
static int mergeledger_read_entry(struct merge_ledger *l, enum fleet_table table, const char *path)
{
	struct fleet_part p = { .table = table, .partition = -1 };
	FILE *f = fopen(path, "re");
	char line[128];
	int err = f ? 0 : -errno;

	while (!err && fgets(line, sizeof(line), f)) {
		uint64_t input;
		char *end;

		if (sscanf(line, "# partition %" SCNd64, &p.partition) == 1 || line[0] == '#')
			continue;
		input = strtoull(line, &end, 16);
		if (end != line + 16 || p.partition < 0)
			err = -EBADMSG;
		else
			err = merge_ledger__add(l, &p, input, strncmp(end, " +", 2) == 0);
	}
	if (f)
		fclose(f);
	if (err)
		log__error("cannot read %s, which says what was merged: %s", path, strerror(-err));
	return err;
}

static int mergeledger_read_entries(struct merge_ledger *l, enum fleet_table table,
				    const char *folder)
{
	struct dirent **names;
	int cnt = scandir(folder, &names, NULL, NULL), err = 0;

	if (cnt < 0)
		return errno == ENOENT ? 0 : -errno;
	for (int i = 0; i < cnt; i++) {
		char *path = NULL;

		if (names[i]->d_name[0] != '.' && !err) {
			if (asprintf(&path, "%s/%s", folder, names[i]->d_name) < 0)
				path = NULL;
			err = path ? mergeledger_read_entry(l, table, path) : -ENOMEM;
			free(path);
		}
		free(names[i]);
	}
	free(names);
	return err;
}

static bool mergeledger_is_read(const struct merge_ledger *l, enum fleet_table table, int64_t day)
{
	for (size_t i = 0; i < l->day_cnt[table]; i++)
		if (l->days[table][i] == day)
			return true;
	return false;
}

int merge_ledger__read_day(struct merge_ledger *l, const struct fleet *f, enum fleet_table table,
			   int64_t day)
{
	struct fleet_part p = { table, day * 24 / fleet_tables[table].hours, 0 };
	char name[FLEET_PART_NAME_SZ], *folder;
	int64_t *days;
	int err;

	if (mergeledger_is_read(l, table, day))
		return 0;
	days = array__room(l->days[table], l->day_cnt[table], &l->day_cap[table], sizeof(*days));
	if (!days)
		return -ENOMEM;
	l->days[table] = days;
	fleet_part__day(&p, name);
	if (asprintf(&folder, "%s/" FLEET_STATE "/merged/%s/%s", f->dir, fleet_tables[table].name,
		     name) < 0)
		return -ENOMEM;
	err = mergeledger_read_entries(l, table, folder);
	free(folder);
	if (!err)
		days[l->day_cnt[table]++] = day;
	return err;
}
