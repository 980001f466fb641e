// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * walks FILE…: what a frame costs, for this unwinder and others, on the snapshots of
 * record_snapshots. Every figure is CPU time of this thread, the median of ROUNDS rounds in which
 * all unwinders take turns. Lines of output, tab-separated:
 *
 *     warm    NAME SAMPLES FRAMES BYTES    ns per frame of each unwinder: one program's snapshots
 *     l2      NAME …                       as many of them as fit into the second-level cache
 *     dram    all …                        all programs' in a mix, in memory only
 *     first   NAME …                       microseconds of the first 100 walks, all included
 *     root    NAME SAMPLES, and how many reach the root
 */
#include <sys/wait.h>
#include <x86intrin.h>

#include "warmpages.h"
#include "process/maps.h"
#include "walkers.h"

#define ROUNDS	    7
#define FIRST_CNT   100
#define FIRST_TRIES 41
#define MET_MAX	    512
#define STACK_SZ    (128 << 10)
#define HEAP_SZ	    (100 << 10) /* malloc() keeps all of it when it is freed */
#define L2_WALKS    4000	/* minimum per round */
#define CHUNK	    64		/* walks between two flushes of the caches */
#define PATIENCE_NS 60000000000 /* for tables */
#define NOBODY	    5000000	/* the kernel does not assign process ids from here on */

/* ---- measuring ----------------------------------------------------------------------------------
 */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t cnt)
{
	qsort(v, cnt, sizeof(*v), compare);
	return v[cnt / 2];
}

static void forget(const struct work *w, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const char *at = (const char *)w[i].event;

		for (size_t off = 0; off < sizeof(*w[i].event) + w[i].event->ustack_sz; off += 64)
			_mm_clflush(at + off);
	}
	_mm_mfence();
}

struct plan {
	const char *what, *name;
	const struct work *work;
	size_t cnt, repeat;
	bool cold;
};

static double cold_round(struct bench *b, const struct plan *p, enum who who)
{
	uint64_t spent_ns = 0, from_ns;
	size_t frames = 0;

	for (size_t i = 0; i < p->cnt; i += CHUNK) {
		size_t n = p->cnt - i < CHUNK ? p->cnt - i : CHUNK;

		forget(p->work + i, n);
		from_ns = cpu_ns();
		frames += walkers[who](b, p->work + i, n);
		spent_ns += cpu_ns() - from_ns;
	}
	return (double)spent_ns / (double)frames;
}

/* Reading the clock takes as long as some walks. */
static double warm_round(struct bench *b, const struct plan *p, enum who who)
{
	uint64_t from_ns = cpu_ns();
	size_t frames = 0;

	for (size_t r = 0; r < p->repeat; r++)
		frames += walkers[who](b, p->work, p->cnt);
	return (double)(cpu_ns() - from_ns) / (double)frames;
}

static double one_round(struct bench *b, const struct plan *p, enum who who)
{
	if (p->repeat > 1) /* the others have used the caches */
		walkers[who](b, p->work, p->cnt);
	return p->cold ? cold_round(b, p, who) : warm_round(b, p, who);
}

/* Returns the number of frames, after all files have been read. */
static size_t settle(struct bench *b, const struct plan *p)
{
	size_t frames;

	do {
		jobs__wait(b->jobs, PATIENCE_NS);
		frames = by_us(b, p->work, p->cnt);
	} while (jobs__pending(b->jobs));
	return frames;
}

static void measure(struct bench *b, const struct plan *p)
{
	double ns[WHO_CNT][ROUNDS];
	size_t bytes = 0, frames = settle(b, p);

	for (size_t i = 0; i < p->cnt; i++)
		bytes += p->work[i].event->ustack_sz;
	for (size_t r = 0; r < ROUNDS; r++)
		for (size_t w = 0; w < who_cnt(); w++)
			ns[(w + r) % who_cnt()][r] = one_round(b, p, (w + r) % who_cnt());
	printf("%s\t%s\t%zu\t%.1f\t%zu", p->what, p->name, p->cnt, (double)frames / (double)p->cnt,
	       bytes / p->cnt);
	for (size_t w = 0; w < who_cnt(); w++)
		printf("\t%s=%.2f", names[w], median(ns[w], ROUNDS));
	printf("\n");
	fflush(stdout);
}

/* Half of the cache: it also holds tables, mappings and traces. */
static size_t l2_sz(void)
{
	long sz = sysconf(_SC_LEVEL2_CACHE_SIZE);

	return sz > 0 ? (size_t)sz / 2 : 256 << 10;
}

