// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport merge`: recordings of many hosts into a fleet folder. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "base/parse.h"
#include "stacksexport/commands.h"
#include "stacksexport/duck/share.h"
#include "stacksexport/fleet/mergefacts.h"
#include "stacksexport/fleet/mergeunit.h"

/* DuckDB's; the process stays below 512 MB. A second thread takes twice the CPU time in this
 * memory. */
#define MEMORY_LIMIT "250MB"
#define DAY_NS	     (24 * HOUR_NS)

#define FOLLOW_PAUSE_S 10
#define FOLLOW_SZ      (128ull << 20)
#define EVERY_NS       (600 * 1000000000ull)

struct merge_args {
	const char *const *folders;
	size_t cnt;
	uint64_t every_ns;
	bool remove;
};

static int merger__settings(struct merger *m)
{
	struct buf sql = { 0 };
	int err;

	buf__str(&sql, "SET memory_limit = '" MEMORY_LIMIT "'; SET parquet_metadata_cache = false;"
		       "SET enable_external_file_cache = false;"
		       "SET temp_directory = ");
	db__append_quoted(&sql, m->fleet.dir, '\'');
	buf__str(&sql, " || '/" FLEET_STATE "/spill'");
	buf__u8(&sql, 0);
	err = buf__err(&sql) ? -ENOMEM : db__command(&m->db, (const char *)sql.data);
	buf__free(&sql);
	if (!err)
		err = db__script(&m->db, "sql/merge/open.sql");
	return err ? err : db__define_all(&m->db);
}

static int merger__open(struct merger *m, const char *dir, const struct recfiles *label)
{
	int err = fleet__open(&m->fleet, dir);

	m->db.files = label;
	if (!err)
		err = db__connect(&m->db);
	if (!err)
		err = merger__settings(m);
	for (int t = 0; t < FLEET_TABLE_CNT && !err; t++) {
		char path[64];

		if (t == FLEET_EVENTS)
			continue;
		snprintf(path, sizeof(path), "sql/merge/%s.sql", fleet_tables[t].name);
		m->sql[t] = share__read(path);
		err = m->sql[t] ? 0 : -ENOENT;
	}
	return err;
}

static void merger__close(struct merger *m)
{
	for (int t = 0; t < FLEET_TABLE_CNT; t++)
		free(m->sql[t]);
	merge_inputs__free(&m->in);
	merge_ledger__free(&m->ledger);
	db__close(&m->db);
	fleet__close(&m->fleet);
}

/* Reads the ledger's days from `first` to `last`, which are those of `of`. */
static int merge_read_days(struct merger *m, enum fleet_table t, int64_t first_ns, int64_t last_ns)
{
	int err = 0;

	for (int64_t day = first_ns / DAY_NS; day <= last_ns / DAY_NS && !err; day++)
		err = merge_ledger__read_day(&m->ledger, &m->fleet, t, day);
	return err;
}

/*
 * Marks the files that are merged. The day of a file's rows is usually that when it was written, so
 * the ends of most files need not be read for it.
 */
static int merge_mark_done(struct merger *m)
{
	int err = 0;

	for (size_t i = 0; i < m->in.cnt && !err; i++)
		for (int t = 0; t < FLEET_TABLE_CNT && !err; t++) {
			const struct merge_file *f = &m->in.batches[i].files[t];

			if (f->is_there)
				err = merge_read_days(m, (enum fleet_table)t, f->mtime_ns,
						      f->mtime_ns);
		}
	for (size_t i = 0; i < m->in.cnt && !err; i++)
		for (int t = 0; t < FLEET_TABLE_CNT; t++) {
			struct merge_file *f = &m->in.batches[i].files[t];

			f->is_done |= merge_ledger__is_done(&m->ledger, (enum fleet_table)t, f->id);
		}
	return err;
}

/* Reads the ledger's days of the rows. */
static int merge_read_ledger(struct merger *m)
{
	int err = 0;

	for (size_t i = 0; i < m->in.cnt && !err; i++) {
		const struct merge_batch *b = &m->in.batches[i];

		for (int t = 0; t < FLEET_TABLE_CNT && !b->is_bad && !err; t++)
			if (b->first_ns <= b->last_ns && !b->files[t].is_done)
				err = merge_read_days(m, (enum fleet_table)t, b->first_ns,
						      b->last_ns);
	}
	return err;
}

/* Merges one table. -EAGAIN: inputs turned out to be damaged. The last plan is empty; making it
 * marks the copies of merged files as done. */
static int merge_table(struct merger *m, enum fleet_table table)
{
	struct merge_plan plan;
	int err = merge_plan__make(&plan, &m->in, &m->ledger, table);

	while (!err && merge_plan__next(&plan, &m->ledger, &m->unit))
		err = merge_unit__write(m);
	if (!err && plan.cnt) {
		merge_plan__free(&plan);
		err = merge_plan__make(&plan, &m->in, &m->ledger, table);
	}
	merge_plan__free(&plan);
	return err;
}

