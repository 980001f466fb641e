// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/processcode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "base/priority.h"
#include "jit/framesimage.h"
#include "process/crowd.h"

#define SEARCH_NS 250000000 /* interval between searches for missing files */
#define SHARE	  20	    /* at most a SHAREth part of the time is spent searching and reading */
/* a read that takes less is completed at once; others get their share */
#define CHEAP_NS 1000000
#define ALONE_NS 30000000000 /* interval before files are read again after workers failed */
#define AT_ONCE	 1024	     /* functions added at a time */
#define NOT_ALL	 UINT64_MAX  /* no size of a file */

/* Bytes of a file that are read at a time. */
static const uint64_t turn_sz[CODE_FORMAT_CNT] = {
	[CODE_DUMP] = 512u << 20, [CODE_MAP] = 64u << 20
};

/* Returns how long to wait after work that began at `begin_ns`. */
static uint64_t processcode_rest_since(uint64_t begin_ns)
{
	return (monotonic__ns() - begin_ns) * SHARE;
}

/* ---- one source ---------------------------------------------------------------------------------
 */

/* Must hold the lock. */
static void processcode_source_reset(struct process_code *p, size_t kind)
{
	struct code_source *s = &p->sources[kind];

	codemap__free(s->map);
	*s = (struct code_source){ .fd = s->fd };
	p->reloaded++;
}

static void processcode_source_restart(struct process_code *p, size_t kind)
{
	pthread_mutex_lock(&p->lock);
	processcode_source_reset(p, kind);
	pthread_mutex_unlock(&p->lock);
}

/* Must hold the lock. */
static void processcode_source_close(struct process_code *p, size_t kind)
{
	struct code_source *s = &p->sources[kind];

	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	processcode_source_reset(p, kind);
}

/* Adds functions to the map. Holds the lock for moments only: look-ups wait for it. Those of a perf
 * map need no lock. */
static int processcode_source_add(struct process_code *p, size_t kind, const struct code_list *l)
{
	struct code_source *s = &p->sources[kind];
	size_t cnt = code_list__cnt(l);
	int err = 0;

	if (kind == CODE_MAP)
		return code_list__apply(l, 0, cnt, s->map, &s->overflowed);
	p->adding = true;
	for (size_t i = 0; i < cnt && !err; i += AT_ONCE) {
		pthread_mutex_lock(&p->lock);
		err = code_list__apply(l, i, i + AT_ONCE < cnt ? i + AT_ONCE : cnt, s->map, NULL);
		pthread_mutex_unlock(&p->lock);
	}
	p->adding = false;
	return err;
}

static int processcode_source_read_part(struct process_code *p, size_t kind, uint64_t end,
					bool *more)
{
	struct code_source *s = &p->sources[kind];
	const struct code_file file = { kind, p->tgid, s->fd, end, p->workers };
	struct code_list list;
	int err = code_task__read(&file, &s->at, &list, more);
	int add_err = processcode_source_add(p, kind, &list);

	code_list__free(&list);
	return err ? err : add_err;
}

/* Reads the file up to the offset `end`, or one turn of it. Reads all of a recorded process's. */
static void processcode_source_read_more(struct process_code *p, size_t kind, uint64_t end)
{
	struct code_source *s = &p->sources[kind];
	uint64_t turn_end = p->owner.told ? end : s->at.off + turn_sz[kind];
	bool more = false;
	int err = 0;

	if (!s->map) {
		pthread_mutex_lock(&p->lock);
		s->map = codemap__new();
		pthread_mutex_unlock(&p->lock);
	}
	do {
		if (s->map)
			err = processcode_source_read_part(p, kind, end, &more);
	} while (more && !err && s->at.off < turn_end);
	p->failed |= workers__failed(err);
	s->err = workers__failed(err) ? 0 : err;
	s->read_sz = more || err ? NOT_ALL : end;
}

/* Reads the new part of the file, or all of it if it has started over. */
static void processcode_source_read(struct process_code *p, size_t kind)
{
	struct code_source *s = &p->sources[kind];
	struct stat st;
	uint64_t end;

	if (s->fd < 0 || fstat(s->fd, &st) != 0 || s->err)
		return;
	end = (uint64_t)st.st_size;
	if (end == s->read_sz)
		return;
	if (end > s->at.off) {
		processcode_source_read_more(p, kind, end);
		if (s->err != -ESTALE)
			return;
	}
	processcode_source_restart(p, kind);
	processcode_source_read_more(p, kind, end);
}

/* A removed text may be followed by another one of that name. A dump may be removed as soon as it
 * is mapped. */
static void processcode_close_removed_map(struct process_code *p)
{
	const struct code_source *s = &p->sources[CODE_MAP];
	struct stat st;

	if (s->fd < 0 || fstat(s->fd, &st) != 0 || st.st_nlink > 0)
		return;
	pthread_mutex_lock(&p->lock);
	processcode_source_close(p, CODE_MAP);
	pthread_mutex_unlock(&p->lock);
}

/* ---- the process --------------------------------------------------------------------------------
 */

