// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/processrows.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "collector/users.h"
#include "process/facts.h"

/* Bytes of texts that are kept. Further texts are cut: users may start any number of processes with
 * long command lines. */
#define TEXTS_SZ_MAX ((size_t)4 << 20)
#define CUT_TEXT_MAX 128

#define START_TICK_NS 10000000 /* USER_HZ */

struct seen_process {
	uint32_t tgid;
	uint32_t generation;	 /* of the batch that has its row; 0: none, or before an exec */
	uint32_t last_seen;	 /* generation of the batch of its last event */
	uint32_t reads_at, wait; /* generation of the next read, and batches until the one after */
	struct process_facts *facts; /* NULL: not read yet */
	int64_t start;		     /* unix ns, of facts->start_ns */
	UT_hash_handle hh;
};

struct process_rows {
	struct recording *recording;
	const struct process_table *processes;
	const struct clock *clock;
	struct users *users;
	struct seen_process *by_tgid;
	size_t texts_sz;
};

struct process_rows *process_rows__new(struct recording *recording,
				       const struct process_table *processes,
				       const struct clock *clock)
{
	struct process_rows *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->recording = recording;
	p->processes = processes;
	p->clock = clock;
	p->users = users__new("/etc/passwd");
	if (p->users)
		return p;
	free(p);
	return NULL;
}

/* ---- what is kept of a process ------------------------------------------------------------------
 */

static size_t processrows_texts_of(const struct process_facts *f)
{
	return f ? f->executable_sz + f->command_line_sz : 0;
}

static void processrows_set_facts(struct process_rows *p, struct seen_process *s,
				  struct process_facts *f)
{
	p->texts_sz += processrows_texts_of(f) - processrows_texts_of(s->facts);
	free(s->facts);
	s->facts = f;
}

static void processrows_seen_drop(struct process_rows *p, struct seen_process *s)
{
	processrows_set_facts(p, s, NULL);
	HASH_DEL(p->by_tgid, s);
	free(s);
}

void process_rows__forget(struct process_rows *p)
{
	struct seen_process *s, *next;

	HASH_ITER (hh, p->by_tgid, s, next)
		processrows_seen_drop(p, s);
}

void process_rows__free(struct process_rows *p)
{
	if (!p)
		return;
	process_rows__forget(p);
	users__free(p->users);
	free(p);
}

static struct seen_process *processrows_seen_find(const struct process_rows *p, uint32_t tgid)
{
	struct seen_process *s;

	HASH_FIND(hh, p->by_tgid, &tgid, sizeof(tgid), s);
	return s;
}

/* Returns NULL if out of memory. */
static struct seen_process *processrows_seen_get(struct process_rows *p, uint32_t tgid)
{
	struct seen_process *s = processrows_seen_find(p, tgid);

	if (s || !(s = calloc(1, sizeof(*s))))
		return s;
	s->tgid = tgid;
	HASH_ADD(hh, p->by_tgid, tgid, sizeof(s->tgid), s);
	if (HASH_ADDED(s))
		return s;
	free(s);
	return NULL;
}

/* Returns the start in unix time, in ticks like in /proc. It stays the same when the process is
 * read again, although the clock may have moved. */
static int64_t processrows_start_of(const struct process_rows *p, const struct seen_process *s,
				    const struct process_facts *f)
{
	int64_t start = clock__unix_ns(p->clock, f->start_ns - (uint64_t)p->clock->suspended_ns);

	if (s->facts && s->facts->known && s->facts->start_ns == f->start_ns)
		return s->start;
	return start - start % START_TICK_NS;
}

/* Reads /proc, if the process is new, or it is time for another look. Keeps what was known of a
 * process that is gone. */
static void processrows_read_facts(struct process_rows *p, struct seen_process *s,
				   uint32_t generation)
{
	size_t max = p->texts_sz < TEXTS_SZ_MAX ? PROCESS_TEXT_MAX : CUT_TEXT_MAX;
	struct process_facts *f;

	if (s->facts && generation < s->reads_at)
		return;
	s->wait = s->wait ? s->wait * 2 : 1;
	s->reads_at = generation + s->wait;
	f = process_table__facts(p->processes, s->tgid, max);
	if (!f)
		return;
	if (s->facts && s->facts->known && (!f->known || f->executable_sz == 0)) {
		free(f);
		return;
	}
	s->start = f->known ? processrows_start_of(p, s, f) : 0;
	processrows_set_facts(p, s, f);
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static uint32_t processrows_text_id(struct process_rows *p, const char *s, size_t sz)
{
	return sz ? recording__string(p->recording, s, sz) : 0;
}

static void processrows_fill(struct process_rows *p, const struct seen_process *s,
			     struct process_row *row)
{
	const struct process_facts *f = s->facts;
	const char *user;

	if (!f || !f->known)
		return;
	user = users__name(p->users, f->uid);
	row->start = s->start;
	row->parent = (int32_t)f->parent;
	row->uid = (int32_t)f->uid;
	row->present = PROCESS_ROW_START | PROCESS_ROW_FACTS;
	row->executable = processrows_text_id(p, process_facts__executable(f), f->executable_sz);
	row->command_line =
		processrows_text_id(p, process_facts__command_line(f), f->command_line_sz);
	row->user = user ? processrows_text_id(p, user, strlen(user)) : 0;
}

void process_rows__see(struct process_rows *p, const struct process_row *seen)
{
	uint32_t generation = recording__generation(p->recording);
	struct process_row row = *seen;
	struct seen_process *s;

	if (seen->tgid <= 0)
		return;
	s = processrows_seen_get(p, (uint32_t)seen->tgid);
	if (!s)
		return;
	s->last_seen = generation;
	if (s->generation == generation)
		return;
	s->generation = generation;
	processrows_read_facts(p, s, generation);
	processrows_fill(p, s, &row);
	recording__add_process(p->recording, &row);
}

void process_rows__exec(struct process_rows *p, uint32_t tgid)
{
	struct seen_process *s = processrows_seen_find(p, tgid);

	if (s)
		s->generation = s->reads_at = s->wait = 0;
}

void process_rows__fork(struct process_rows *p, uint32_t tgid)
{
	struct seen_process *s = processrows_seen_find(p, tgid);

	if (s)
		processrows_seen_drop(p, s);
}

void process_rows__sweep(struct process_rows *p)
{
	uint32_t generation = recording__generation(p->recording);
	struct seen_process *s, *next;

	HASH_ITER (hh, p->by_tgid, s, next)
		if (s->last_seen + 1 < generation)
			processrows_seen_drop(p, s);
}
