// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/jit.h"

#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "base/priority.h"
#include "jit/dumppaths.h"
#include "jit/processcode.h"

/* Limits for all processes together. */
#define PROCESSES_MAX 256 /* each has up to 4 fds; the least recently used one is dropped */
#define BYTES_MAX     (256u << 20) /* beyond it, the one with the most is emptied */

#define ASIDE_NS 30000000000 /* interval before the process with the most data is read again */

struct jit {
	struct jit_places places;
	pthread_mutex_t lock; /* protects the fields below */
	struct process_code *processes;
	uint64_t used;
};

/* ---- all processes ------------------------------------------------------------------------------
 */

/* Must hold the lock, like the functions below. */
static void jit_drop(struct jit *j, struct process_code *p)
{
	HASH_DEL(j->processes, p);
	p->gone = true;
	process_code__empty(p, 0);
	process_code__put(p);
}

static struct process_code *jit_find_oldest_process(const struct jit *j)
{
	struct process_code *oldest = j->processes;

	for (struct process_code *p = oldest; p; p = p->hh.next)
		oldest = p->used < oldest->used ? p : oldest;
	return oldest;
}

static struct process_code *jit_find_largest_process(const struct jit *j)
{
	struct process_code *largest = j->processes;

	for (struct process_code *p = largest; p; p = p->hh.next)
		largest = p->sz > largest->sz ? p : largest;
	return largest;
}

static size_t jit_bytes_of_all(const struct jit *j)
{
	size_t bytes = 0;

	for (const struct process_code *p = j->processes; p; p = p->hh.next)
		bytes += p->sz;
	return bytes;
}

/* The largest process is not read again for some time: a process that fills the shared memory loses
 * its own part. */
static void jit_keep_bounds(struct jit *j)
{
	while (jit_bytes_of_all(j) > BYTES_MAX)
		process_code__empty(jit_find_largest_process(j), ASIDE_NS);
	while (HASH_COUNT(j->processes) > PROCESSES_MAX)
		jit_drop(j, jit_find_oldest_process(j));
}

static struct process_code *jit_find(const struct jit *j, uint32_t tgid)
{
	struct process_code *p;

	HASH_FIND(hh, j->processes, &tgid, sizeof(tgid), p);
	return p;
}

static struct process_code *jit_add(struct jit *j, uint32_t tgid)
{
	const char *told = dump_paths__dump(j->places.told, tgid);
	struct process_code *p = process_code__new(&j->places, tgid, told);

	if (!p)
		return NULL;
	HASH_ADD(hh, j->processes, tgid, sizeof(p->tgid), p);
	if (HASH_ADDED(p))
		return p;
	process_code__put(p);
	return NULL;
}

bool jit__is_current(const struct jit *j, const struct process_code *p)
{
	const char *told = dump_paths__dump(j->places.told, p->tgid);

	return !p->gone && !told == !p->told && (!told || strcmp(told, p->told) == 0);
}

struct process_code *jit__code(struct jit *j, uint32_t tgid)
{
	struct process_code *p;

	pthread_mutex_lock(&j->lock);
	p = jit_find(j, tgid);
	if (p && !jit__is_current(j, p)) {
		jit_drop(j, p);
		p = NULL;
	}
	if (!p)
		p = jit_add(j, tgid);
	if (p) {
		p->used = ++j->used;
		process_code__get(p);
		jit_keep_bounds(j);
	}
	pthread_mutex_unlock(&j->lock);
	return p;
}

bool jit__is_live(const struct jit *j)
{
	return j->places.proc != NULL;
}

bool jit__may_have_frames(const struct jit *j, uint32_t tgid)
{
	return j->places.proc || dump_paths__dump(j->places.told, tgid);
}

/* ---- reading ------------------------------------------------------------------------------------
 */

struct jit_reading {
	struct job job;
	struct jit *jit;
	struct process_code *code;
	bool done;
};

static void jit_work(struct job *job)
{
	struct jit_reading *r = (struct jit_reading *)job;

	process_code__read(r->code);
	r->done = true;
}

static void jit_done(struct job *job)
{
	struct jit_reading *r = (struct jit_reading *)job;

	if (!r->done)
		process_code__undone(r->code);
	process_code__put(r->code);
	pthread_mutex_lock(&r->jit->lock);
	jit_keep_bounds(r->jit);
	pthread_mutex_unlock(&r->jit->lock);
	free(r);
}

