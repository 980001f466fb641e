// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/priority.h"
#include "unwind/tablefile.h"

#define UNTRUSTED_MAX (256u << 20) /* bytes of tables of files that anybody may have made */

struct job {
	struct job *next;
	struct elf_file *file; /* whose slot waits; only its owner's thread looks into it */
	int fd;		       /* the thread's own */
	const struct frame_table *table; /* when done; NULL: there is none */
	bool mapped;
};

/* How much the tables are that there are, in bytes. A file may outlive us: who is last frees it. */
struct held {
	size_t sz, untrusted_sz;
	unsigned refs; /* ours, and one of each table */
};

struct slot {
	struct table_slot seen;
	bool mapped, trusted; /* the table is from the cache; the file's is */
	struct held *held;    /* where the table counts; NULL: there is none */
};

struct queue {
	struct job *first, **end;
};

struct tables {
	struct table_cache *cache; /* of the thread */
	pthread_t thread;
	pid_t tid;
	bool running;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	struct queue todo[2]; /* of trusted files, which go first; of others */
	struct job *done;
	bool busy, stop;
	uint64_t last_id; /* of the asking thread, as what follows */
	struct held *held;
	struct tables_stats stats;
};

/* ---- the thread ---------------------------------------------------------------------------------
 */

static void queue__init(struct queue *q)
{
	*q = (struct queue){ .end = &q->first };
}

static void queue__add(struct queue *q, struct job *j)
{
	*q->end = j;
	q->end = &j->next;
}

/* NULL: it is empty. */
static struct job *queue__take(struct queue *q)
{
	struct job *j = q->first;

	if (!j)
		return NULL;
	q->first = j->next;
	if (!q->first)
		q->end = &q->first;
	return j;
}

static struct job *next_job(struct tables *t)
{
	struct job *j = queue__take(&t->todo[0]);

	return j ? j : queue__take(&t->todo[1]);
}

/* The cache is for files that speak for their build ID. */
static void make(struct tables *t, struct job *j, struct elf_file *own)
{
	bool cached = t->cache && own->trusted && own->build_id.sz;
	struct frame_table *table;

	j->table = cached ? table_cache__load(t->cache, &own->build_id) : NULL;
	j->mapped = j->table;
	if (j->table)
		return;
	table = frame_table__of_file(own);
	if (table && cached)
		table_cache__store(t->cache, table);
	j->table = table;
}

/* With a handle of its own: libelf's must not be shared. */
static void work(struct tables *t, struct job *j)
{
	struct elf_file *own = elf_file__new(j->fd, j->file->path);

	j->fd = -1;
	if (own)
		make(t, j, own);
	elf_file__put(own);
}

static void drop_table(const struct frame_table *t, bool mapped)
{
	if (t && mapped)
		table_cache__unmap(t);
	else
		free((struct frame_table *)t);
}

