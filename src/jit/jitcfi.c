// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/jitcfi.h"

#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "base/monotonic.h"
#include "jit/framesimage.h"
#include "jit/processcode.h"

#define PROCESSES_MAX 256	/* with files; if there are more, all files are dropped */
#define FILES_MAX     256	/* per process; beyond it, its files are dropped */
#define AGAIN_NS      100000000 /* interval before code that lacks an address is read again */
/* … before complete code, or a process without call-frame information, is read again */
#define SEARCH_NS 1000000000
#define SHARE	  20	     /* converting takes at most a SHAREth part of the time */
#define FILE_NS	  20000	     /* cost of one file and its table */
#define FRAMES_NS 15	     /* … plus this for each byte of its frames */
#define BURST_NS  1000000000 /* allowance of SHARE for many new functions at once */

/* The call-frame information of one function. */
struct jitcfi_image {
	struct {
		uint64_t start, time_ns;
	} key;
	uint64_t end;
	struct elf_file *file; /* NULL: it is broken */
	UT_hash_handle hh;
};

struct watched {
	uint32_t tgid;
	struct process_code *code; /* a reference */
	struct jitcfi_image *images;
	uint32_t generation; /* of the code, when the images were made */
	UT_hash_handle hh;
};

struct jit_cfi {
	struct jit *jit;
	struct watched *processes;
	uint64_t made_ns; /* time by which the work so far fits into its share */
};

/* Returns the time to some milliseconds, cheaply: it is read for each frame of JIT code. */
static uint64_t jitcfi_coarse_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- files with frames --------------------------------------------------------------------------
 */

static void jitcfi_forget_images(struct watched *w)
{
	struct jitcfi_image *i, *next;

	HASH_ITER (hh, w->images, i, next) {
		HASH_DEL(w->images, i);
		elf_file__put(i->file);
		free(i);
	}
}

static void jitcfi_forget_old_images(struct watched *w)
{
	uint32_t generation = process_code__frames_generation(w->code);

	if (w->generation != generation)
		jitcfi_forget_images(w);
	w->generation = generation;
}

/* Limits the rate: a process may list more functions than are kept, so that they are made again and
 * again. */
static bool jitcfi_may_make(struct jit_cfi *j, const struct code *c)
{
	uint64_t now_ns = jitcfi_coarse_ns(), from_ns = now_ns > BURST_NS ? now_ns - BURST_NS : 0;

	if (!jit__is_live(j->jit))
		return true;
	if (j->made_ns > now_ns)
		return false;
	j->made_ns = (j->made_ns > from_ns ? j->made_ns : from_ns) +
		     (FILE_NS + c->frames_sz * FRAMES_NS) * SHARE;
	return true;
}

/* Returns NULL if the function must be walked by frame pointer. */
static struct elf_file *jitcfi_image_of(struct jit_cfi *j, struct watched *w, const struct code *c)
{
	struct jitcfi_image *i, wanted = { .key = { c->start, c->time_ns } };

	HASH_FIND(hh, w->images, &wanted.key, sizeof(wanted.key), i);
	if (i)
		return i->file;
	if (!jitcfi_may_make(j, c))
		return NULL;
	if (HASH_COUNT(w->images) >= FILES_MAX)
		jitcfi_forget_images(w);
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

/* Finds a function that was looked up before. */
static struct elf_file *jitcfi_known_image(const struct watched *w, const struct jit_place *p)
{
	const struct jitcfi_image *last = NULL;

	for (const struct jitcfi_image *i = w->images; i; i = i->hh.next)
		if (p->addr >= i->key.start && p->addr < i->end && p->time_ns >= i->key.time_ns &&
		    (!last || last->key.time_ns < i->key.time_ns))
			last = i;
	return last ? last->file : NULL;
}

/* ---- processes ----------------------------------------------------------------------------------
 */

static void jitcfi_forget(struct jit_cfi *j, struct watched *w)
{
	HASH_DEL(j->processes, w);
	jitcfi_forget_images(w);
	process_code__put(w->code);
	free(w);
}

static struct watched *jitcfi_add_watched(struct jit_cfi *j, uint32_t tgid)
{
	struct watched *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->tgid = tgid;
	w->code = jit__code(j->jit, tgid);
	if (w->code)
		HASH_ADD(hh, j->processes, tgid, sizeof(w->tgid), w);
	if (w->code && HASH_ADDED(w))
		return w;
	process_code__put(w->code);
	free(w);
	return NULL;
}

static struct watched *jitcfi_find_watched(const struct jit_cfi *j, uint32_t tgid)
{
	struct watched *w;

