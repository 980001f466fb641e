// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/tablestore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "cfi/tablebuild.h"
#include "cfi/tabletask.h"

#define RETRY_NS 30000000000 /* after workers failed */

/* A job that builds a table. The job's thread uses the fields above the line while it runs; the
 * requesting thread uses all others. */
struct making {
	struct job job;
	struct table_cache *cache;     /* a reference; NULL: none */
	struct workers *workers;       /* a reference; NULL: the job's thread reads the file */
	struct elf_file file_like;     /* a copy: its identity, path and descriptor */
	bool failed;		       /* a worker failed: try again later */
	bool whole;		       /* build the table if the cache has none */
	const struct cfi_table *table; /* when done; NULL: there is none */
	bool mapped;
	/* ---- */
	struct table_store *tables;
	struct elf_file *file; /* its slot waits for the table */
};

/* Memory of tables and lazy tables. A file may outlive the store: the last reference frees it. */
struct tablestore_held {
	size_t sz, indexed;
	unsigned refs; /* one of the store, one of each slot */
};

struct tablestore_slot {
	struct table_slot seen;
	bool mapped;		  /* the table is from the cache */
	bool asked;		  /* the table has been requested */
	uint64_t retry_ns;	  /* a worker failed: request it again after this time; 0: no */
	struct lazy_table *index; /* until there is a table; NULL: none */
	size_t answers;		  /* of the lazy table */
	struct tablestore_held *held;
	struct elf_attachment *at; /* where it is attached */
};

struct table_store {
	struct table_cache *cache;
	struct jobs *jobs;
	struct page_cache *pages; /* of files that have a lazy table */
	uint64_t last_id;
	struct tablestore_held *held;
	struct table_store_stats stats;
};

/* ---- on a job's thread --------------------------------------------------------------------------
 */

/* Returns the cached table if it was made from the present contents of the file, else NULL. */
static const struct cfi_table *tablestore_load(const struct table_cache *c,
					       const struct elf_file *own)
{
	const struct cfi_table *t = table_cache__load(c, &own->build_id);

	if (!t || t->digest == cfi_table__digest(own))
		return t;
	table_cache__unmap(t);
	return NULL;
}

/* The cache is used for files with a trusted build ID. */
static bool tablestore_is_cached(const struct making *m, const struct elf_file *f)
{
	return m->cache && f->trusted && f->build_id.sz;
}

static void tablestore_make(struct making *m, struct elf_file *own)
{
	struct cfi_table *table;

	m->table = tablestore_is_cached(m, own) ? tablestore_load(m->cache, own) : NULL;
	m->mapped = m->table;
	if (m->table || !m->whole)
		return;
	table = cfi_table__of_file(own);
	if (table && tablestore_is_cached(m, own))
		table_cache__store(m->cache, table);
	m->table = table;
}

/* Opens the file again: libelf handles must not be shared by threads. */
static void tablestore_make_here(struct making *m)
{
	struct elf_file *own = elf_file__new(m->file_like.fd, m->file_like.path);

	m->file_like.fd = -1;
	if (own) {
		own->trusted &= m->file_like.trusted;
		tablestore_make(m, own);
	}
	elf_file__put(own);
}

/* Like tablestore_make(), with a worker that reads the file. */
static void tablestore_make_there(struct making *m)
{
	const struct elf_file *f = &m->file_like;
	const struct cfi_table *cached =
		tablestore_is_cached(m, f) ? table_cache__load(m->cache, &f->build_id) : NULL;
	struct table_request request = { f, cached, m->whole };
	struct cfi_table *table = NULL;
	int err = cached || m->whole ? table_task__request(m->workers, &request, &table) : -ENOENT;

	m->failed = workers__failed(err);
	m->job.late = err == -ETIMEDOUT;
	m->mapped = cached && !err && !table;
	m->table = m->mapped ? cached : table;
	if (cached && !m->mapped)
		table_cache__unmap(cached);
	if (table && tablestore_is_cached(m, f))
		table_cache__store(m->cache, table);
}