static int processcode_open_proc(const struct process_code *p)
{
	return p->proc ? open(p->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* A process that has ended is known only by its records. */
static void processcode_open_owner(struct process_code *p)
{
	int proc = processcode_open_proc(p),
	    err = proc < 0 ? -1 : jit_owner__open(&p->owner, proc, p->tgid);

	if (err && p->root)
		jit_owner__open_recorded(&p->owner, p->root, p->tgid);
	if (proc >= 0)
		close(proc);
	p->opened = true;
}

/* IDs are reused: the code of an ended process stays until another process has its ID. */
static bool processcode_is_another(const struct process_code *p)
{
	int proc = jit_owner__lives(&p->owner) ? -1 : processcode_open_proc(p);
	bool exists = proc >= 0 && jit_owner__exists(proc, p->tgid);

	if (proc >= 0)
		close(proc);
	return exists;
}

/* Searches missing files, but rarely: reading the mappings of a large process takes milliseconds.
 */
static void processcode_search_files(struct process_code *p)
{
	struct code_source *dump = &p->sources[CODE_DUMP], *map = &p->sources[CODE_MAP];
	uint64_t begin_ns = monotonic__ns(), rest_ns;

	if ((dump->fd >= 0 && map->fd >= 0) || begin_ns < p->search_ns ||
	    !jit_owner__lives(&p->owner))
		return;
	if (dump->fd < 0)
		dump->fd = jit_owner__open_dump(&p->owner, p->told);
	if (map->fd < 0)
		map->fd = jit_owner__open_map(&p->owner);
	rest_ns = processcode_rest_since(begin_ns);
	p->search_ns = begin_ns + (rest_ns > SEARCH_NS ? rest_ns : SEARCH_NS);
}

static void processcode_warn_of_large_map(struct process_code *p)
{
	if (!p->sources[CODE_MAP].overflowed || p->warned)
		return;
	log__warn("process %u: its perf map has too many functions; the oldest ones have no names",
		  p->tgid);
	p->warned = true;
}

/* A file may be large at first. A file that keeps growing quickly may be an attack, so its reads
 * are limited to their share. */
static void processcode_read_files(struct process_code *p)
{
	uint64_t begin_ns = monotonic__ns(), rest_ns;
	bool first = false;

	p->failed = false;
	for (size_t i = 0; i < CODE_FORMAT_CNT; i++) {
		first |= p->sources[i].fd >= 0 && !p->sources[i].map;
		processcode_source_read(p, i);
	}
	processcode_warn_of_large_map(p);
	rest_ns = processcode_rest_since(begin_ns);
	if (p->failed)
		rest_ns = ALONE_NS;
	else if (first || rest_ns <= CHEAP_NS * SHARE)
		rest_ns = 0;
	pthread_mutex_lock(&p->lock);
	if (!p->discard)
		p->again_ns = rest_ns ? begin_ns + rest_ns : 0;
	pthread_mutex_unlock(&p->lock);
}

/* Reading the list reads the mappings, too. */
static void processcode_read_list(struct process_code *p)
{
	uint64_t begin_ns = monotonic__ns();

	if (begin_ns < p->list_ns)
		return;
	if (gdb_jit__read(p->listed, &p->owner))
		p->list_ns = begin_ns + processcode_rest_since(begin_ns);
	else
		p->list_ns = begin_ns + ALONE_NS;
}

/* ---- reading ------------------------------------------------------------------------------------
 */

static uint32_t processcode_names_generation(const struct process_code *p)
{
	uint32_t reused = 0;
	bool names = false;

	for (size_t i = 0; i < CODE_FORMAT_CNT; i++) {
		const struct codemap *m = p->sources[i].map;

		names |= m != NULL;
		reused += m ? codemap__reused(m) : 0;
	}
	return names ? (reused + (p->reloaded << 20)) % (UINT32_MAX - 1) + 1 : 0;
}

static void processcode_empty(struct process_code *p)
{
	for (size_t i = 0; i < CODE_FORMAT_CNT; i++)
		processcode_source_close(p, i);
	gdb_jit__forget(p->listed);
	p->read_ns = 0;
	p->has_list = p->discard = false;
}

/* Must hold the lock, and must not be called during a read. */
static void processcode_report_content(struct process_code *p)
{
	size_t sz = gdb_jit__sz(p->listed);

	for (size_t i = 0; i < CODE_FORMAT_CNT; i++)
		sz += p->sources[i].map ? codemap__sz(p->sources[i].map) : 0;
	p->sz = sz;
	p->none = (p->has_list || p->owner.told) && p->sources[CODE_DUMP].fd < 0 &&
		  !gdb_jit__cnt(p->listed);
	p->generation = processcode_names_generation(p);
}

/* Must hold the lock. */
static void processcode_finish(struct process_code *p)
{
	p->reading = false;
	if (p->discard)
		processcode_empty(p);
	processcode_report_content(p);
	bell__ring(&p->read);
}

bool process_code__begin(struct process_code *p, uint64_t since_ns)
{
	uint64_t now_ns;

	if (p->reading || p->gone || since_ns < p->read_ns || (p->owner.told && p->read_ns))
		return false;
	now_ns = monotonic__ns();
	if (now_ns < p->again_ns)
		return false;
	p->reading = true;
	p->reading_ns = now_ns;
	return true;
}

/* Returns whether the list must be read. */
static bool processcode_start_read(struct process_code *p)
{
	bool list;

	pthread_mutex_lock(&p->lock);
	list = p->wants_list;
	p->wants_list = false;
	p->has_list |= list;
	p->read_ns = monotonic__ns();
	pthread_mutex_unlock(&p->lock);
	return list;
}

void process_code__read(struct process_code *p)
{
	bool list = processcode_start_read(p);

	if (!p->opened)
		processcode_open_owner(p);
	else if (processcode_is_another(p))
		p->gone = true;
	if (!p->gone) {
		processcode_close_removed_map(p);
		processcode_search_files(p);
		if (list)
			processcode_read_list(p);
		processcode_read_files(p);
	}
	pthread_mutex_lock(&p->lock);
	processcode_finish(p);
	pthread_mutex_unlock(&p->lock);
}

void process_code__undone(struct process_code *p)
{
	pthread_mutex_lock(&p->lock);
	p->read_ns = monotonic__ns();
	p->again_ns = p->read_ns + PROCESS_CODE_WAIT_NS;
	processcode_finish(p);
	pthread_mutex_unlock(&p->lock);
}

void process_code__empty(struct process_code *p, uint64_t rest_ns)
{
	pthread_mutex_lock(&p->lock);
	p->discard = true;
	p->sz = 0;
	if (!p->reading) {
		processcode_empty(p);
		processcode_report_content(p);
	}
	p->again_ns = monotonic__ns() + rest_ns;
	pthread_mutex_unlock(&p->lock);
}

/* ---- looking up ---------------------------------------------------------------------------------
 */

/* Threads other than the reader hold the lock only for a look-up. */
bool process_code__lock_now(struct process_code *p)
{
	if (pthread_mutex_trylock(&p->lock) == 0)
		return true;
	return !p->adding && pthread_mutex_lock(&p->lock) == 0;
}

static bool processcode_find_in(const struct code_source *s, const struct jit_place *place,
				struct code *c)
{
	return s->map && codemap__find(s->map, place->addr, place->time_ns, c);
}

bool process_code__find_name(const struct process_code *p, const struct jit_place *place,
			     struct code *c)
{
	return processcode_find_in(&p->sources[CODE_DUMP], place, c) ||
	       processcode_find_in(&p->sources[CODE_MAP], place, c);
}

bool process_code__find_frames(const struct process_code *p, const struct jit_place *place,
			       struct code *c)
{
	const struct code_source *dump = &p->sources[CODE_DUMP];

	if (!processcode_find_in(dump, place, c))
		return gdb_jit__find(p->listed, place->addr, c);
	c->machine = dump->at.machine;
	c->frames_at = frames_image__address(c);
	return true;
}

uint32_t process_code__frames_generation(const struct process_code *p)
{
	const struct codemap *m = p->sources[CODE_DUMP].map;

	return (m ? codemap__reused(m) : 0) + gdb_jit__generation(p->listed) + (p->reloaded << 20);
}

/* ---- creation -----------------------------------------------------------------------------------
 */

/* Reading a process may hang: its memory may be a file of its own FUSE server. */
static void processcode_set_lane(struct process_code *p)
{
	int proc = processcode_open_proc(p);

	if (proc < 0)
		return;
	p->lane = crowd__lane(proc, p->tgid);
	p->crowd = crowd__of(proc, p->tgid);
	close(proc);
}

static bool processcode_copy(char **to, const char *s)
{
	*to = s ? strdup(s) : NULL;
	return !s || *to;
}

struct process_code *process_code__new(const struct jit_places *places, uint32_t tgid,
				       const char *told)
{
	struct process_code *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->refs = 1;
	p->tgid = tgid;
	p->owner.proc = p->owner.root = -1;
	p->workers = workers__get(places->workers);
	for (size_t i = 0; i < CODE_FORMAT_CNT; i++)
		p->sources[i].fd = -1;
	priority__init_lock(&p->lock);
	p->listed = gdb_jit__new(&p->lock, p->workers);
	if (p->listed && processcode_copy(&p->proc, places->proc) &&
	    processcode_copy(&p->root, places->root) && processcode_copy(&p->told, told)) {
		processcode_set_lane(p);
		return p;
	}
	process_code__put(p);
	return NULL;
}

struct process_code *process_code__get(struct process_code *p)
{
	p->refs++;
	return p;
}

void process_code__put(struct process_code *p)
{
	if (!p || --p->refs > 0)
		return;
	for (size_t i = 0; i < CODE_FORMAT_CNT; i++)
		processcode_source_close(p, i);
	gdb_jit__free(p->listed);
	jit_owner__close(&p->owner);
	pthread_mutex_destroy(&p->lock);
	free(p->proc);
	free(p->root);
	workers__put(p->workers);
	free(p->told);
	free(p);
}
