// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/jitcfi.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/monotonic.h"
#include "jit/codedump.h"
#include "jit/dumppaths.h"
#include "jit/framesimage.h"

#define PROCESSES_MAX 256 /* if there are more, all are dropped and read again */
/* of all processes; beyond it, the one with the most is dropped */
#define BYTES_MAX (64u << 20)
#define FILES_MAX 256	    /* per process; beyond it, its files are dropped */
#define AGAIN_NS  100000000 /* interval before a dump that lacks an address is read again */
/* … before a complete dump, or a process without one, is read again */
#define SEARCH_NS 1000000000
#define ASIDE_NS  30000000000 /* … before the process with the most data is read again */
#define SHARE	  20	      /* reading and converting takes at most a SHAREth part of the time */
#define FILE_NS	  20000	      /* cost of one file and its table */
#define FRAMES_NS 15	      /* … plus this for each byte of its frames */
#define BURST_NS  1000000000  /* allowance of SHARE for many new functions at once */

struct reading {
	struct job job;
	struct code_dump *dump;
	/* Valid only while these also refer to the dump: */
	struct watched *watched;
	struct jit_cfi *jit;
	uint64_t took_ns;
};

/* The call-frame information of one function. */
struct image {
	struct {
		uint64_t start, time_ns;
	} key;
	uint64_t end;
	struct elf_file *file; /* NULL: it is broken */
	UT_hash_handle hh;
};

struct watched {
	uint32_t tgid;
	const char *told; /* borrowed, to see whether it is still the same */
	struct code_dump *dump;
	bool reading;
	uint64_t again_ns;
	struct image *images;
	uint32_t reused, generation; /* of the dump and the list, when the images were made */
	UT_hash_handle hh;
};

struct jit_cfi {
	struct jit_places places;
	struct watched *processes;
	bool grown;	  /* since the limits were last checked */
	uint64_t made_ns; /* time by which the work so far fits into its share */
};

/* ---- reading ------------------------------------------------------------------------------------
 */

static void work(struct job *job)
{
	struct reading *r = (struct reading *)job;
	uint64_t begin_ns = monotonic__ns();

	code_dump__read(r->dump);
	r->took_ns = monotonic__ns() - begin_ns;
}

/* Returns the time to some milliseconds, cheaply: it is read for each frame of JIT code. */
static uint64_t coarse_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void rest(struct watched *w, uint64_t ns)
{
	uint64_t until_ns = coarse_ns() + ns;

	w->again_ns = w->again_ns > until_ns ? w->again_ns : until_ns;
}

static void done(struct job *job)
{
	struct reading *r = (struct reading *)job;

	if (r->dump->refs > 1) { /* else the process was dropped meanwhile */
		r->watched->reading = false;
		rest(r->watched, r->took_ns * SHARE);
		r->jit->grown = true;
	}
	code_dump__put(r->dump);
	free(r);
}

static void read_more(struct jit_cfi *j, struct watched *w, struct jobs *jobs, uint64_t wait_ns)
{
	struct reading *r;

	if (w->reading || coarse_ns() < w->again_ns)
		return;
	r = calloc(1, sizeof(*r));
	if (!r)
		return;
	*r = (struct reading){ .job = { .rank = JOB_NEXT,
					.lane = w->dump->lane,
					.crowd = w->dump->crowd,
					.work = work,
					.done = done },
			       .dump = w->dump,
			       .watched = w,
			       .jit = j };
	w->dump->refs++;
	w->reading = true;
	rest(w, wait_ns);
	jobs__submit(jobs, &r->job);
}

/* ---- files with frames --------------------------------------------------------------------------
 */

static void forget_images(struct watched *w)
{
	struct image *i, *next;

	HASH_ITER (hh, w->images, i, next) {
		HASH_DEL(w->images, i);
		elf_file__put(i->file);
		free(i);
	}
}

/* Limits the rate: a process may list more functions than are kept, so that they are made again and
 * again. */
static bool may_make(struct jit_cfi *j, const struct code *c)
{
	uint64_t now_ns = coarse_ns(), from_ns = now_ns > BURST_NS ? now_ns - BURST_NS : 0;

	if (!j->places.proc)
		return true;
	if (j->made_ns > now_ns)
		return false;
	j->made_ns = (j->made_ns > from_ns ? j->made_ns : from_ns) +
		     (FILE_NS + c->frames_sz * FRAMES_NS) * SHARE;
	return true;
}

/* Returns NULL if the function must be walked by frame pointer. */
static struct elf_file *image_of(struct jit_cfi *j, struct watched *w, const struct code *c)
{
	struct image *i, wanted = { .key = { c->start, c->time_ns } };

	HASH_FIND(hh, w->images, &wanted.key, sizeof(wanted.key), i);
	if (i)
		return i->file;
	if (!may_make(j, c))
		return NULL;
	if (HASH_COUNT(w->images) >= FILES_MAX)
		forget_images(w);
	i = calloc(1, sizeof(*i));
	if (!i)
		return NULL;
	i->key = wanted.key;
	i->end = c->start + c->sz;
	HASH_ADD(hh, w->images, key, sizeof(i->key), i);
	if (!HASH_ADDED(i)) {
		free(i);
		return NULL;
	}
	i->file = frames_image__new(c);
	return i->file;
}

/* ---- processes ----------------------------------------------------------------------------------
 */

static void forget(struct jit_cfi *j, struct watched *w)
{
	HASH_DEL(j->processes, w);
	forget_images(w);
	code_dump__put(w->dump);
	free(w);
}

