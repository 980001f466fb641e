// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "process/crowd.h"
#include "jit/codemap.h"
#include "jit/jitdump.h"
#include "jit/dumppaths.h"
#include "jit/perfmap.h"

/* Limits for all processes together; the least recently used one is dropped. */
#define PROCESSES_MAX 128 /* each has up to 4 fds */
#define BYTES_MAX     (256u << 20)

#define SEARCH_NS 250000000 /* interval between searches for missing files */
#define SHARE	  20	    /* at most a SHAREth part of the time is spent searching and reading */
/* a read that takes less is completed at once; others get their share */
#define CHEAP_NS 1000000
#define WAIT_NS	 1000000000 /* stacks wait this long for files, then go without names */

/* One file and the functions read from it. */
struct source {
	int fd;
	ino_t ino;
	struct codemap *map; /* NULL: nothing yet */
	union {
		struct perfmap perfmap;
		struct jitdump jitdump;
	} at;
	int err; /* sticky */
};

enum { DUMP, MAP, SOURCE_CNT }; /* DUMP comes first, because it has times */

struct process {
	uint32_t tgid;
	bool said; /* the message about its large perf map was printed */
	struct jit_owner owner;
	const char *told; /* path of its dump, from records */
	struct source sources[SOURCE_CNT];
	uint32_t reloaded;    /* number of times that a source started over */
	uint64_t read_ns;     /* time of the last read */
	uint64_t again_ns;    /* no read before this time */
	uint64_t search_ns;   /* no search for missing files before this time */
	uint64_t asked;	      /* time of the last use: a number that grows */
	uint32_t generation;  /* jit__generation() */
	bool unopened;	      /* .owner must still be opened */
	bool reading;	      /* a job owns the fields above, except tgid and .asked */
	bool forgotten;	      /* the job must free it */
	uint64_t reading_ns;  /* start of the job */
	uint64_t lane, crowd; /* of its jobs */
	int proc;
	struct job job;
	UT_hash_handle hh;
};

struct jit {
	struct jit_places places;
	int proc; /* -1: none */
	uint64_t asked;
	struct process *processes;
};

/* ---- one source ---------------------------------------------------------------------------------
 */

static void source__reset(struct source *s)
{
	codemap__free(s->map);
	*s = (struct source){ .fd = s->fd, .ino = s->ino };
}

static void source__close(struct source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	source__reset(s);
}

static uint64_t source__done(const struct source *s, size_t kind)
{
	return kind == DUMP ? s->at.jitdump.off : s->at.perfmap.off;
}

/* Reads one turn, or the whole file if `all` is set. */
static void read_more(struct source *s, size_t kind, bool all)
{
	uint64_t done;

	if (!s->map)
		s->map = codemap__new();
	do {
		done = source__done(s, kind);
		if (s->map)
			s->err = kind == DUMP ? jitdump__read(&s->at.jitdump, s->fd, s->map)
					      : perfmap__read(&s->at.perfmap, s->fd, s->map);
	} while (all && !s->err && source__done(s, kind) > done);
}

/* Reads the new part of the file. Returns true if the file started over. */
static bool source__read(struct source *s, size_t kind, bool all)
{
	uint64_t done = source__done(s, kind);
	struct stat st;

	if (s->fd < 0 || fstat(s->fd, &st) != 0 || s->err || (uint64_t)st.st_size == done)
		return false;
	if ((uint64_t)st.st_size > done)
		read_more(s, kind, all);
	if ((uint64_t)st.st_size > done && s->err != -ESTALE)
		return false;
	source__reset(s);
	read_more(s, kind, all);
	return true;
}

/* A removed text may be followed by another one of that name. A dump may be removed as soon as it
 * is mapped. */
static bool is_removed(const struct source *s, size_t kind)
{
	struct stat st;

	return kind == MAP && s->fd >= 0 && fstat(s->fd, &st) == 0 && st.st_nlink == 0;
}

/* ---- one process --------------------------------------------------------------------------------
 */

static bool is_complete(const struct process *p)
{
	return p->sources[DUMP].fd >= 0 && p->sources[MAP].fd >= 0;
}

/* Returns how long to wait after work that began at `begin_ns`. */
static uint64_t rest_since(uint64_t begin_ns)
{
	return (monotonic__ns() - begin_ns) * SHARE;
}

/* Searches missing files, but rarely: reading the mappings of a large process takes milliseconds.
 */
