// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "store/idset.h"
#include "store/parquet.h"
#include "store/writer.h"

/* Parts that may wait for the writer before recording__tick() blocks. */
#define PARTS_MAX      3
#define STRINGS_SZ_MAX (64u << 20) /* of a batch: users choose the names of files */
/* A row group of stacks ends after this many stacks or frames. */
#define STACKS_PER_GROUP    65536
#define FRAMES_PER_GROUP    262144
#define PROCESSES_PER_GROUP 4096
#define EARLIER_MAX	    (1u << 18) /* 4 MiB */
/* Rows that are copied as they come before they are turned into columns. */
#define BLOCK	 64
#define ROWS_MAX (1u << 28)

struct recording {
	struct folder folder;
	struct writer *writer;
	struct flight *flight; /* NULL: all batches are written */
	size_t rows_per_group, groups_per_file;
	uint64_t batch_ns;
	bool finished, removed;
	bool triggered; /* the batch ends at the next tick */
	/* the batch in the making: */
	struct batch *events, *processes, *stacks[STACKS_CNT]; /* row groups in hand */
	struct strtab *strings;
	size_t strings_taken; /* strings in the parts pushed so far */
	struct idset ids;
	struct idset earlier; /* stacks of all batches, see recording_remember() */
	size_t groups;	      /* of events, pushed */
	uint64_t since_ns;    /* when it was begun; 0: before the first tick */
	uint32_t generation;
	struct row rows[BLOCK]; /* the last rows, not yet in `events` */
	size_t row_cnt;
	uint64_t added;
	struct buf scratch; /* a string as valid UTF-8 */
};

/* ---- the current batch ----------------------------------------------------------------------- */

static struct batch *recording_new_events(const struct recording *r)
{
	return batch__new(&events_table, r->rows_per_group, 0);
}

static struct batch *recording_new_processes(void)
{
	return batch__new(&processes_table, PROCESSES_PER_GROUP, 0);
}

static struct batch *recording_new_stacks(void)
{
	return batch__new(&stacktraces_table, STACKS_PER_GROUP, FRAMES_PER_GROUP);
}

#define PUSH_EVENTS	(1u << STACKS_CNT)
#define PUSH_PROCESSES	(2u << STACKS_CNT)
#define PUSH_STACKS(of) (1u << (of))
#define PUSH_ALL \
	(PUSH_EVENTS | PUSH_PROCESSES | PUSH_STACKS(STACKS_FIRST) | PUSH_STACKS(STACKS_REPEATED))

/* A part with empty row groups and the new strings. Returns NULL after reporting. */
static struct part *recording_part_new(const struct recording *r, unsigned what)
{
	struct part *p = calloc(1, sizeof(*p));
	bool ok = p != NULL;

	if (ok && what & PUSH_EVENTS)
		ok = (p->events = recording_new_events(r)) != NULL;
	if (ok && what & PUSH_PROCESSES)
		ok = (p->processes = recording_new_processes()) != NULL;
	for (int i = 0; i < STACKS_CNT && ok; i++)
		if (what & PUSH_STACKS(i))
			ok = (p->stacks[i] = recording_new_stacks()) != NULL;
	if (ok && strings__take(&p->strings, r->strings, r->strings_taken) == 0)
		return p;
	part__free(p);
	log__error("%s: out of memory", r->folder.path);
	return NULL;
}

static void recording_part_swap(struct batch **a, struct batch **b)
{
	struct batch *t = *a;

	*a = *b;
	*b = t;
}

static size_t recording_part_sz(const struct part *p)
{
	size_t sz = p->events ? batch__sz(p->events) : 0;

	sz += p->processes ? batch__sz(p->processes) : 0;
	for (int i = 0; i < STACKS_CNT; i++)
		sz += p->stacks[i] ? batch__sz(p->stacks[i]) : 0;
	return sz;
}

