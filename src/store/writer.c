// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/priority.h"
#include "base/thread.h"
#include "store/parquet.h"

/* A file of the current batch. */
struct writer_output {
	int fd; /* -1: not started */
	struct parquet *parquet;
	uint64_t counted; /* its bytes that the statistics include; 0 after publishing */
};

struct writer {
	struct folder *folder;
	struct flight *flight; /* NULL: all batches are written */
	struct parquet_options options;
	/* used by the thread only: */
	struct writer_output outputs[FOLDER_FILE_CNT];
	struct strings strings; /* of the current batch */
	uint64_t events;	/* in the current batch */
	bool in_memory;		/* the current batch is for `flight` */
	bool skipping;		/* the rest of a batch that found the disk full */
	struct retention keep;	/* what is kept in the folder */
	/* shared, under the lock: */
	pthread_mutex_t lock;
	struct bell changed;
	struct part *first, **last;
	bool stop;
	struct retention new_keep;
	bool keep_changed;
	/* shared: */
	_Atomic size_t waiting; /* parts that are not yet written */
	_Atomic size_t waiting_sz;
	_Atomic int err;
	_Atomic uint64_t rows, bytes, batches, removed;
	_Atomic pid_t tid;
	pthread_t thread;
	bool running;
};

static const struct table *const tables[FOLDER_FILE_CNT] = {
	[FOLDER_STACKTRACES] = &stacktraces_table,
	[FOLDER_PROCESSES] = &processes_table,
	[FOLDER_EVENTS] = &events_table,
};

void part__free(struct part *p)
{
	if (!p)
		return;
	batch__free(p->events);
	batch__free(p->processes);
	for (int i = 0; i < STACKS_CNT; i++)
		batch__free(p->stacks[i]);
	strings__free(&p->strings);
	strtab__free(p->last);
	free(p);
}

/* ---- files of a batch ----------------------------------------------------------------------- */

static int writer_failed(const struct writer *w, enum folder_file file, int err)
{
	char name[FOLDER_NAME_MAX];

	folder__name(name, file, w->folder->next);
	log__error("cannot write %s/%s: %s", w->folder->path, name, strerror(-err));
	return err;
}

static int writer_begin(struct writer *w, enum folder_file file)
{
	struct writer_output *o = &w->outputs[file];

	if (o->parquet)
		return 0;
	o->fd = w->in_memory ? flight__create(file)
			     : folder__create(w->folder, file, w->folder->next);
	if (o->fd < 0)
		return writer_failed(w, file, o->fd);
	o->parquet = parquet__new(tables[file], o->fd, &w->options);
	return o->parquet ? 0 : writer_failed(w, file, -ENOMEM);
}

static void writer_count_bytes(struct writer *w, struct writer_output *o)
{
	uint64_t sz = w->in_memory ? 0 : parquet__sz(o->parquet);

	atomic_fetch_add(&w->bytes, sz - o->counted);
	o->counted = sz;
}

static int writer_write_group(struct writer *w, enum folder_file file, const struct batch *b)
{
	struct writer_output *o = &w->outputs[file];
	int err;

	if (!b || !b->cnt)
		return 0;
	err = writer_begin(w, file);
	if (err)
		return err;
	err = parquet__write(o->parquet, b, &w->strings);
	writer_count_bytes(w, o);
	return err ? writer_failed(w, file, err) : 0;
}

static int writer_finish(struct writer *w, enum folder_file file)
{
	struct writer_output *o = &w->outputs[file];
	int err = writer_begin(w, file);

	if (err)
		return err;
	err = parquet__finish(o->parquet);
	writer_count_bytes(w, o);
	if (!err && !w->in_memory && fsync(o->fd) != 0)
		err = -errno;
	return err ? writer_failed(w, file, err) : 0;
}

/* Gives the files of the current batch to the flight recorder. */
static int writer_keep_in_memory(struct writer *w)
{
	struct flight_batch b = { .rows = w->events, .end_ns = monotonic__ns() };
	int err;

	for (int file = 0; file < FOLDER_FILE_CNT; file++) {
		struct writer_output *o = &w->outputs[file];

		b.fds[file] = o->fd;
		b.sz += parquet__sz(o->parquet);
		o->fd = -1;
	}
	err = flight__keep(w->flight, &b);
	return err ? writer_failed(w, FOLDER_EVENTS, err) : 0;
}