void jit__read(struct jit *j, struct process_code *p, struct jobs *jobs)
{
	struct jit_reading *r = calloc(1, sizeof(*r));

	pthread_mutex_lock(&j->lock);
	p->used = ++j->used;
	pthread_mutex_unlock(&j->lock);
	if (!r) {
		process_code__undone(p);
		return;
	}
	*r = (struct jit_reading){ .job = { .rank = JOB_NEXT,
					    .lane = p->lane,
					    .crowd = p->crowd,
					    .work = jit_work,
					    .done = jit_done },
				   .jit = j,
				   .code = process_code__get(p) };
	jobs__submit(jobs, &r->job);
}

/* ---- names --------------------------------------------------------------------------------------
 */

/* Must hold the lock of the process. */
static void jit_await_read(struct process_code *p)
{
	uint64_t until_ns = p->reading_ns + PROCESS_CODE_WAIT_NS;

	while (p->reading && monotonic__ns() < until_ns)
		bell__wait(&p->read, &p->lock, until_ns);
}

static void jit_read_if_due(struct jit *j, struct process_code *p, const struct jit_place *place,
			    struct jobs *jobs)
{
	bool due;

	pthread_mutex_lock(&p->lock);
	if (!jobs)
		jit_await_read(p);
	due = process_code__begin(p, place->time_ns);
	pthread_mutex_unlock(&p->lock);
	if (due)
		jit__read(j, p, jobs);
}

static enum jit_answer jit_look_up(struct process_code *p, const struct jit_place *place,
				   struct jit_symbol *s)
{
	enum jit_answer answer = JIT_NONE;
	struct code c;

	pthread_mutex_lock(&p->lock);
	if (p->reading) {
		if (monotonic__ns() - p->reading_ns < PROCESS_CODE_WAIT_NS)
			answer = JIT_READS;
	} else if (process_code__find_name(p, place, &c)) {
		memcpy(s->name, c.name, strlen(c.name) + 1);
		s->start = c.start;
		answer = JIT_NAMED;
	}
	pthread_mutex_unlock(&p->lock);
	return answer;
}

enum jit_answer jit__name(struct jit *j, const struct jit_place *place, struct jobs *jobs,
			  struct jit_symbol *s)
{
	enum jit_answer answer = JIT_NONE;
	bool gone = true;

	for (int tries = 0; gone && tries < 2; tries++) {
		struct process_code *p = jit__code(j, place->tgid);

		if (!p)
			return JIT_NONE;
		jit_read_if_due(j, p, place, jobs);
		answer = jit_look_up(p, place, s);
		gone = p->gone;
		process_code__put(p);
	}
	return !jobs && answer == JIT_READS ? JIT_NONE : answer;
}

uint32_t jit__generation(struct jit *j, uint32_t tgid)
{
	const struct process_code *p;
	uint32_t generation;

	pthread_mutex_lock(&j->lock);
	p = jit_find(j, tgid);
	generation = p ? p->generation : 0;
	pthread_mutex_unlock(&j->lock);
	return generation;
}

/* ---- memory -------------------------------------------------------------------------------------
 */

size_t jit__sz(struct jit *j)
{
	size_t bytes;

	pthread_mutex_lock(&j->lock);
	bytes = jit_bytes_of_all(j);
	pthread_mutex_unlock(&j->lock);
	return bytes;
}

/* Returns whether the process was used since the last sweep, and begins the next one. */
static bool jit_is_used(struct process_code *p)
{
	bool used = p->used != p->swept;

	p->swept = p->used;
	return used;
}

size_t jit__sweep(struct jit *j, unsigned age)
{
	struct process_code *p, *next;
	size_t freed = 0;

	pthread_mutex_lock(&j->lock);
	HASH_ITER (hh, j->processes, p, next) {
		p->age = jit_is_used(p) ? 0 : p->age + 1;
		if (p->age <= age)
			continue;
		freed += p->sz;
		jit_drop(j, p);
	}
	pthread_mutex_unlock(&j->lock);
	return freed;
}

size_t jit__shrink(struct jit *j, size_t sz)
{
	size_t freed = 0;

	pthread_mutex_lock(&j->lock);
	for (struct process_code *p; freed < sz && (p = jit_find_largest_process(j)) && p->sz;) {
		freed += p->sz;
		process_code__empty(p, ASIDE_NS);
	}
	pthread_mutex_unlock(&j->lock);
	return freed;
}

struct jit *jit__new(const struct jit_places *places)
{
	struct jit *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->places = *places;
	priority__init_lock(&j->lock);
	return j;
}

void jit__free(struct jit *j)
{
	struct process_code *p, *next;

	if (!j)
		return;
	HASH_ITER (hh, j->processes, p, next)
		jit_drop(j, p);
	pthread_mutex_destroy(&j->lock);
	free(j);
}