static void tablestore_work(struct job *job)
{
	struct making *m = (struct making *)job;

	if (m->workers)
		tablestore_make_there(m);
	else
		tablestore_make_here(m);
}

static void tablestore_drop_table(const struct cfi_table *t, bool mapped)
{
	if (t && mapped)
		table_cache__unmap(t);
	else
		free((struct cfi_table *)t);
}

/* ---- slots --------------------------------------------------------------------------------------
 */

static void held__put(struct tablestore_held *h)
{
	if (--h->refs == 0)
		free(h);
}

static void slot__drop_index(struct tablestore_slot *slot)
{
	if (!slot->index)
		return;
	slot->held->indexed--;
	slot->held->sz -= lazy_table__sz(slot->index);
	slot->at->sz -= lazy_table__sz(slot->index);
	lazy_table__free(slot->index);
	slot->index = NULL;
}

static void slot__free(void *data)
{
	struct tablestore_slot *slot = data;

	slot__drop_index(slot);
	if (slot->seen.table)
		slot->held->sz -= slot->seen.table->sz;
	tablestore_drop_table(slot->seen.table, slot->mapped);
	held__put(slot->held);
	free(slot);
}

/* Takes a finished table. A table that exceeds the limit of the file's owner is dropped. */
static void tablestore_adopt(struct table_store *t, struct elf_file *file,
			     const struct cfi_table *table, bool mapped)
{
	struct tablestore_slot *slot = file->slots[ELF_SLOT_TABLE].data;

	if (table && !elf_file__hold(file, table->sz)) {
		tablestore_drop_table(table, mapped);
		table = NULL;
	}
	t->stats.made += table && !mapped;
	t->stats.cached += table && mapped;
	t->stats.failed += !table && !slot->index;
	if (!table)
		return;
	slot__drop_index(slot);
	slot->seen.table = table;
	slot->mapped = mapped;
	slot->held->sz += table->sz;
	slot->at->held += table->sz;
	slot->at->sz += mapped ? 0 : table->sz;
}

/* Makes no lazy table if that would block, or exceed the limit of the file's owner. */
static void tablestore_make_index(struct table_store *t, struct elf_file *file,
				  struct tablestore_slot *slot)
{
	struct lazy_reader reader = { elf_file__read_now, t->pages };
	struct lazy_table *index = lazy_table__of_file(file, reader);

	if (!index)
		return;
	if (!elf_file__hold(file, lazy_table__sz(index))) {
		lazy_table__free(index);
		return;
	}
	slot->index = index;
	slot->held->indexed++;
	slot->held->sz += lazy_table__sz(index);
	slot->at->held += lazy_table__sz(index);
	slot->at->sz += lazy_table__sz(index);
}

static void making__free(struct making *m)
{
	if (m->file_like.fd >= 0)
		close(m->file_like.fd);
	tablestore_drop_table(m->table, m->mapped);
	table_cache__put(m->cache);
	workers__put(m->workers);
	elf_file__put(m->file);
	free(m->file_like.path);
	free(m);
}

static void tablestore_done(struct job *job)
{
	struct making *m = (struct making *)job;
	struct tablestore_slot *slot = m->file->slots[ELF_SLOT_TABLE].data;

	m->tables->stats.pending--;
	if (m->failed && m->whole)
		slot->retry_ns = monotonic__ns() + RETRY_NS;
	/* A busy file may request its table again before the cache has answered. */
	if (!slot->seen.table && (m->table || m->whole)) {
		tablestore_adopt(m->tables, m->file, m->table, m->mapped);
		m->table = NULL;
	}
	making__free(m);
}

