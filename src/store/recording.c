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
#define STACKS_PER_GROUP 65536
#define FRAMES_PER_GROUP 262144
/* Rows that are copied before they are converted to columns. */
#define BLOCK	 64
#define ROWS_MAX (1u << 28)

struct recording {
	struct folder folder;
	struct writer *writer;
	size_t rows_per_group, groups_per_file;
	uint64_t batch_ns;
	bool finished, removed;
	/* the current batch: */
	struct batch *events, *stacks; /* current row groups */
	struct strtab *strings;
	size_t strings_taken; /* strings in the parts pushed so far */
	struct idset ids;
	size_t groups;	   /* pushed row groups of events */
	uint64_t since_ns; /* start time; 0: before the first tick */
	uint32_t generation;
	struct row rows[BLOCK]; /* the last rows, not yet in `events` */
	size_t row_cnt;
	uint64_t added;
	struct buf scratch; /* a string as valid UTF-8 */
};

/* ---- the current batch ----------------------------------------------------------------------- */

static struct batch *new_events(const struct recording *r)
{
	return batch__new(&events_table, r->rows_per_group, 0);
}

static struct batch *new_stacks(void)
{
	return batch__new(&stacktraces_table, STACKS_PER_GROUP, FRAMES_PER_GROUP);
}

/* Passes row groups to the writer and replaces them by new ones. Returns 0, or -ENOMEM with nothing
 * changed. */
static int push(struct recording *r, bool events, bool stacks, struct strtab *fresh)
{
	struct part *p = calloc(1, sizeof(*p));
	struct batch *new_e = events ? new_events(r) : NULL, *new_s = stacks ? new_stacks() : NULL;

	if (!p || (events && !new_e) || (stacks && !new_s) ||
	    strings__take(&p->strings, r->strings, r->strings_taken) != 0) {
		batch__free(new_e);
		batch__free(new_s);
		free(p);
		log__error("%s: out of memory", r->folder.path);
		return -ENOMEM;
	}
	if (events) {
		p->events = r->events;
		r->events = new_e;
	}
	if (stacks) {
		p->stacks = r->stacks;
		r->stacks = new_s;
	}
	r->strings_taken = strtab__cnt(r->strings);
	if (fresh) {
		p->last = r->strings;
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

int recording__add_stack(struct recording *r, uint64_t stack_id, const struct row_frame *frames,
			 size_t cnt)
{
	struct stack_row row = { stack_id };
	int err = 0;

	if (cnt > RECORDING_FRAMES_MAX)
		return -E2BIG;
	if (!batch__room(r->stacks) || batch__room(r->stacks->list) < cnt)
		err = push(r, false, true, NULL);
	if (!err)
		err = batch__append_list(r->stacks, &row, frames, cnt);
	return err ? err : idset__add(&r->ids, stack_id);
}

ssize_t recording__stack(const struct recording *r, uint64_t stack_id, struct buf *frames)
{
	size_t first = 0;

	for (size_t i = 0; i < r->stacks->cnt; first += r->stacks->list_cnts[i++]) {
		struct stack_row row;

		batch__get(r->stacks, i, &row);
		if (row.stack_id != stack_id)
			continue;
		for (size_t f = 0; f < r->stacks->list_cnts[i]; f++) {
			struct row_frame *out = (void *)buf__extend(frames, sizeof(*out));

			if (!out)
				return -ENOMEM;
			batch__get(r->stacks->list, first + f, out);
		}
		return (ssize_t)r->stacks->list_cnts[i];
	}
	return -ENOENT;
}

const char *recording__str(const struct recording *r, uint32_t id, size_t *sz)
{
	return strtab__str(r->strings, id, sz);
}

/* Converts the current rows to columns; passes a full row group of events to the writer. */
static int settle(struct recording *r)
{
	int err = batch__append(r->events, r->rows, r->row_cnt);

	if (err)
		return err;
	r->row_cnt = 0;
	if (batch__room(r->events))
		return 0;
	err = push(r, true, false, NULL);
	r->groups += !err;
	return err;
}

int recording__add(struct recording *r, const struct row *row)
{
	bool full = r->row_cnt == BLOCK || r->row_cnt == batch__room(r->events);
	int err = full ? settle(r) : 0;

	if (err)
		return err;
	r->rows[r->row_cnt++] = *row;
	r->added++;
	return 0;
}

static int close_batch(struct recording *r)
{
	int err = settle(r);
	struct strtab *fresh = err ? NULL : strtab__new();

	if (!fresh || push(r, true, true, fresh) != 0) {
		strtab__free(fresh);
		return -ENOMEM;
	}
	idset__clear(&r->ids);
	r->groups = 0;
	r->generation++;
	return 0;
}

static bool is_old(const struct recording *r, uint64_t now_ns)
{
	return r->since_ns && now_ns - r->since_ns >= r->batch_ns;
}

static bool is_full(const struct recording *r)
{
	return r->groups >= r->groups_per_file || strtab__sz(r->strings) >= STRINGS_SZ_MAX;
}

bool recording__due(const struct recording *r, uint64_t now_ns)
{
	bool fills = r->row_cnt == batch__room(r->events) && r->groups + 1 >= r->groups_per_file;

	return is_old(r, now_ns) || is_full(r) || fills;
}

int recording__tick(struct recording *r, uint64_t now_ns)
{
	bool old = is_old(r, now_ns);
	bool empty = !r->groups && !r->events->cnt && !r->row_cnt;
	int err = r->row_cnt == batch__room(r->events) ? settle(r) : 0;

	if (!r->since_ns || (old && empty)) {
		r->since_ns = now_ns;
	} else if (!err && (old || is_full(r))) {
		err = close_batch(r);
		r->since_ns = now_ns;
	}
	return err ? err : writer__wait(r->writer, PARTS_MAX);
}

int recording__finish(struct recording *r)
{
	int err = r->finished ? 0 : close_batch(r), write_err;

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

static int begin(struct recording *r, const struct parquet_options *o)
{
	int err = idset__init(&r->ids);

	r->events = new_events(r);
	r->stacks = new_stacks();
	r->strings = strtab__new();
	if (err || !r->events || !r->stacks || !r->strings)
		return -ENOMEM;
	r->writer = writer__new(&r->folder, o);
	return r->writer ? 0 : -errno;
}

static int check(const struct recording_options *o, struct parquet_options *parquet)
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
	int err = check(o, &parquet);

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
		err = begin(r, &parquet);
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
	folder__close(&r->folder);
	batch__free(r->events);
	batch__free(r->stacks);
	strtab__free(r->strings);
	idset__free(&r->ids);
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
	*s = (struct recording_stats){
		.rows = w.rows, .bytes = w.bytes, .batches = w.batches, .added = r->added
	};
}