static void measure_set(struct bench *b, struct set *s)
{
	struct work *w = must(calloc(s->snaps.cnt, sizeof(*w)));
	struct plan p = {
		.what = "warm", .name = s->snaps.name, .work = w, .cnt = s->snaps.cnt, .repeat = 1
	};
	size_t fit = 0, bytes = 0;

	for (size_t i = 0; i < s->snaps.cnt; i++)
		w[i] = (struct work){ s, s->snaps.events[i] };
	measure(b, &p);
	while (fit < s->snaps.cnt &&
	       (bytes += sizeof(struct event) + s->snaps.events[fit]->ustack_sz) <= l2_sz())
		fit++;
	p.what = "l2";
	p.cnt = fit;
	p.repeat = L2_WALKS / fit + 1;
	measure(b, &p);
	free(w);
}

static void measure_mix(struct bench *b, struct set *sets, size_t set_cnt)
{
	struct work *w;
	size_t cnt = 0;
	struct plan p = { .what = "dram", .name = "all", .repeat = 1, .cold = true };

	for (size_t i = 0; i < set_cnt; i++)
		cnt += sets[i].snaps.cnt;
	w = must(calloc(cnt, sizeof(*w)));
	for (size_t i = 0; i < set_cnt; i++)
		for (size_t k = 0; k < sets[i].snaps.cnt; k++)
			w[p.cnt++] = (struct work){ &sets[i], sets[i].snaps.events[k] };
	srandom(1);
	for (size_t i = cnt; i > 1; i--) {
		size_t k = (size_t)random() % i;
		struct work swap = w[i - 1];

		w[i - 1] = w[k];
		w[k] = swap;
	}
	p.work = w;
	measure(b, &p);
	free(w);
}

static void print_roots(struct bench *b, struct set *s)
{
	size_t roots = 0, truncated = 0;

	for (size_t i = 0; i < s->snaps.cnt; i++) {
		struct sample sample;

		event__sample(s->snaps.events[i], &sample);
		unwinder__walk(b->unwinder, s->process, &sample, &b->traces[0]);
		roots += b->traces[0].status == UNWIND_ROOT;
		truncated += b->traces[0].status == UNWIND_TRUNCATED;
	}
	printf("root\t%s\t%zu\t%zu\ttruncated=%zu\n", s->snaps.name, s->snaps.cnt, roots,
	       truncated);
}

/* ---- the first walks ----------------------------------------------------------------------------
 */

/* The thread then has the memory that it needs. */
static void allocate(struct job *job)
{
	(void)job;
	free(must(malloc(1)));
}

static void nothing(struct job *job)
{
	(void)job;
}

/* Waits until a thread is ready. */
static struct jobs *start_jobs(void)
{
	static struct job job = { .rank = JOB_FIRST, .work = allocate, .done = nothing };
	struct jobs *jobs = must(jobs__new());

	jobs__submit(jobs, &job);
	jobs__wait(jobs, PATIENCE_NS);
	return jobs;
}

static void populate(const struct record_mmap *m, void *arg)
{
	(void)arg;
	madvise((void *)(uintptr_t)m->start, m->len, MADV_POPULATE_READ);
}

/* After a fork, mapped files are not populated; in a program they are. */
static void populate_code(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || maps__read(fd, populate, NULL))
		die("/proc/self/maps");
	close(fd);
}

/* Populates the stack to the depth of earlier calls. */
static __attribute__((noinline)) void populate_stack(void)
{
	volatile char bytes[STACK_SZ];

	for (size_t i = 0; i < sizeof(bytes); i += 4096)
		bytes[i] = 0;
}

/* Populates heap memory, as if it had been used before. */
static void populate_heap(void)
{
	void *bytes = must(malloc(HEAP_SZ));

	memset(bytes, 1, HEAP_SZ);
	__asm__ volatile("" : : "r"(bytes) : "memory");
	free(bytes);
}

/* Sets up what a running profiler already has. */
static void start(struct bench *b, enum who who)
{
	populate_code();
	populate_stack();
	populate_heap();
	allocate(NULL);
	b->table = must(process_table__new(&by_records));
	if (who == OURS) {
		b->jobs = start_jobs();
		b->unwinder = new_unwinder(b->jobs);
	} else if (who == LIBDWFL) {
		b->naive = must(libdwflwalk__new());
	} else if (who == FRAMEHOP) {
		b->framehop_cache = framehop_cache_new();
	}
}

static void meet(struct set *s, enum who who)
{
	if (who == LIBUNWIND)
		s->libunwind = libunwind__new(s->process);
	else if (who == FRAMEHOP)
		s->framehop = framehop_process(s->process);
}