/* Hands row groups over and puts new ones in their place. 0 or -ENOMEM, then nothing changed. */
static int recording_push(struct recording *r, unsigned what, struct strtab *fresh)
{
	struct part *p = recording_part_new(r, what);

	if (!p)
		return -ENOMEM;
	if (what & PUSH_EVENTS)
		recording_part_swap(&p->events, &r->events);
	if (what & PUSH_PROCESSES)
		recording_part_swap(&p->processes, &r->processes);
	for (int i = 0; i < STACKS_CNT; i++)
		if (what & PUSH_STACKS(i))
			recording_part_swap(&p->stacks[i], &r->stacks[i]);
	p->sz = recording_part_sz(p);
	r->strings_taken = strtab__cnt(r->strings);
	if (fresh) {
		p->last = r->strings;
		p->trigger = r->triggered && r->flight;
		r->strings = fresh;
		r->strings_taken = 0;
	}
	writer__push(r->writer, p);
	return 0;
}

uint32_t recording__bytes(struct recording *r, const void *b, size_t sz)
{
	return strtab__id(r->strings, b, sz < STRING_MAX ? sz : STRING_MAX);
}

uint32_t recording__string(struct recording *r, const char *s, size_t sz)
{
	if (sz > STRING_MAX)
		sz = STRING_MAX;
	if (utf8__valid(s, sz) == sz)
		return strtab__id(r->strings, s, sz);
	buf__reset(&r->scratch);
	utf8__sanitize(&r->scratch, s, sz);
	if (buf__err(&r->scratch))
		return 0;
	/* U+FFFD is longer than the bytes that it replaces. */
	sz = r->scratch.sz;
	if (sz > STRING_MAX)
		sz = utf8__valid((const char *)r->scratch.data, STRING_MAX);
	return strtab__id(r->strings, r->scratch.data, sz);
}

uint32_t recording__generation(const struct recording *r)
{
	return r->generation;
}

bool recording__has_stack(const struct recording *r, uint64_t stack_id)
{
	return idset__has(&r->ids, stack_id);
}

int recording__reserve_stack(struct recording *r, uint64_t stack_id)
{
	return idset__add(&r->ids, stack_id);
}

/* Remembers that a batch has the stack. After EARLIER_MAX stacks all are forgotten: a stack that is
 * not known to be in an earlier batch counts as its first one. */
static int recording_remember(struct recording *r, uint64_t stack_id)
{
	if (r->flight)
		return 0; /* earlier batches may never be written */
	if (r->earlier.cnt >= EARLIER_MAX)
		idset__clear(&r->earlier);
	return idset__add(&r->earlier, stack_id);
}

int recording__add_stack(struct recording *r, uint64_t stack_id, const struct row_frame *frames,
			 size_t cnt)
{
	int of = idset__has(&r->earlier, stack_id) ? STACKS_REPEATED : STACKS_FIRST;
	struct stack_row row = { stack_id, of == STACKS_REPEATED };
	int err = 0;

	if (cnt > RECORDING_FRAMES_MAX)
		return -E2BIG;
	if (!batch__room(r->stacks[of]) || batch__room(r->stacks[of]->list) < cnt)
		err = recording_push(r, PUSH_STACKS(of), NULL);
	if (!err)
		err = batch__append_list(r->stacks[of], &row, frames, cnt);
	if (!err)
		err = idset__add(&r->ids, stack_id);
	return err ? err : recording_remember(r, stack_id);
}

static ssize_t recording_stacks_find(const struct batch *stacks, uint64_t stack_id,
				     struct buf *frames)
{
	size_t first = 0;

	for (size_t i = 0; i < stacks->cnt; first += stacks->list_cnts[i++]) {
		struct stack_row row;

		batch__get(stacks, i, &row);
		if (row.stack_id != stack_id)
			continue;
		for (size_t f = 0; f < stacks->list_cnts[i]; f++) {
			struct row_frame *out = (void *)buf__extend(frames, sizeof(*out));

			if (!out)
				return -ENOMEM;
			batch__get(stacks->list, first + f, out);
		}
		return (ssize_t)stacks->list_cnts[i];
	}
	return -ENOENT;
}