static void *run(void *arg)
{
	struct tables *t = arg;
	struct job *j;

	priority__ordinary();
	pthread_mutex_lock(&t->lock);
	t->tid = gettid();
	while (!t->stop) {
		j = next_job(t);
		if (!j) {
			pthread_cond_wait(&t->changed, &t->lock);
			continue;
		}
		t->busy = true;
		pthread_mutex_unlock(&t->lock);
		work(t, j);
		pthread_mutex_lock(&t->lock);
		t->busy = false;
		j->next = t->done;
		__atomic_store_n(&t->done, j, __ATOMIC_RELEASE);
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* ---- slots --------------------------------------------------------------------------------------
 */

static void held__put(struct held *h)
{
	if (h && --h->refs == 0)
		free(h);
}

static void held__count(struct held *h, const struct slot *slot, int sign)
{
	size_t sz = (size_t)sign * slot->seen.table->sz;

	h->sz += sz;
	h->untrusted_sz += slot->trusted ? 0 : sz;
}

static void slot__free(void *data)
{
	struct slot *slot = data;

	if (slot->held)
		held__count(slot->held, slot, -1);
	held__put(slot->held);
	drop_table(slot->seen.table, slot->mapped);
	free(slot);
}

static void slot__hold(struct slot *slot, struct held *h)
{
	slot->held = h;
	h->refs++;
	held__count(h, slot, 1);
}

/* A table that comes when the untrusted ones have taken all they may is thrown away. */
static void adopt(struct tables *t, struct elf_file *file, const struct frame_table *table,
		  bool mapped)
{
	struct slot *slot = file->slots[ELF_SLOT_TABLE].data;

	if (table && !file->trusted && table->sz > UNTRUSTED_MAX - t->held->untrusted_sz) {
		drop_table(table, mapped);
		table = NULL;
	}
	slot->seen.table = table;
	slot->mapped = mapped;
	slot->trusted = file->trusted;
	if (table)
		slot__hold(slot, t->held);
	t->stats.made += table && !mapped;
	t->stats.cached += table && mapped;
	t->stats.failed += !table;
}

static void submit(struct tables *t, struct elf_file *file)
{
	struct job *j = calloc(1, sizeof(*j));

	if (j)
		j->fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 3);
	if (!j || j->fd < 0) {
		free(j);
		t->stats.failed++;
		return;
	}
	j->file = elf_file__get(file);
	t->stats.pending++;
	pthread_mutex_lock(&t->lock);
	queue__add(&t->todo[!file->trusted], j);
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

const struct table_slot *tables__ask(struct tables *t, struct elf_file *file)
{
	struct elf_attachment *a = &file->slots[ELF_SLOT_TABLE];
	struct slot *slot = calloc(1, sizeof(*slot));

	if (!slot)
		return NULL;
	slot->seen.id = ++t->last_id;
	*a = (struct elf_attachment){ slot, slot__free };
	if (file->fd < 0) /* the vdso: small, and nowhere to open again */
		adopt(t, file, frame_table__of_file(file), false);
	else
		submit(t, file);
	return &slot->seen;
}

static void job__free(struct job *j)
{
	if (j->fd >= 0)
		close(j->fd);
	drop_table(j->table, j->mapped);
	elf_file__put(j->file);
	free(j);
}

void tables__collect(struct tables *t)
{
	struct job *j, *next;

	if (!__atomic_load_n(&t->done, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&t->lock);
	j = t->done;
	t->done = NULL;
	pthread_mutex_unlock(&t->lock);
	for (; j; j = next) {
		next = j->next;
		t->stats.pending--;
		adopt(t, j->file, j->table, j->mapped);
		j->table = NULL;
		job__free(j);
	}
}

void tables__wait(struct tables *t)
{
	pthread_mutex_lock(&t->lock);
	priority__lend(t->tid);
	while (t->todo[0].first || t->todo[1].first || t->busy)
		pthread_cond_wait(&t->changed, &t->lock);
	pthread_mutex_unlock(&t->lock);
	tables__collect(t);
}

void tables__stats(const struct tables *t, struct tables_stats *s)
{
	*s = t->stats;
	s->bytes = t->held->sz;
}

struct tables *tables__new(struct table_cache *cache)
{
	struct tables *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return NULL;
	t->cache = cache;
	queue__init(&t->todo[0]);
	queue__init(&t->todo[1]);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	t->held = calloc(1, sizeof(*t->held));
	if (t->held)
		t->held->refs = 1;
	err = t->held ? pthread_create(&t->thread, NULL, run, t) : ENOMEM;
	t->running = !err;
	if (!err)
		return t;
	tables__free(t);
	return errno = err, NULL;
}

static void free_jobs(struct job *j)
{
	for (struct job *next; j; j = next) {
		next = j->next;
		job__free(j);
	}
}

void tables__free(struct tables *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	if (t->running)
		priority__lend(t->tid); /* it ends what it has in hand */
	t->stop = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (t->running)
		pthread_join(t->thread, NULL);
	free_jobs(t->todo[0].first);
	free_jobs(t->todo[1].first);
	free_jobs(t->done);
	held__put(t->held);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