/* Waits for files, like stacktrace. */
static void walk_patiently(struct bench *b, const struct set *s, const struct event *e)
{
	struct sample sample;

	event__sample(e, &sample);
	while (!unwinder__try(b->unwinder, s->process, &sample, &b->traces[0]))
		if (!jobs__wait(b->jobs, PATIENCE_NS))
			die("a file");
}

static void note_met(struct set *s)
{
	const struct process *p = s->process;
	size_t cnt = 0;

	for (size_t i = 0; i < p->map_cnt && cnt + 1 < MET_MAX; i++)
		if (!p->maps[i].opening)
			s->met[cnt++] = p->maps[i].start;
	s->met[cnt] = 0;
}

/*
 * Runs in a child process; measures the CPU time of all its threads, from the first look at the
 * program. Our unwinder gets all mappings, others only those on the stacks: some would open all
 * files. Unwinders that open files themselves get the list of mappings.
 */
static void walk_first(struct set *s, enum who who)
{
	struct bench *b = must(calloc(1, sizeof(*b)));
	size_t cnt = s->snaps.cnt < FIRST_CNT ? s->snaps.cnt : FIRST_CNT;
	uint64_t from_ns, ns;

	start(b, who);
	from_ns = process_cpu_ns();
	add_process(b->table, s, who == OURS ? NULL : s->met);
	if (who > LIBDWFL) {
		process__open(s->process);
		from_ns = process_cpu_ns();
	}
	meet(s, who);
	for (size_t i = 0; i < cnt; i++) {
		const struct event *e = s->snaps.events[i];

		if (who == OURS && i + 1 < cnt)
			event__prefetch(s->snaps.events[i + 1]);
		if (who == OURS)
			walk_patiently(b, s, e);
		else
			walkers[who](b, &(struct work){ s, e }, 1);
	}
	ns = process_cpu_ns() - from_ns;
	if (who == OURS)
		note_met(s);
	_exit(write(3, &ns, sizeof(ns)) != sizeof(ns));
}

static double first_ns(struct set *s, enum who who)
{
	uint64_t ns = 0;
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		die("pipe");
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], 3);
		walk_first(s, who);
	}
	close(fds[1]);
	if (pid < 0 || read(fds[0], &ns, sizeof(ns)) != sizeof(ns))
		die("first walks");
	close(fds[0]);
	waitpid(pid, NULL, 0);
	return (double)ns;
}

static void bring(const struct record *r, void *arg)
{
	(void)arg;
	if (r->mmap.path[0] == '/')
		pagecache__bring(r->mmap.path);
}

static void measure_first(struct set *s)
{
	double ns[WHO_CNT][FIRST_TRIES];

	s->met = mmap(NULL, MET_MAX * sizeof(*s->met), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->met == MAP_FAILED)
		die("memory");
	snapset__maps(&s->snaps, bring, NULL);
	first_ns(s, OURS); /* fills it */
	for (size_t i = 0; i < FIRST_TRIES; i++)
		for (size_t w = 0; w < who_cnt(); w++)
			ns[(w + i) % who_cnt()][i] = first_ns(s, (w + i) % who_cnt());
	printf("first\t%s", s->snaps.name);
	for (size_t w = 0; w < who_cnt(); w++)
		printf("\t%s=%.0f", names[w], median(ns[w], FIRST_TRIES) / 1000);
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct bench *b = must(calloc(1, sizeof(*b)));
	struct set *sets = must(calloc((size_t)argc, sizeof(*sets)));
	size_t cnt = (size_t)argc - 1;

	for (size_t i = 0; i < cnt; i++) {
		sets[i].snaps = snapset__read(argv[i + 1], NOBODY + (uint32_t)i);
		measure_first(&sets[i]);
	}
	b->table = must(process_table__new(&by_records));
	b->jobs = must(jobs__new());
	b->unwinder = new_unwinder(b->jobs);
	b->naive = must(libdwflwalk__new());
	b->framehop_cache = framehop_walk ? framehop_cache_new() : NULL;
	for (size_t i = 0; i < cnt; i++) {
		add_process(b->table, &sets[i], NULL);
		process__open(sets[i].process);
		sets[i].libunwind = libunwind__new(sets[i].process);
		sets[i].framehop = framehop_walk ? framehop_process(sets[i].process) : NULL;
		print_roots(b, &sets[i]);
	}
	jobs__wait(b->jobs, PATIENCE_NS);
	for (size_t i = 0; i < cnt; i++)
		measure_set(b, &sets[i]);
	measure_mix(b, sets, cnt);
	return 0;
}