	HASH_FIND(hh, j->processes, &tgid, sizeof(tgid), w);
	return w;
}

static void jitcfi_forget_all(struct jit_cfi *j)
{
	struct watched *w, *next;

	HASH_ITER (hh, j->processes, w, next)
		jitcfi_forget(j, w);
}

static struct watched *jitcfi_watch(struct jit_cfi *j, uint32_t tgid)
{
	struct watched *w = jitcfi_find_watched(j, tgid);

	if (w && jit__is_current(j->jit, w->code))
		return w;
	if (w)
		jitcfi_forget(j, w);
	if (HASH_COUNT(j->processes) >= PROCESSES_MAX)
		jitcfi_forget_all(j);
	return jitcfi_add_watched(j, tgid);
}

/* ---- looking up ---------------------------------------------------------------------------------
 */

/* Begins a read if the last one was too long ago. Must hold the lock, like jitcfi_look_up(). */
static bool jitcfi_begin_read(struct process_code *p, bool found)
{
	uint64_t wait_ns = found || p->none ? SEARCH_NS : AGAIN_NS;

	if (!process_code__begin(p, p->has_list ? jitcfi_coarse_ns() - wait_ns : UINT64_MAX))
		return false;
	p->wants_list = true;
	return true;
}

/* Returns whether the place is in a known function; `*file` stays if it has no frames. */
static bool jitcfi_look_up(struct jit_cfi *j, struct watched *w, const struct jit_place *p,
			   struct elf_file **file)
{
	struct code c;
	bool found;

	jitcfi_forget_old_images(w);
	found = process_code__find_frames(w->code, p, &c);
	if (found && c.frames)
		*file = jitcfi_image_of(j, w, &c);
	return found;
}

/* Reads the code. With jobs, a later call finds what is new. */
static void jitcfi_read_more(struct jit_cfi *j, struct watched *w, const struct jit_place *p,
			     struct jobs *jobs, struct elf_file **file)
{
	jit__read(j->jit, w->code, jobs);
	if (jobs || *file)
		return;
	pthread_mutex_lock(&w->code->lock);
	jitcfi_look_up(j, w, p, file);
	pthread_mutex_unlock(&w->code->lock);
}

struct elf_file *jit_cfi__find(struct jit_cfi *j, const struct jit_place *p, struct jobs *jobs)
{
	struct elf_file *file = NULL;
	struct watched *w;
	bool due;

	if (!jit__may_have_frames(j->jit, p->tgid))
		return NULL;
	w = jitcfi_watch(j, p->tgid);
	if (!w)
		return NULL;
	if (!process_code__lock_now(w->code))
		return jitcfi_known_image(w, p);
	due = jitcfi_begin_read(w->code, jitcfi_look_up(j, w, p, &file));
	pthread_mutex_unlock(&w->code->lock);
	if (due)
		jitcfi_read_more(j, w, p, jit__is_live(j->jit) ? jobs : NULL, &file);
	return file;
}

bool jit_cfi__none(const struct jit_cfi *j, const struct process *p)
{
	const struct watched *w;

	if (!jit__may_have_frames(j->jit, p->tgid))
		return true;
	w = jitcfi_find_watched(j, p->tgid);
	return w && jit__is_current(j->jit, w->code) && w->code->none;
}

static size_t jitcfi_image_sz(const struct jitcfi_image *i)
{
	size_t sz = sizeof(*i);

	if (!i->file)
		return sz;
	for (size_t s = 0; s < ELF_SLOT_CNT; s++)
		sz += i->file->slots[s].sz;
	return sz + sizeof(*i->file) + i->file->sz;
}

size_t jit_cfi__sz(const struct jit_cfi *j)
{
	size_t sz = 0;

	for (const struct watched *w = j ? j->processes : NULL; w; w = w->hh.next)
		for (const struct jitcfi_image *i = w->images; i; i = i->hh.next)
			sz += jitcfi_image_sz(i);
	return sz;
}

struct jit_cfi *jit_cfi__new(struct jit *jit)
{
	struct jit_cfi *j = calloc(1, sizeof(*j));

	if (j)
		j->jit = jit;
	return j;
}

void jit_cfi__free(struct jit_cfi *j)
{
	if (!j)
		return;
	jitcfi_forget_all(j);
	free(j);
}