static struct making *making__new(struct table_store *t, struct elf_file *file, bool whole)
{
	const struct tablestore_slot *slot = file->slots[ELF_SLOT_TABLE].data;
	struct making *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->job = (struct job){ .rank = file->trusted && !slot->index ? JOB_NEXT : JOB_LAST,
			       .lane = file->dev,
			       .crowd = file->crowd,
			       .work = tablestore_work,
			       .done = tablestore_done };
	m->tables = t;
	m->whole = whole;
	m->cache = table_cache__get(t->cache);
	m->workers = workers__get(jobs__workers(t->jobs));
	m->file_like = (struct elf_file){ .build_id = file->build_id,
					  .trusted = file->trusted,
					  .owner = file->owner,
					  .dev = file->dev,
					  .path = strdup(file->path),
					  .fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 3) };
	m->file = elf_file__get(file);
	if (m->file_like.path && m->file_like.fd >= 0)
		return m;
	making__free(m);
	return NULL;
}

static void tablestore_submit(struct table_store *t, struct elf_file *file, bool whole)
{
	struct making *m = making__new(t, file, whole);

	if (!m) {
		t->stats.failed++;
		return;
	}
	t->stats.pending++;
	jobs__submit(t->jobs, &m->job);
}

static void tablestore_request_table(struct table_store *t, struct elf_file *file)
{
	struct tablestore_slot *slot = file->slots[ELF_SLOT_TABLE].data;

	if (!slot->asked)
		tablestore_submit(t, file, true);
	slot->asked = true;
}

/* Requests the table again, some time after a worker failed. */
static void tablestore_retry(struct table_store *t, struct elf_file *file,
			     struct tablestore_slot *slot)
{
	if (!slot->retry_ns || monotonic__ns() < slot->retry_ns)
		return;
	slot->retry_ns = 0;
	slot->asked = false;
	tablestore_request_table(t, file);
}

static void tablestore_begin(struct table_store *t, struct elf_file *file,
			     struct tablestore_slot *slot)
{
	tablestore_make_index(t, file, slot);
	if (!slot->index)
		tablestore_request_table(t, file);
	else if (t->cache && file->trusted)
		tablestore_submit(t, file, false);
}

const struct table_slot *table_store__attach(struct table_store *t, struct elf_file *file)
{
	struct elf_attachment *a = &file->slots[ELF_SLOT_TABLE];
	struct tablestore_slot *slot = calloc(1, sizeof(*slot));

	if (!slot)
		return NULL;
	slot->seen.id = ++t->last_id;
	slot->held = t->held;
	slot->at = a;
	t->held->refs++;
	*a = (struct elf_attachment){ .data = slot, .free = slot__free };
	if (file->fd < 0) /* the vdso: small, and cannot be opened again */
		tablestore_adopt(t, file, cfi_table__of_file(file), false);
	else
		tablestore_begin(t, file, slot);
	return &slot->seen;
}

bool table_store__rule(struct table_store *t, struct elf_file *file, uint64_t off,
		       struct packed_rule *rule)
{
	const struct lazy_query query = { file, elf_file__read_now, off };
	struct tablestore_slot *slot = file->slots[ELF_SLOT_TABLE].data;

	if (slot->seen.table) {
		*rule = cfi_table__at(slot->seen.table, off);
		return true;
	}
	tablestore_retry(t, file, slot);
	if (!slot->index)
		return false;
	if (lazy_table__rule(slot->index, &query, rule)) {
		slot__drop_index(slot);
		tablestore_request_table(t, file);
		return false;
	}
	if (++slot->answers == lazy_table__worth(slot->index))
		tablestore_request_table(t, file);
	return true;
}

void table_store__stats(const struct table_store *t, struct table_store_stats *s)
{
	*s = t->stats;
	s->indexed = t->held->indexed;
	s->bytes = t->held->sz;
}

struct table_store *table_store__new(struct table_cache *cache, struct jobs *jobs)
{
	struct table_store *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->cache = cache;
	t->jobs = jobs;
	t->pages = page_cache__new();
	t->held = calloc(1, sizeof(*t->held));
	if (t->pages && t->held) {
		t->held->refs = 1;
		return t;
	}
	page_cache__free(t->pages);
	free(t->held);
	free(t);
	return errno = ENOMEM, NULL;
}

void table_store__free(struct table_store *t)
{
	if (!t)
		return;
	held__put(t->held);
	page_cache__free(t->pages);
	free(t);
}