static void writer_count_batch(struct writer *w, uint64_t rows)
{
	atomic_fetch_add(&w->rows, rows);
	atomic_fetch_add(&w->batches, 1);
	atomic_fetch_add(&w->removed, retention__apply(&w->keep, w->folder));
}

/* All files are complete on the disk before one gets its final name. */
static int writer_publish(struct writer *w)
{
	int err = 0;

	for (int file = 0; file < FOLDER_FILE_CNT && !err; file++) {
		err = folder__publish(w->folder, (enum folder_file)file, w->folder->next);
		if (err)
			writer_failed(w, (enum folder_file)file, err);
	}
	if (err)
		return err;
	fsync(w->folder->fd); /* some file systems do not support this; the names exist anyway */
	for (int file = 0; file < FOLDER_FILE_CNT; file++)
		w->outputs[file].counted = 0;
	writer_count_batch(w, w->events);
	return 0;
}

static int writer_close_batch(struct writer *w)
{
	int err = 0;

	/* A batch needs events: stacks alone are dropped. */
	if (!w->outputs[FOLDER_EVENTS].parquet)
		return 0;
	for (int file = 0; file < FOLDER_FILE_CNT && !err; file++)
		err = writer_finish(w, (enum folder_file)file);
	if (err)
		return err;
	return w->in_memory ? writer_keep_in_memory(w) : writer_publish(w);
}

/* Ends the current batch. Discards files without a final name, and removes them from the
 * statistics. */
static void writer_drop_batch(struct writer *w)
{
	for (int file = 0; file < FOLDER_FILE_CNT; file++) {
		struct writer_output *o = &w->outputs[file];

		parquet__free(o->parquet);
		atomic_fetch_sub(&w->bytes, o->counted);
		if (o->fd >= 0) {
			close(o->fd);
			if (!w->in_memory)
				folder__discard(w->folder, (enum folder_file)file, w->folder->next);
		}
		*o = (struct writer_output){ .fd = -1 };
	}
	strings__free(&w->strings);
	w->events = 0;
	w->in_memory = flight__is_armed(w->flight, monotonic__ns());
}

static int writer_write_part(struct writer *w, const struct part *p)
{
	uint64_t batches = w->batches;
	int err = strings__append(&w->strings, &p->strings);

	if (err)
		writer_failed(w, FOLDER_EVENTS, err);
	for (int i = 0; i < STACKS_CNT && !err; i++)
		err = writer_write_group(w, FOLDER_STACKTRACES, p->stacks[i]);
	if (!err)
		err = writer_write_group(w, FOLDER_PROCESSES, p->processes);
	if (!err)
		err = writer_write_group(w, FOLDER_EVENTS, p->events);
	w->events += p->events ? p->events->cnt : 0;
	if (!err && p->last)
		err = writer_close_batch(w);
	if (!err && p->last) {
		writer_drop_batch(w);
		w->folder->next += w->batches > batches;
	}
	return err;
}

/* Makes room on a full disk and gives up the current batch. Returns false if that does not help. */
static bool writer_make_room(struct writer *w, const struct part *p)
{
	uint64_t removed = retention__apply(&w->keep, w->folder);

	if (!removed)
		return false;
	atomic_fetch_add(&w->removed, removed);
	w->skipping = !p->last;
	log__warn("%s: the disk was full; the current batch is lost and the %lu oldest batches are "
		  "removed",
		  w->folder->path, removed);
	return true;
}

/* Returns 0 or -errno (already logged). */
static int writer_write_oldest(struct writer *w, const struct flight_batch *b)
{
	uint64_t sz = b->sz, rows = b->rows, removed;
	int err = flight__write_oldest(w->flight, w->folder);

	while (err == -ENOSPC && (removed = retention__apply(&w->keep, w->folder)) > 0) {
		atomic_fetch_add(&w->removed, removed);
		err = flight__write_oldest(w->flight, w->folder);
	}
	if (err)
		return writer_failed(w, FOLDER_EVENTS, err);
	atomic_fetch_add(&w->bytes, sz);
	writer_count_batch(w, rows);
	return 0;
}