static void search(struct process *p)
{
	uint64_t begin_ns = monotonic__ns(), rest_ns;

	if (is_complete(p) || begin_ns < p->search_ns || !jit_owner__lives(&p->owner))
		return;
	if (p->sources[DUMP].fd < 0)
		p->sources[DUMP].fd = jit_owner__open_dump(&p->owner, p->told);
	if (p->sources[MAP].fd < 0)
		p->sources[MAP].fd = jit_owner__open_map(&p->owner);
	if (p->sources[MAP].at.perfmap.overflowed && !p->said)
		log__warn("process %u: its perf map has too many functions; the oldest ones have "
			  "no names",
			  p->tgid);
	p->said |= p->sources[MAP].at.perfmap.overflowed;
	rest_ns = rest_since(begin_ns);
	p->search_ns = begin_ns + (rest_ns > SEARCH_NS ? rest_ns : SEARCH_NS);
}

/* A file may be large at first. A file that keeps growing quickly may be an attack, so its reads
 * are limited to their share. */
static void read_all(struct process *p)
{
	uint64_t begin_ns = monotonic__ns(), rest_ns;
	bool first = false;

	for (size_t i = 0; i < SOURCE_CNT; i++) {
		first |= p->sources[i].fd >= 0 && !p->sources[i].map;
		p->reloaded += source__read(&p->sources[i], i, p->owner.told);
	}
	rest_ns = rest_since(begin_ns);
	p->again_ns = !first && rest_ns > CHEAP_NS * SHARE ? begin_ns + rest_ns : 0;
}

static void refresh(struct process *p)
{
	p->read_ns = monotonic__ns();
	for (size_t i = 0; i < SOURCE_CNT; i++) {
		if (!is_removed(&p->sources[i], i))
			continue;
		source__close(&p->sources[i]);
		p->reloaded++;
	}
	search(p);
	read_all(p);
}

static bool find(const struct process *p, const struct jit_place *place, struct jit_symbol *s)
{
	struct code c;

	for (size_t i = 0; i < SOURCE_CNT; i++) {
		if (!p->sources[i].map ||
		    !codemap__find(p->sources[i].map, place->addr, place->time_ns, &c))
			continue;
		*s = (struct jit_symbol){ c.name, c.start };
		return true;
	}
	return false;
}

static void process__free(struct process *p)
{
	for (size_t i = 0; i < SOURCE_CNT; i++)
		source__close(&p->sources[i]);
	jit_owner__close(&p->owner);
	free(p);
}

/* ---- all processes ------------------------------------------------------------------------------
 */

static void drop(struct jit *j, struct process *p)
{
	HASH_DEL(j->processes, p);
	if (p->reading)
		p->forgotten = true;
	else
		process__free(p);
}

static struct process *add(struct jit *j, uint32_t tgid, bool jobs)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->tgid = tgid;
	for (size_t i = 0; i < SOURCE_CNT; i++)
		p->sources[i].fd = -1;
	p->told = dump_paths__dump(j->places.told, tgid);
	p->owner.proc = p->owner.root = -1;
	p->proc = j->proc;
	p->unopened = jobs;
	if (jobs) {
		p->lane = crowd__lane(j->proc, tgid);
		p->crowd = crowd__of(j->proc, tgid);
	} else if (jit_owner__open(&p->owner, j->proc, tgid) != 0 && j->places.root) {
		/* A process that has ended is known only by its records. */
		jit_owner__open_recorded(&p->owner, j->places.root, tgid);
	}
	HASH_ADD(hh, j->processes, tgid, sizeof(p->tgid), p);
	if (HASH_ADDED(p))
		return p;
	process__free(p);
	return NULL;
}

/* Ids are reused: the data of an ended process stays until another process has its id. */
static bool is_another(const struct jit *j, const struct process *p)
{
	if (p->owner.told)
		return p->told != dump_paths__dump(j->places.told, p->tgid);
	return !p->reading && !p->unopened && !jit_owner__lives(&p->owner) &&
	       jit_owner__exists(j->proc, p->tgid);
}

static struct process *get(struct jit *j, const struct jit_place *place, bool jobs)
{
	struct process *p;

	HASH_FIND(hh, j->processes, &place->tgid, sizeof(place->tgid), p);
	if (p && !p->reading && (p->owner.told || place->time_ns > p->read_ns) &&
	    is_another(j, p)) {
		drop(j, p);
		p = NULL;
	}
	if (!p)
		p = add(j, place->tgid, jobs);
	if (p)
		p->asked = ++j->asked;
	return p;
}

