// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/fleetfolder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/writeall.h"
#include "stacksexport/outfile.h"

const struct fleet_table_facts fleet_tables[FLEET_TABLE_CNT] = {
	[FLEET_STACKS] = { "stacks", "stacktraces-", 24 },
	[FLEET_PROCESSES] = { "processes", "processes-", 24 },
	[FLEET_EVENTS] = { "events", "events-", 1 },
};

#define STAGING FLEET_STATE "/staging"
#define LEDGER	FLEET_STATE "/merged"

static struct tm fleetfolder_part_time(const struct fleet_part *p)
{
	time_t s = fleet_partition__begin_ns(p->table, p->partition) / 1000000000;
	struct tm t = { 0 };

	gmtime_r(&s, &t);
	return t;
}

void fleet_part__day(const struct fleet_part *p, char out[FLEET_PART_NAME_SZ])
{
	struct tm t = fleetfolder_part_time(p);

	strftime(out, FLEET_PART_NAME_SZ, "day=%Y-%m-%d", &t);
}

void fleet_part__folder(const struct fleet_part *p, char out[FLEET_PART_NAME_SZ])
{
	struct tm t = fleetfolder_part_time(p);
	int sz = snprintf(out, FLEET_PART_NAME_SZ, "%s/", fleet_tables[p->table].name);

	strftime(out + sz, FLEET_PART_NAME_SZ - (size_t)sz,
		 fleet_tables[p->table].hours == 1 ? "day=%Y-%m-%d/hour=%H" : "day=%Y-%m-%d", &t);
}

static int fleetfolder_cannot(const char *what, const char *path, int err)
{
	log__error("cannot %s %s: %s", what, path, strerror(-err));
	return err;
}

/* Writes a file or a folder to the disk. */
static int fleetfolder_sync_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return fleetfolder_cannot("open", path, -errno);
	if (fsync(fd) != 0 && errno != EINVAL) /* a file system that cannot */
		err = fleetfolder_cannot("write", path, -errno);
	close(fd);
	return err;
}

static int fleetfolder_move_durably(const char *from, const char *to, const char *to_folder)
{
	if (rename(from, to) != 0)
		return fleetfolder_cannot("write", to, -errno);
	return fleetfolder_sync_path(to_folder);
}

char *fleet__staging(const struct fleet *f, const struct fleet_part *p)
{
	char *path;

	if (asprintf(&path, "%s/" STAGING "/%s.%" PRId64 ".%016" PRIx64 ".parquet", f->dir,
		     fleet_tables[p->table].name, p->partition, p->id) < 0)
		return NULL;
	return path;
}

static char *fleetfolder_ledger_folder(const struct fleet *f, const struct fleet_part *p)
{
	char day[FLEET_PART_NAME_SZ], *path;

	fleet_part__day(p, day);
	if (asprintf(&path, "%s/" LEDGER "/%s/%s", f->dir, fleet_tables[p->table].name, day) < 0)
		return NULL;
	return path;
}

/* Gives a complete part its name. */
static int fleetfolder_publish(const struct fleet *f, const struct fleet_part *p,
			       const char *staging)
{
	char name[FLEET_PART_NAME_SZ], *folder = NULL, *path = NULL;
	int err = -ENOMEM;

	fleet_part__folder(p, name);
	if (asprintf(&folder, "%s/%s", f->dir, name) < 0)
		folder = NULL;
	else if (asprintf(&path, "%s/part-%016" PRIx64 ".parquet", folder, p->id) < 0)
		path = NULL;
	if (path)
		err = outfile__make_dirs(folder);
	if (path && !err)
		err = fleetfolder_move_durably(staging, path, folder);
	free(path);
	free(folder);
	return err;
}

static int fleetfolder_write_entry(const char *temp, const struct buf *entry)
{
	int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), err;

	if (fd < 0)
		return fleetfolder_cannot("write", temp, -errno);
	err = write_all(fd, entry->data, entry->sz);
	if (!err && fsync(fd) != 0)
		err = -errno;
	close(fd);
	return err ? fleetfolder_cannot("write", temp, err) : 0;
}