/* Drops all data of a process and does not read it again for some time: a process that fills the
 * shared memory loses its own part. */
static void put_aside(struct jit_cfi *j, struct watched *w)
{
	struct code_dump *fresh = code_dump__new(&j->places, w->tgid, w->told);

	if (!fresh) {
		forget(j, w);
		return;
	}
	forget_images(w);
	code_dump__put(w->dump);
	w->dump = fresh;
	w->reading = false;
	rest(w, ASIDE_NS);
}

/* Returns the process with the most data, if all together have too much. */
static struct watched *find_largest(struct jit_cfi *j)
{
	struct watched *w, *next, *largest = NULL;
	size_t bytes = 0;

	HASH_ITER (hh, j->processes, w, next) {
		bytes += w->dump->sz;
		if (!largest || w->dump->sz > largest->dump->sz)
			largest = w;
	}
	return bytes > BYTES_MAX ? largest : NULL;
}

static void keep_bounds(struct jit_cfi *j)
{
	struct watched *w, *next;

	while ((w = find_largest(j)) != NULL)
		put_aside(j, w);
	if (HASH_COUNT(j->processes) > PROCESSES_MAX)
		HASH_ITER (hh, j->processes, w, next)
			forget(j, w);
	j->grown = false;
}

static struct watched *watch(struct jit_cfi *j, uint32_t tgid, const char *told)
{
	struct watched *w;

	if (j->grown)
		keep_bounds(j);
	HASH_FIND(hh, j->processes, &tgid, sizeof(tgid), w);
	if (w && w->told == told)
		return w;
	if (w)
		forget(j, w);
	j->grown = true;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->tgid = tgid;
	w->told = told;
	w->dump = code_dump__new(&j->places, tgid, told);
	if (w->dump)
		HASH_ADD(hh, j->processes, tgid, sizeof(w->tgid), w);
	if (w->dump && HASH_ADDED(w))
		return w;
	code_dump__put(w->dump);
	free(w);
	return NULL;
}

static void forget_old_images(struct watched *w)
{
	struct code_dump *d = w->dump;
	uint32_t reused = d->map ? codemap__reused(d->map) : w->reused;
	uint32_t generation = gdb_jit__generation(d->listed);

	if (w->reused == reused && w->generation == generation)
		return;
	forget_images(w);
	w->reused = reused;
	w->generation = generation;
}

static bool find_code(const struct code_dump *d, const struct jit_place *p, struct code *c)
{
	if (!d->map || !codemap__find(d->map, p->addr, p->time_ns, c))
		return gdb_jit__find(d->listed, p->addr, c);
	c->machine = d->at.machine;
	c->frames_at = frames_image__address(c);
	return true;
}

/* Finds a function that was looked up before. */
static struct elf_file *known_image(const struct watched *w, const struct jit_place *p)
{
	const struct image *last = NULL;

	for (const struct image *i = w->images; i; i = i->hh.next)
		if (p->addr >= i->key.start && p->addr < i->end && p->time_ns >= i->key.time_ns &&
		    (!last || last->key.time_ns < i->key.time_ns))
			last = i;
	return last ? last->file : NULL;
}

/* Does not wait for a job that holds the dump. Returns the time until the next read. */
static uint64_t look_up(struct jit_cfi *j, struct watched *w, const struct jit_place *p,
			struct elf_file **file)
{
	struct code_dump *d = w->dump;
	uint64_t wait_ns = SEARCH_NS;
	struct code c;

	if (pthread_mutex_trylock(&d->lock) != 0) {
		*file = known_image(w, p);
		return wait_ns;
	}
	forget_old_images(w);
	if (!find_code(d, p, &c))
		wait_ns = d->none ? SEARCH_NS : AGAIN_NS;
	else if (c.frames)
		*file = image_of(j, w, &c);
	pthread_mutex_unlock(&d->lock);
	return wait_ns;
}

struct elf_file *jit_cfi__find(struct jit_cfi *j, const struct jit_place *p, struct jobs *jobs)
{
	const char *told = dump_paths__dump(j->places.told, p->tgid);
	struct elf_file *file = NULL;
	struct watched *w;

	if (!told && !j->places.proc)
		return NULL;
	w = watch(j, p->tgid, told);
	if (!w)
		return NULL;
	if (!j->places.proc)
		jobs = NULL;
	read_more(j, w, jobs, look_up(j, w, p, &file));
	if (!jobs && !file)
		look_up(j, w, p, &file);
	return file;
}

bool jit_cfi__none(const struct jit_cfi *j, const struct process *p)
{
	const char *told = dump_paths__dump(j->places.told, p->tgid);
	struct watched *w;

	if (!told && !j->places.proc)
		return true;
	HASH_FIND(hh, j->processes, &p->tgid, sizeof(p->tgid), w);
	return w && w->told == told && w->dump->none;
}

void jit_cfi__set_places(struct jit_cfi *j, const struct jit_places *places)
{
	j->places = *places;
}

struct jit_cfi *jit_cfi__new(void)
{
	struct jit_cfi *j = calloc(1, sizeof(*j));

	if (j)
		j->places.proc = "/proc";
	return j;
}

void jit_cfi__free(struct jit_cfi *j)
{
	struct watched *w, *next;

	if (!j)
		return;
	HASH_ITER (hh, j->processes, w, next)
		forget(j, w);
	free(j);
}
