// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"

#define LOOK_NS	  500000000
#define SWEEP_NS  5000000000
#define SWEEP_AGE 2  /* sweeps without use: 10 to 15 s */
#define JIT_AGE	  12 /* the same: 60 to 65 s, because reading a perf map costs more */
#define TRIM_NS	  10000000000
#define TRIM_SOON 1000000000 /* while there is too much */

/* Larger blocks are mappings of their own, which go back to the system at once. Without a fixed
 * threshold, glibc raises it to 32 MB when the first large block is freed. */
#define MMAP_THRESHOLD (256 << 10)
#define ARENA_MAX      4

struct memory {
	struct memory_owners owners;
	struct jobs *jobs;
	struct trim *trim; /* the running job, or NULL */
	int statm_fd;
	struct memory_stats stats;
	uint64_t looked_ns, swept_ns, trimmed_ns;
};

/* malloc_trim() takes milliseconds, for which the reader of the rings must not wait. */
struct trim {
	struct job job;
	struct memory *owner;
};

void memory__init_malloc(void)
{
	mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
	mallopt(M_ARENA_MAX, ARENA_MAX);
}

struct memory *memory__new(const struct memory_owners *owners, struct jobs *jobs, size_t max_sz)
{
	struct memory *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->owners = *owners;
	m->jobs = jobs;
	m->stats.max_sz = max_sz;
	m->statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (m->statm_fd >= 0)
		return m;
	free(m);
	return NULL;
}

void memory__free(struct memory *m)
{
	if (!m)
		return;
	close(m->statm_fd);
	free(m);
}

void memory__set_max(struct memory *m, size_t max_sz)
{
	m->stats.max_sz = max_sz;
}

static void trim_work(struct job *job)
{
	(void)job;
	malloc_trim(0);
}

static void trim_done(struct job *job)
{
	struct trim *t = (struct trim *)(void *)job;

	t->owner->trim = NULL;
	free(t);
}

static void trim_start(struct memory *m, uint64_t now_ns)
{
	struct trim *t = m->trim ? NULL : calloc(1, sizeof(*t));

	if (!t)
		return;
	m->trim = t;
	m->trimmed_ns = now_ns;
	t->owner = m;
	t->job = (struct job){ .rank = JOB_LAST, .work = trim_work, .done = trim_done };
	jobs__submit(m->jobs, &t->job);
}

/* Returns the anonymous memory in RAM. The rings are shared memory. */
static size_t memory_anonymous_sz(const struct memory *m)
{
	unsigned long resident, shared;
	char text[128];
	ssize_t sz = pread(m->statm_fd, text, sizeof(text) - 1, 0);

	if (sz <= 0)
		return 0;
	text[sz] = '\0';
	if (sscanf(text, "%*u %lu %lu", &resident, &shared) != 2 || shared > resident)
		return 0;
	return (resident - shared) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Frees names and rules first: the functions of programs, and what programs publish of their code,
 * cost more to read again. Returns the bytes freed. */
static size_t memory_evict(struct memory *m, size_t sz)
{
	size_t freed = elf_cache__shrink(m->owners.files, sz);

	if (freed < sz)
		freed += runtimes__shrink(m->owners.runtimes, sz - freed);
	return freed < sz ? freed + jit__shrink(m->owners.jit, sz - freed) : freed;
}

/* Above the limit, free memory goes back first; then data goes until an eighth is free. */
static void memory_enforce(struct memory *m, uint64_t now_ns)
{
	size_t now_sz = m->stats.anonymous_sz, max_sz = m->stats.max_sz;
	bool over = now_sz > max_sz;

	if (over && m->trimmed_ns && now_ns - m->trimmed_ns < 2 * TRIM_SOON && !m->trim)
		m->stats.evicted_sz += memory_evict(m, now_sz - max_sz + max_sz / 8);
	if (now_ns - m->trimmed_ns >= (over ? TRIM_SOON : TRIM_NS))
		trim_start(m, now_ns);
}

void memory__tick(struct memory *m, uint64_t now_ns)
{
	if (!m || now_ns - m->looked_ns < LOOK_NS)
		return;
	m->looked_ns = now_ns;
	m->stats.anonymous_sz = memory_anonymous_sz(m);
	if (now_ns - m->swept_ns >= SWEEP_NS) {
		m->swept_ns = now_ns;
		runtimes__sweep(m->owners.runtimes);
		m->stats.unused_sz += jit__sweep(m->owners.jit, JIT_AGE);
		m->stats.unused_sz += elf_cache__sweep(m->owners.files, SWEEP_AGE);
	}
	memory_enforce(m, now_ns);
}

void memory__stats(const struct memory *m, struct memory_stats *out)
{
	*out = m->stats;
	elf_cache__sizes(m->owners.files, out->slot_sz);
	out->runtimes_sz = runtimes__sz(m->owners.runtimes);
	out->jit_sz = jit__sz(m->owners.jit);
}