/* The moment at which a part counts. */
static int fleetfolder_add_entry(const struct fleet *f, const struct fleet_part *p,
				 const struct buf *entry)
{
	char *folder = fleetfolder_ledger_folder(f, p), *temp = NULL, *path = NULL;
	int err = -ENOMEM;

	if (folder && asprintf(&temp, "%s/.%016" PRIx64, folder, p->id) < 0)
		temp = NULL;
	if (temp && asprintf(&path, "%s/%016" PRIx64, folder, p->id) < 0)
		path = NULL;
	if (path)
		err = outfile__make_dirs(folder);
	if (path && !err)
		err = fleetfolder_write_entry(temp, entry);
	if (path && !err)
		err = fleetfolder_move_durably(temp, path, folder);
	free(path);
	free(temp);
	free(folder);
	return err;
}

int fleet__commit(const struct fleet *f, const struct fleet_part *p, const struct buf *entry,
		  int has_rows)
{
	char *staging = fleet__staging(f, p);
	int err = staging && !buf__err(entry) ? 0 : -ENOMEM;

	if (!err && has_rows)
		err = fleetfolder_sync_path(staging);
	if (!err)
		err = fleetfolder_add_entry(f, p, entry);
	if (!err && has_rows)
		err = fleetfolder_publish(f, p, staging);
	free(staging);
	return err;
}

/* ---- what a killed merge left ------------------------------------------------------------------
 */

static bool part__parse(struct fleet_part *p, const char *name)
{
	for (int t = 0; t < FLEET_TABLE_CNT; t++) {
		size_t sz = strlen(fleet_tables[t].name);
		int end = 0;

		if (strncmp(name, fleet_tables[t].name, sz) != 0)
			continue;
		p->table = (enum fleet_table)t;
		return sscanf(name + sz, ".%" SCNd64 ".%" SCNx64 ".parquet%n", &p->partition,
			      &p->id, &end) == 2 &&
		       end > 0 && name[sz + (size_t)end] == '\0';
	}
	return false;
}

static int fleetfolder_is_recorded(const struct fleet *f, const struct fleet_part *p,
				   bool *recorded)
{
	char *folder = fleetfolder_ledger_folder(f, p), *path = NULL;

	if (!folder || asprintf(&path, "%s/%016" PRIx64, folder, p->id) < 0) {
		free(folder);
		return -ENOMEM;
	}
	*recorded = access(path, F_OK) == 0;
	free(path);
	free(folder);
	return 0;
}

/* Completes one file of the staging folder, or removes it. */
static int fleetfolder_recover_one(const struct fleet *f, const char *folder, const char *name)
{
	struct fleet_part p;
	bool recorded = false;
	char *path;
	int err = 0;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	if (part__parse(&p, name))
		err = fleetfolder_is_recorded(f, &p, &recorded);
	if (!err && recorded)
		err = fleetfolder_publish(f, &p, path);
	else if (!err && unlink(path) != 0)
		err = fleetfolder_cannot("remove", path, -errno);
	free(path);
	return err;
}

static int fleetfolder_recover(const struct fleet *f, const char *staging)
{
	struct dirent **names;
	int cnt = scandir(staging, &names, NULL, alphasort), err = 0;

	if (cnt < 0)
		return fleetfolder_cannot("read", staging, -errno);
	for (int i = 0; i < cnt; i++) {
		if (names[i]->d_name[0] != '.' && !err)
			err = fleetfolder_recover_one(f, staging, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return err;
}

static int fleetfolder_remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path) == 0 ? 0 : -1;
}

static int fleetfolder_lock_folder(struct fleet *f, const char *state)
{
	f->lock = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->lock < 0)
		return fleetfolder_cannot("open", state, -errno);
	if (flock(f->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return fleetfolder_cannot("lock", state, -errno);
	log__error("another merge writes to %s; wait until it ends", f->dir);
	return -EBUSY;
}

int fleet__open(struct fleet *f, const char *dir)
{
	char *state = NULL, *staging = NULL, *spill = NULL;
	int err = -ENOMEM;

	*f = (struct fleet){ .dir = dir, .lock = -1 };
	if (asprintf(&state, "%s/" FLEET_STATE, dir) < 0)
		state = NULL;
	if (state && asprintf(&staging, "%s/" STAGING, dir) < 0)
		staging = NULL;
	if (staging && asprintf(&spill, "%s/spill", state) < 0)
		spill = NULL;
	if (spill)
		err = outfile__make_dirs(staging);
	if (spill && !err)
		err = fleetfolder_lock_folder(f, state);
	if (spill && !err) {
		nftw(spill, fleetfolder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
		err = fleetfolder_recover(f, staging);
	}
	free(spill);
	free(staging);
	free(state);
	return err;
}

void fleet__close(struct fleet *f)
{
	if (f->lock >= 0)
		close(f->lock);
	f->lock = -1;
}