/* Writes what the flight recorder has kept. Later batches go to the disk for some time. */
static int writer_write_flight(struct writer *w)
{
	uint64_t now_ns = monotonic__ns();
	const struct flight_batch *b;
	int err = 0;

	flight__trigger(w->flight, now_ns);
	w->in_memory = false;
	while (!err && (b = flight__oldest(w->flight, now_ns)) != NULL)
		err = writer_write_oldest(w, b);
	fsync(w->folder->fd);
	return err;
}

/* ---- thread --------------------------------------------------------------------------------- */

static struct part *writer_pop(struct writer *w)
{
	struct part *p;

	pthread_mutex_lock(&w->lock);
	while (!w->first && !w->stop)
		bell__wait(&w->changed, &w->lock, UINT64_MAX);
	if (w->keep_changed)
		w->keep = w->new_keep;
	w->keep_changed = false;
	p = w->first;
	if (p) {
		w->first = p->next;
		if (!w->first)
			w->last = &w->first;
	}
	pthread_mutex_unlock(&w->lock);
	return p;
}

static void writer_done(struct writer *w, size_t sz, int err)
{
	pthread_mutex_lock(&w->lock);
	if (err)
		w->err = err;
	w->waiting--;
	w->waiting_sz -= sz;
	bell__ring(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void *writer_run(void *arg)
{
	struct writer *w = arg;
	struct part *p;
	size_t sz;

	priority__ordinary();
	w->tid = thread__tid();
	folder__limit_writer(w->folder);
	while ((p = writer_pop(w)) != NULL) {
		int err = w->err || w->skipping ? 0 : writer_write_part(w, p);

		w->skipping &= !p->last;
		if (!err && !w->err && p->trigger)
			err = writer_write_flight(w);
		if (err)
			writer_drop_batch(w);
		if (err == -ENOSPC && writer_make_room(w, p))
			err = 0;
		sz = p->sz;
		part__free(p);
		writer_done(w, sz, err);
	}
	writer_drop_batch(w);
	/* in a folder of the caller, only this thread has the right */
	folder__remove_empty(w->folder);
	return NULL;
}

static int writer_start(struct writer *w)
{
	int err = thread__start(&w->thread, writer_run, w);

	w->running = !err;
	return -err;
}

struct writer *writer__new(struct folder *folder, struct flight *flight,
			   const struct parquet_options *o)
{
	struct writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return NULL;
	w->folder = folder;
	w->flight = flight;
	w->in_memory = flight__is_armed(flight, monotonic__ns());
	w->options = *o;
	w->last = &w->first;
	for (int file = 0; file < FOLDER_FILE_CNT; file++)
		w->outputs[file].fd = -1;
	priority__init_lock(&w->lock);
	err = writer_start(w);
	if (err) {
		writer__free(w);
		return errno = -err, NULL;
	}
	return w;
}

void writer__push(struct writer *w, struct part *p)
{
	p->next = NULL;
	pthread_mutex_lock(&w->lock);
	*w->last = p;
	w->last = &p->next;
	w->waiting++;
	w->waiting_sz += p->sz;
	bell__ring(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

void writer__set_keep(struct writer *w, const struct retention *keep)
{
	pthread_mutex_lock(&w->lock);
	w->new_keep = *keep;
	w->keep_changed = true;
	pthread_mutex_unlock(&w->lock);
}

int writer__wait(struct writer *w, size_t max)
{
	if (w->err || w->waiting < max)
		return w->err;
	priority__lend(w->tid);
	pthread_mutex_lock(&w->lock);
	while (w->waiting >= max && !w->err)
		bell__wait(&w->changed, &w->lock, UINT64_MAX);
	pthread_mutex_unlock(&w->lock);
	return w->err;
}

int writer__stop(struct writer *w)
{
	if (!w || !w->running)
		return w ? w->err : 0;
	priority__lend(w->tid);
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	bell__ring(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	w->running = false;
	return w->err;
}

void writer__free(struct writer *w)
{
	if (!w)
		return;
	writer__stop(w);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

void writer__stats(const struct writer *w, struct writer_stats *s)
{
	*s = (struct writer_stats){ .rows = w->rows,
				    .bytes = w->bytes,
				    .batches = w->batches,
				    .waiting_sz = w->waiting_sz,
				    .removed = w->removed };
}
