/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes under the shadow stack: their mappings, instructions and function names. The
 * unwinder's process table reads a folder of links to /proc/PID, one for each process, so that all
 * of them can be read again without reading the whole of /proc.
 */
#ifndef TOOLS_SHADOW_PROC_H
#define TOOLS_SHADOW_PROC_H

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/walks.h"
#include "must.h"
#include "process/process.h"
#include "shadow_code.h"

#define PROC_NOTES (1 << 16) /* addresses of code with cached data */

struct proc_range {
	uint64_t start, end;
	bool code;
};

/* Cached data about an address of code. */
struct proc_note {
	uint64_t pc;
	uint8_t kind;	/* enum code_kind */
	bool has_kind;	/* .kind is known */
	bool has_match; /* the next two are known */
	bool counts;	/* the user wants to count the function or its file */
	bool begins;	/* the function of --from */
};

struct proc {
	struct proc *next;
	uint32_t tgid;
	pid_t tid;  /* a stopped thread, through which memory is read */
	bool stale; /* its mappings may have changed */
	struct proc_range *ranges;
	size_t range_cnt;
	uint64_t code_hash; /* of the executable mappings */
	struct proc_note *notes;
};

/* The functions and files that the user wants to count; NULL: all. */
struct proc_choice {
	const char *function; /* prefix of its name */
	const char *file;     /* substring of its path */
	const char *from;     /* function to begin at */
};

struct procs {
	struct proc *first;
	struct process_table *table;
	struct proc_choice choice;
	char folder[64];
};

static inline void procs__init(struct procs *ps, const struct proc_choice *choice)
{
	const char *tmp = getenv("TMPDIR");

	*ps = (struct procs){ .choice = *choice };
	snprintf(ps->folder, sizeof(ps->folder), "%.40s/shadow-XXXXXX", tmp ? tmp : "/tmp");
	must(mkdtemp(ps->folder));
	ps->table = process_table__new(&(struct process_options){ .proc = ps->folder });
	must(ps->table);
}

static inline void procs__link_path(const struct procs *ps, uint32_t tgid, char path[96])
{
	snprintf(path, 96, "%s/%u", ps->folder, tgid);
}

static inline struct proc *procs__get(struct procs *ps, uint32_t tgid)
{
	char link[96], target[32];
	struct proc *p;

	for (p = ps->first; p; p = p->next)
		if (p->tgid == tgid)
			return p;
	p = calloc(1, sizeof(*p));
	must(p && (p->notes = calloc(PROC_NOTES, sizeof(*p->notes))));
	p->tgid = tgid;
	p->stale = true;
	p->next = ps->first;
	ps->first = p;
	procs__link_path(ps, tgid, link);
	snprintf(target, sizeof(target), "/proc/%u", tgid);
	must(symlink(target, link) == 0);
	return p;
}

static inline void procs__drop(struct procs *ps, struct proc *p)
{
	struct proc **at = &ps->first;
	char link[96];

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	procs__link_path(ps, p->tgid, link);
	unlink(link);
	free(p->ranges);
	free(p->notes);
	free(p);
}

/* Call it after jobs__free() and unwinder__free(). */
static inline void procs__fini(struct procs *ps)
{
	while (ps->first)
		procs__drop(ps, ps->first);
	process_table__free(ps->table);
	rmdir(ps->folder);
}

/* ---- mappings ---------------------------------------------------------------------------------*/

static inline uint64_t proc__hash(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return hash;
}

static inline void proc__read_maps(struct proc *p, FILE *maps)
{
	char line[PATH_MAX + 256], perms[8];
	unsigned long start, end;

	p->range_cnt = 0;
	p->code_hash = 0xcbf29ce484222325;
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s", &start, &end, perms) != 3)
			continue;
		p->ranges = realloc(p->ranges, (p->range_cnt + 1) * sizeof(*p->ranges));
		must(p->ranges);
		p->ranges[p->range_cnt++] = (struct proc_range){ start, end, perms[2] == 'x' };
		if (perms[2] == 'x')
			p->code_hash = proc__hash(p->code_hash, line);
	}
}

