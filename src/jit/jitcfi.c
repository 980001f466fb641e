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
#include "process/crowd.h"
#include "jit/framesimage.h"
#include "jit/gdbjit.h"
#include "jit/jitdump.h"
#include "jit/dumppaths.h"

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

/* One dump, shared by the walking thread and the job that reads it. */
struct dump {
	atomic_uint refs;
	uint32_t tgid;
	uint64_t lane, crowd; /* of the jobs that read it */
	char *proc, *root;    /* see struct jit_places; copies, for a job that outlives its owner */
	char *told;	      /* its path, from records; NULL: none */
	pthread_mutex_t lock; /* protects the fields below */
	struct jit_owner owner;
	int fd;		  /* -1: not yet found */
	atomic_size_t sz; /* bytes of the whole dump; not protected by the lock */
	atomic_bool none; /* a search found none; not protected by the lock */
	struct jitdump at;
	struct codemap *map;
	struct gdb_jit *listed; /* the process's list for gdb, which is not a dump */
	bool failed;		/* not a dump, or broken */
};

struct reading {
	struct job job;
	struct dump *dump;
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
	struct dump *dump;
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

/* ---- dumps --------------------------------------------------------------------------------------
 */

static void dump__close(struct dump *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
	jit_owner__close(&d->owner);
}

static void dump__put(struct dump *d)
{
	if (!d || --d->refs > 0)
		return;
	dump__close(d);
	codemap__free(d->map);
	gdb_jit__free(d->listed);
	pthread_mutex_destroy(&d->lock);
	free(d->proc);
	free(d->root);
	free(d->told);
	free(d);
}

static char *copy_of(const char *s)
{
	return s ? strdup(s) : NULL;
}

/* Reading a process may hang: its memory may be a file of its own FUSE server. */
static void set_lane(struct dump *d)
{
	int proc = d->proc ? open(d->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (proc < 0)
		return;
	d->lane = crowd__lane(proc, d->tgid);
	d->crowd = crowd__of(proc, d->tgid);
	close(proc);
}

static struct dump *dump__new(const struct jit_places *places, uint32_t tgid, const char *told)
{
	struct dump *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->refs = 1;
	d->tgid = tgid;
	d->proc = copy_of(places->proc);
	d->root = copy_of(places->root);
	d->told = copy_of(told);
	d->fd = d->owner.proc = d->owner.root = -1;
	d->at.with_frames = true;
	d->map = codemap__new();
	d->listed = gdb_jit__new();
	set_lane(d);
	pthread_mutex_init(&d->lock, NULL);
	if (d->map && d->listed && !d->proc == !places->proc && !d->root == !places->root &&
	    !d->told == !told)
		return d;
	dump__put(d);
	return NULL;
}

static void open_of_living(struct dump *d)
{
	int proc = d->proc ? open(d->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (proc < 0)
		return;
	if (jit_owner__open(&d->owner, proc, d->tgid) == 0)
		d->fd = jit_owner__open_dump(&d->owner, NULL);
	close(proc);
}

static void dump__open(struct dump *d)
{
	open_of_living(d);
	if (d->fd >= 0 || !d->told || !d->root)
		return;
	jit_owner__close(&d->owner);
	if (jit_owner__open_recorded(&d->owner, d->root, d->tgid) == 0)
		d->fd = jit_owner__open_dump(&d->owner, d->told);
}

/* Reads the new records; if the dump does not change any more, all of them. */
static void read_records(struct dump *d)
{
	uint64_t done;

	do {
		done = d->at.off;
		d->failed = jitdump__read(&d->at, d->fd, d->map) != 0;
	} while (d->owner.told && !d->failed && d->at.off > done);
}

/* The id may belong to another process now, which starts over. */
static void dump__read(struct dump *d)
{
	pthread_mutex_lock(&d->lock);
	if (d->fd < 0 || !jit_owner__lives(&d->owner)) {
		struct codemap *fresh = codemap__new();

		dump__close(d);
		codemap__free(d->map);
		d->map = fresh;
		d->at = (struct jitdump){ .with_frames = true };
		d->failed = !fresh;
		dump__open(d);
	}
	if (d->fd >= 0 && !d->failed)
		read_records(d);
	if (d->map && codemap__sz(d->map) > BYTES_MAX / 2) {
		codemap__free(d->map);
		d->map = NULL;
		d->failed = true;
	}
	gdb_jit__read(d->listed, &d->owner);
	d->none = d->fd < 0 && !gdb_jit__cnt(d->listed);
	d->sz = (d->map ? codemap__sz(d->map) : 0) + gdb_jit__sz(d->listed);
	pthread_mutex_unlock(&d->lock);
}

/* ---- reading ------------------------------------------------------------------------------------
 */

static void work(struct job *job)
{
	struct reading *r = (struct reading *)job;
	uint64_t begin_ns = monotonic__ns();

	dump__read(r->dump);
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
	dump__put(r->dump);
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
	dump__put(w->dump);
	free(w);
}

/* Drops all data of a process and does not read it again for some time: a process that fills the
 * shared memory loses its own part. */
static void put_aside(struct jit_cfi *j, struct watched *w)
{
	struct dump *fresh = dump__new(&j->places, w->tgid, w->told);

	if (!fresh) {
		forget(j, w);
		return;
	}
	forget_images(w);
	dump__put(w->dump);
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
	w->dump = dump__new(&j->places, tgid, told);
	if (w->dump)
		HASH_ADD(hh, j->processes, tgid, sizeof(w->tgid), w);
	if (w->dump && HASH_ADDED(w))
		return w;
	dump__put(w->dump);
	free(w);
	return NULL;
}

static void forget_old_images(struct watched *w)
{
	struct dump *d = w->dump;
	uint32_t reused = d->map ? codemap__reused(d->map) : w->reused;
	uint32_t generation = gdb_jit__generation(d->listed);

	if (w->reused == reused && w->generation == generation)
		return;
	forget_images(w);
	w->reused = reused;
	w->generation = generation;
}

static bool find_code(const struct dump *d, const struct jit_place *p, struct code *c)
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
	struct dump *d = w->dump;
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