static int merge_all(struct merger *m)
{
	int err = 0;

	for (int t = 0; t < FLEET_TABLE_CNT && !err; t++) {
		do
			err = merge_table(m, (enum fleet_table)t);
		while (err == -EAGAIN);
	}
	return err;
}

static size_t merge_count_bad_batches(const struct merge_inputs *in)
{
	size_t cnt = 0;

	for (size_t i = 0; i < in->cnt; i++)
		cnt += in->batches[i].is_bad;
	return cnt;
}

static void merge_report(const struct merger *m, uint64_t begin_ns, size_t removed)
{
	double s = (double)(monotonic__ns() - begin_ns) / 1e9;

	log__info("%s: %" PRIu64 " events; %.1f MB in %.1f s; %" PRIu64 " new files of %.1f MB",
		  m->fleet.dir, m->row_cnt, (double)m->read_sz / 1e6, s, m->part_cnt,
		  (double)m->written_sz / 1e6);
	if (removed)
		log__info("%zu merged batches were removed", removed);
}

/* Finds the inputs and what is merged of them. */
static int merge_look(struct merger *m, const struct merge_args *args)
{
	int err = merge_inputs__find(&m->in, args->folders, args->cnt, m->fleet.dir);

	return err ? err : merge_mark_done(m);
}

/* Merges the inputs that were found. */
static int merge_found(struct merger *m, const struct merge_args *args)
{
	uint64_t begin_ns = monotonic__ns();
	int err = merge_facts__read(&m->in, &m->db);

	m->part_cnt = m->row_cnt = m->read_sz = m->written_sz = 0;
	if (!err)
		err = merge_read_ledger(m);
	if (!err)
		err = merge_all(m);
	if (!err)
		merge_report(m, begin_ns, args->remove ? merge_inputs__remove_done(&m->in) : 0);
	return err;
}

static int merge_once(struct merger *m, const struct merge_args *args)
{
	int err = merge_look(m, args);

	if (!err && !m->in.cnt) {
		log__error("there is no batch below %s%s", args->folders[0],
			   args->cnt > 1 ? " and the other folders" : "");
		return -ENODATA;
	}
	if (!err)
		err = merge_found(m, args);
	if (!err && merge_count_bad_batches(&m->in))
		log__warn("%zu batches were left out", merge_count_bad_batches(&m->in));
	return err;
}

static volatile sig_atomic_t ends;

static void merge_on_signal(int signal)
{
	(void)signal;
	ends = 1;
}

/* A second signal ends the program at once, which is safe at any time. */
static void merge_catch_signals(void)
{
	struct sigaction action = { .sa_handler = merge_on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static bool merge_is_due(const struct merger *m, const struct merge_args *args)
{
	struct merge_pending pending = merge_inputs__pending(&m->in);
	struct timespec now;

	if (!pending.sz)
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	return ends || pending.sz >= FOLLOW_SZ ||
	       now.tv_sec * 1000000000 + now.tv_nsec - pending.since_ns >= (int64_t)args->every_ns;
}

static int merge_follow(struct merger *m, const struct merge_args *args)
{
	const struct timespec pause = { .tv_sec = FOLLOW_PAUSE_S };
	bool last;
	int err;

	merge_catch_signals();
	do {
		last = ends;
		err = merge_look(m, args);
		if (!err && merge_is_due(m, args))
			err = merge_found(m, args);
		if (!err && !ends)
			nanosleep(&pause, NULL);
	} while (!err && !last);
	return err;
}

static int merge_run(const struct export_options *o, const struct merge_args *args)
{
	struct recfiles label = { .label = (char *)o->dir };
	struct merger *m = calloc(1, sizeof(*m));
	int err;

	if (!m) {
		log__error("out of memory");
		return -ENOMEM;
	}
	err = merger__open(m, o->dir, &label);
	if (!err)
		err = o->follow ? merge_follow(m, args) : merge_once(m, args);
	merger__close(m);
	free(m);
	return err;
}

int merge__run(const struct export_options *o)
{
	const char *root[] = { recfiles__root() };
	struct merge_args args = { .folders = o->argument_cnt ? o->arguments : root,
				   .cnt = o->argument_cnt ? o->argument_cnt : 1,
				   .every_ns = EVERY_NS,
				   .remove = o->remove };

	if (!o->dir)
		return export_options__wrong(o, "name the fleet folder with -d DIR");
	if (o->every && (!o->follow || parse__duration(o->every, &args.every_ns) != 0))
		return export_options__wrong(o,
					     o->follow
						     ? "--every '%s' is not a time, for example 10m"
						     : "--every %s needs --follow",
					     o->every);
	return merge_run(o, &args) == 0 ? STATUS_OK : STATUS_FAILED;
}