static size_t bytes_of(const struct process *p)
{
	size_t bytes = 0;

	for (size_t i = 0; !p->reading && i < SOURCE_CNT; i++)
		bytes += p->sources[i].map ? codemap__sz(p->sources[i].map) : 0;
	return bytes;
}

static struct process *find_oldest(const struct jit *j, size_t *bytes)
{
	struct process *oldest = j->processes;

	*bytes = 0;
	for (struct process *p = oldest; p; p = p->hh.next) {
		*bytes += bytes_of(p);
		oldest = p->asked < oldest->asked ? p : oldest;
	}
	return oldest;
}

/* The current process stays, because it was used last. */
static void keep_bounds(struct jit *j)
{
	size_t bytes;
	struct process *oldest = find_oldest(j, &bytes);

	while (HASH_COUNT(j->processes) > 1 &&
	       (bytes > BYTES_MAX || HASH_COUNT(j->processes) > PROCESSES_MAX)) {
		drop(j, oldest);
		oldest = find_oldest(j, &bytes);
	}
}

/* Files of a recorded process do not change. */
static bool may_tell_more(const struct process *p, const struct jit_place *place)
{
	if (p->owner.told)
		return p->read_ns == 0;
	return place->time_ns >= p->read_ns && monotonic__ns() >= p->again_ns;
}

static uint32_t generation_of(const struct process *p)
{
	uint32_t reused = 0;
	bool tells = false;

	for (size_t i = 0; i < SOURCE_CNT; i++) {
		tells |= p->sources[i].map != NULL;
		reused += p->sources[i].map ? codemap__reused(p->sources[i].map) : 0;
	}
	return tells ? (reused + (p->reloaded << 20)) % (UINT32_MAX - 1) + 1 : 0;
}

bool jit__symbol(struct jit *j, const struct jit_place *place, struct jit_symbol *s)
{
	struct process *p = get(j, place, false);

	if (!p)
		return false;
	if (may_tell_more(p, place)) {
		refresh(p);
		p->generation = generation_of(p);
		keep_bounds(j);
	}
	return find(p, place, s);
}

/* ---- by jobs ------------------------------------------------------------------------------------
 */

static struct process *process_of(struct job *job)
{
	return (struct process *)((char *)job - offsetof(struct process, job));
}

static void read_files(struct job *job)
{
	struct process *p = process_of(job);

	if (p->unopened)
		jit_owner__open(&p->owner, p->proc, p->tgid);
	p->unopened = false;
	refresh(p);
}

static void files_read(struct job *job)
{
	struct process *p = process_of(job);

	p->reading = false;
	if (p->forgotten) {
		process__free(p);
		return;
	}
	p->generation = generation_of(p);
	if (!p->read_ns) /* returned undone: treat it as a failed read */
		p->read_ns = monotonic__ns();
	if (p->unopened)
		p->again_ns = monotonic__ns() + WAIT_NS;
}

static void submit(struct process *p, struct jobs *jobs)
{
	p->job = (struct job){ .rank = JOB_NEXT,
			       .lane = p->lane,
			       .crowd = p->crowd,
			       .work = read_files,
			       .done = files_read };
	p->reading = true;
	p->reading_ns = monotonic__ns();
	jobs__submit(jobs, &p->job);
}

enum jit_answer jit__ask(struct jit *j, const struct jit_place *place, struct jobs *jobs,
			 struct jit_symbol *s)
{
	struct process *p = get(j, place, true);

	if (!p)
		return JIT_NONE;
	if (!p->reading && may_tell_more(p, place)) {
		keep_bounds(j);
		submit(p, jobs);
	}
	if (p->reading)
		return monotonic__ns() - p->reading_ns < WAIT_NS ? JIT_READS : JIT_NONE;
	return find(p, place, s) ? JIT_NAMED : JIT_NONE;
}

uint32_t jit__generation(const struct jit *j, uint32_t tgid)
{
	struct process *p;

	HASH_FIND(hh, j->processes, &tgid, sizeof(tgid), p);
	return p ? p->generation : 0;
}

struct jit *jit__new(const struct jit_places *places)
{
	struct jit *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->places = *places;
	j->proc = -1;
	if (places->proc)
		j->proc = open(places->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (j->proc >= 0 || !places->proc)
		return j;
	free(j);
	return NULL;
}

void jit__free(struct jit *j)
{
	struct process *p, *next;

	if (!j)
		return;
	HASH_ITER (hh, j->processes, p, next)
		drop(j, p);
	if (j->proc >= 0)
		close(j->proc);
	free(j);
}