ssize_t recording__stack(const struct recording *r, uint64_t stack_id, struct buf *frames)
{
	ssize_t cnt = -ENOENT;

	for (int i = 0; i < STACKS_CNT && cnt == -ENOENT; i++)
		cnt = recording_stacks_find(r->stacks[i], stack_id, frames);
	return cnt;
}

const char *recording__str(const struct recording *r, uint32_t id, size_t *sz)
{
	return strtab__str(r->strings, id, sz);
}

/* Converts the current rows to columns; passes a full row group of events to the writer. */
static int recording_settle(struct recording *r)
{
	int err = batch__append(r->events, r->rows, r->row_cnt);

	if (err)
		return err;
	r->row_cnt = 0;
	if (batch__room(r->events))
		return 0;
	err = recording_push(r, PUSH_EVENTS, NULL);
	r->groups += !err;
	return err;
}

int recording__add(struct recording *r, const struct row *row)
{
	bool full = r->row_cnt == BLOCK || r->row_cnt == batch__room(r->events);
	int err = full ? recording_settle(r) : 0;

	if (err)
		return err;
	r->rows[r->row_cnt++] = *row;
	r->added++;
	return 0;
}

int recording__add_process(struct recording *r, const struct process_row *row)
{
	int err = batch__room(r->processes) ? 0 : recording_push(r, PUSH_PROCESSES, NULL);

	return err ? err : batch__append(r->processes, row, 1);
}

static int recording_close_batch(struct recording *r)
{
	int err = recording_settle(r);
	bool is_dropped =
		!r->groups && !r->events->cnt; /* the writer drops stacks without events */
	struct strtab *fresh = err ? NULL : strtab__new();

	if (!fresh || recording_push(r, PUSH_ALL, fresh) != 0) {
		strtab__free(fresh);
		return -ENOMEM;
	}
	idset__clear(&r->ids);
	if (is_dropped)
		idset__clear(&r->earlier);
	r->groups = 0;
	r->triggered = false;
	r->generation++;
	return 0;
}

static bool recording_is_old(const struct recording *r, uint64_t now_ns)
{
	return r->since_ns && now_ns - r->since_ns >= r->batch_ns;
}

static bool recording_is_full(const struct recording *r)
{
	return r->triggered || r->groups >= r->groups_per_file ||
	       strtab__sz(r->strings) >= STRINGS_SZ_MAX;
}

bool recording__is_empty(const struct recording *r)
{
	return !r->groups && !r->events->cnt && !r->row_cnt;
}

bool recording__due(const struct recording *r, uint64_t now_ns)
{
	bool fills = r->row_cnt == batch__room(r->events) && r->groups + 1 >= r->groups_per_file;

	return recording_is_old(r, now_ns) || recording_is_full(r) || fills;
}

int recording__tick(struct recording *r, uint64_t now_ns)
{
	bool old = recording_is_old(r, now_ns);
	bool empty = recording__is_empty(r);
	int err = r->row_cnt == batch__room(r->events) ? recording_settle(r) : 0;

	if (!r->triggered && (!r->since_ns || (old && empty))) {
		r->since_ns = now_ns;
	} else if (!err && (old || recording_is_full(r))) {
		err = recording_close_batch(r);
		r->since_ns = now_ns;
	}
	return err ? err : writer__wait(r->writer, PARTS_MAX);
}

void recording__trigger(struct recording *r)
{
	r->triggered = true;
}

void recording__set_keep(struct recording *r, const struct retention *keep)
{
	writer__set_keep(r->writer, keep);
}

void recording__drop_batch(struct recording *r)
{
	r->finished = true;
}