/* Reads the mappings again; the unwinder's table does so if code was mapped or unmapped. */
static inline void proc__refresh(struct procs *ps, struct proc *p)
{
	uint64_t before = p->code_hash;
	char path[64];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", p->tid);
	maps = fopen(path, "r");
	if (!maps)
		return;
	proc__read_maps(p, maps);
	fclose(maps);
	p->stale = false;
	if (p->code_hash == before)
		return;
	memset(p->notes, 0, PROC_NOTES * sizeof(*p->notes));
	must(process_table__scan(ps->table) == 0);
}

static inline const struct proc_range *proc__find_range(const struct proc *p, uint64_t addr)
{
	size_t low = 0, high = p->range_cnt;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (p->ranges[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->range_cnt && p->ranges[low].start <= addr ? &p->ranges[low] : NULL;
}

/* Returns the mapping with addr. Stacks grow without a system call, so it tries twice. */
static inline const struct proc_range *proc__range(struct procs *ps, struct proc *p, uint64_t addr)
{
	const struct proc_range *r = p->stale ? NULL : proc__find_range(p, addr);

	if (r)
		return r;
	proc__refresh(ps, p);
	return proc__find_range(p, addr);
}

/* ---- memory -----------------------------------------------------------------------------------*/

/* Returns the number of bytes read. */
static inline size_t proc__read(const struct proc *p, uint64_t addr, void *to, size_t sz)
{
	struct iovec local = { to, sz }, remote = { (void *)addr, sz };
	ssize_t got = process_vm_readv(p->tid, &local, 1, &remote, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

static inline uint64_t proc__word(const struct proc *p, uint64_t addr)
{
	uint64_t word = 0;

	return proc__read(p, addr, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

/* ---- code -------------------------------------------------------------------------------------*/

static inline const struct process *proc__process(const struct procs *ps, const struct proc *p)
{
	const struct process *process = process_table__get(ps->table, p->tgid);

	must(process);
	return process;
}

static inline struct proc_note *proc__note(struct proc *p, uint64_t pc)
{
	struct proc_note *n = &p->notes[pc * 0x9e3779b97f4a7c15u >> 48];

	if (n->pc != pc)
		*n = (struct proc_note){ .pc = pc };
	return n;
}

/* Code outside files may change: it is read each time. */
static inline enum code_kind proc__kind(const struct procs *ps, struct proc *p, uint64_t pc)
{
	struct proc_note *n = proc__note(p, pc);
	uint8_t bytes[CODE_SZ] = { 0 };
	const struct mapping *m;

	if (n->has_kind)
		return n->kind;
	proc__read(p, pc, bytes, sizeof(bytes));
	m = process__find(proc__process(ps, p), pc);
	n->has_kind = m && m->kind == MAPPING_FILE;
	n->kind = (uint8_t)code__kind(bytes);
	return n->kind;
}

/* Returns the frame of an address of code, for walks__name(). */
static inline struct frame proc__frame(const struct procs *ps, const struct proc *p, uint64_t pc,
				       bool caller)
{
	return (struct frame){ .pc = pc,
			       .map = process__find(proc__process(ps, p), pc),
			       .flags = caller ? FRAME_CALLER : 0 };
}

static inline const char *proc__path(const struct frame *f)
{
	return f->map && f->map->path ? f->map->path : "?";
}

static inline const struct proc_note *proc__match(const struct procs *ps, struct proc *p,
						  uint64_t place)
{
	const struct proc_choice *c = &ps->choice;
	struct proc_note *n = proc__note(p, place);
	struct frame f;
	const char *name;

	if (n->has_match)
		return n;
	f = proc__frame(ps, p, place, false);
	name = c->function || c->from ? walks__name(&f) : "";
	n->has_match = true;
	n->counts = (!c->function || !strncmp(name, c->function, strlen(c->function))) &&
		    (!c->file || strstr(proc__path(&f), c->file));
	n->begins = c->from && !strcmp(name, c->from);
	return n;
}

#endif