int recording__finish(struct recording *r)
{
	int err = r->finished ? 0 : recording_close_batch(r), write_err;

	r->finished = true;
	write_err = writer__stop(r->writer);
	r->removed = r->removed || folder__remove_empty(&r->folder);
	return err ? err : write_err;
}

bool recording__removed(const struct recording *r)
{
	return r->removed;
}

/* ---- creation -------------------------------------------------------------------------------- */

static int recording_begin(struct recording *r, const struct recording_options *o,
			   const struct parquet_options *parquet)
{
	int err = idset__init(&r->ids);

	if (!err)
		err = idset__init(&r->earlier);
	r->events = recording_new_events(r);
	r->processes = recording_new_processes();
	for (int i = 0; i < STACKS_CNT; i++)
		r->stacks[i] = recording_new_stacks();
	r->strings = strtab__new();
	if (err || !r->events || !r->processes || !r->stacks[STACKS_FIRST] ||
	    !r->stacks[STACKS_REPEATED] || !r->strings)
		return -ENOMEM;
	if (o->flight.keep_ns && !(r->flight = flight__new(&o->flight)))
		return -ENOMEM;
	r->writer = writer__new(&r->folder, r->flight, parquet);
	if (!r->writer)
		return -errno;
	writer__set_keep(r->writer, &o->keep);
	return 0;
}

static int recording_check(const struct recording_options *o, struct parquet_options *parquet)
{
	if (parquet__parse_compression(o->compression, &parquet->zstd_level) != 0) {
		log__error("compression '%s' is not zstd(1) ... zstd(22) or none", o->compression);
		return -EINVAL;
	}
	if (!o->rows_per_group || o->rows_per_group > ROWS_MAX || !o->groups_per_file) {
		log__error("rows per row group: 1 ... %u, row groups per file: at least 1",
			   ROWS_MAX);
		return -EINVAL;
	}
	return 0;
}

struct recording *recording__new(const struct recording_options *o)
{
	struct folder_options where = { .dir = o->dir,
					.root = o->root,
					.append = o->append,
					.force = o->force,
					.owner = { o->owner_uid, o->owner_gid } };
	struct parquet_options parquet = { .sources = o->sources ? o->sources : "" };
	struct recording *r;
	int err = recording_check(o, &parquet);

	if (err)
		return errno = -err, NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->rows_per_group = o->rows_per_group;
	r->groups_per_file = o->groups_per_file;
	r->batch_ns = o->batch_ns;
	r->generation = 1;
	err = folder__open(&r->folder, &where);
	if (!err) {
		err = recording_begin(r, o, &parquet);
		if (err)
			log__error("cannot begin a recording: %s", strerror(-err));
	}
	if (err) {
		recording__free(r);
		return errno = -err, NULL;
	}
	return r;
}

void recording__free(struct recording *r)
{
	if (!r)
		return;
	writer__free(r->writer);
	flight__free(r->flight);
	folder__close(&r->folder);
	batch__free(r->events);
	batch__free(r->processes);
	for (int i = 0; i < STACKS_CNT; i++)
		batch__free(r->stacks[i]);
	strtab__free(r->strings);
	idset__free(&r->ids);
	idset__free(&r->earlier);
	buf__free(&r->scratch);
	free(r);
}

const char *recording__dir(const struct recording *r)
{
	return r->folder.path;
}

void recording__stats(const struct recording *r, struct recording_stats *s)
{
	struct writer_stats w;

	writer__stats(r->writer, &w);
	*s = (struct recording_stats){ .rows = w.rows,
				       .bytes = w.bytes,
				       .batches = w.batches,
				       .removed_batches = w.removed,
				       .added = r->added };
	s->batch_sz = w.waiting_sz + batch__sz(r->events) + batch__sz(r->processes) +
		      strtab__sz(r->strings) + idset__sz(&r->ids) + idset__sz(&r->earlier);
	for (int i = 0; i < STACKS_CNT; i++)
		s->batch_sz += batch__sz(r->stacks[i]);
	flight__stats(r->flight, &s->flight);
}
