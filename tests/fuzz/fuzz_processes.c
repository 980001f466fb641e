// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes that fork, exec, map and exit in any order: the process table must have what a simple
 * model has, which keeps the file and the offset of each page. The first byte limits the number of
 * processes; then the model cannot tell which ones are forgotten, and only the order of mappings is
 * checked. Each step is a byte that selects it, and its operands.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>

#include "base/cursor.h"
#include "process/process.h"

#define PID_CNT	  8
#define PAGE_CNT  64
#define PAGE_SZ	  0x1000ull
#define BASE	  0x10000ull
#define OFFSET_SZ 0x100000ull

static const char *const paths[] = { "/nothing/a", "/nothing/b", "//anon", "[heap]",
				     "/nothing/c (deleted)" };
static const char *const shown[] = { "/nothing/a", "/nothing/b", "//anon", "[heap]", "/nothing/c" };
#define PATH_CNT (sizeof(paths) / sizeof(*paths))

struct page {
	uint8_t path; /* index plus 1; 0: not mapped */
	uint64_t off;
};

struct model {
	struct page pages[PID_CNT][PAGE_CNT];
	bool ended[PID_CNT]; /* the table forgets it some time later */
};

struct fuzzed {
	struct process_table *table;
	struct cursor in;
	struct model model;
	uint64_t time_ns;
	bool limited;
};

static uint32_t take_pid(struct fuzzed *f)
{
	return 1 + cursor__u8(&f->in) % PID_CNT;
}

static void apply(struct fuzzed *f, struct record r)
{
	f->time_ns += 1000;
	r.time_ns = f->time_ns;
	process_table__apply(f->table, &r);
}

static void step_map(struct fuzzed *f)
{
	struct record r = { .type = RECORD_MMAP, .tgid = take_pid(f) };
	size_t first = cursor__u8(&f->in) % PAGE_CNT, cnt = 1 + cursor__u8(&f->in) % 16;
	size_t path = cursor__u8(&f->in) % PATH_CNT;

	cnt = cnt < PAGE_CNT - first ? cnt : PAGE_CNT - first;
	r.tid = r.tgid;
	r.mmap = (struct record_mmap){ .start = BASE + first * PAGE_SZ,
				       .len = cnt * PAGE_SZ,
				       .pgoff = cursor__u8(&f->in) * PAGE_SZ,
				       .prot = cursor__u8(&f->in) & PROT_EXEC,
				       .path = paths[path] };
	apply(f, r);
	for (size_t i = 0; i < cnt && r.mmap.prot; i++)
		f->model.pages[r.tgid - 1][first + i] =
			(struct page){ (uint8_t)(path + 1), r.mmap.pgoff + i * PAGE_SZ };
}

/* A new process, or a new thread. */
static void step_fork(struct fuzzed *f)
{
	uint32_t parent = take_pid(f), child = take_pid(f);
	struct model *m = &f->model;

	apply(f, (struct record){ .type = RECORD_FORK,
				  .tgid = child,
				  .tid = child,
				  .fork = { parent, parent } });
	if (parent == child)
		return;
	memcpy(m->pages[child - 1], m->pages[parent - 1], sizeof(m->pages[0]));
	m->ended[child - 1] = m->ended[parent - 1];
}

static void step_comm(struct fuzzed *f)
{
	struct record r = { .type = RECORD_COMM, .tgid = take_pid(f) };

	r.comm.name = "name";
	r.comm.exec = cursor__u8(&f->in) & 1;
	r.tid = r.tgid;
	apply(f, r);
	if (!r.comm.exec)
		return;
	memset(f->model.pages[r.tgid - 1], 0, sizeof(f->model.pages[0]));
	f->model.ended[r.tgid - 1] = false;
}

/* A thread or the whole process ends. */
static void step_exit(struct fuzzed *f)
{
	uint32_t tgid = take_pid(f), tid = tgid + (cursor__u8(&f->in) & 1);

	apply(f, (struct record){ .type = RECORD_EXIT, .tgid = tgid, .tid = tid });
	f->model.ended[tgid - 1] |= tid == tgid;
}

/* Tasks without ids in this namespace. */
static void step_strange(struct fuzzed *f)
{
	uint32_t tgid = cursor__u8(&f->in) & 1 ? UINT32_MAX : 0;
	struct record r = { .type = cursor__u8(&f->in) % (RECORD_LOST + 1), .tgid = tgid };

	if (r.type == RECORD_MMAP)
		r.mmap = (struct record_mmap){ .len = PAGE_SZ, .prot = PROT_EXEC, .path = "/x" };
	apply(f, r);
}

static void step_wait(struct fuzzed *f)
{
	f->time_ns += cursor__u8(&f->in) * 1000000000ull;
}

static void check_page(const struct fuzzed *f, const struct process *p, size_t i)
{
	const struct page *page = &f->model.pages[p->tgid - 1][i];
	uint64_t addr = BASE + i * PAGE_SZ + 8;
	const struct mapping *m = process__find(p, addr);

	if (f->model.ended[p->tgid - 1] && !m)
		return;
	FUZZ_CHECK(!m == !page->path);
	if (!m)
		return;
	FUZZ_CHECK(mapping__holds(m, addr));
	FUZZ_CHECK(addr - m->start + m->pgoff == page->off + 8);
	FUZZ_CHECK(strcmp(m->path, shown[page->path - 1]) == 0);
}

static void check_order(const struct process *p)
{
	for (size_t i = 0; i < p->map_cnt; i++)
		FUZZ_CHECK(p->maps[i].start < p->maps[i].end &&
			   (!i || p->maps[i - 1].end <= p->maps[i].start));
}

static void step_look(struct fuzzed *f)
{
	const struct process *p = process_table__get(f->table, take_pid(f));

	FUZZ_CHECK(p);
	check_order(p);
	for (size_t i = 0; i < PAGE_CNT && !f->limited; i++)
		check_page(f, p, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	static void (*const steps[])(struct fuzzed *) = {
		step_map, step_fork, step_comm, step_exit, step_look, step_strange, step_wait,
	};
	struct fuzzed f = { .in = cursor__on(data, sz) };
	struct process_options o = { .told = true };

	o.process_max = cursor__u8(&f.in) % 8;
	f.limited = o.process_max > 0;
	f.table = process_table__new(&o);
	FUZZ_CHECK(f.table);
	while (!f.in.err && cursor__left(&f.in) > 0)
		steps[cursor__u8(&f.in) % (sizeof(steps) / sizeof(*steps))](&f);
	process_table__free(f.table);
	return 0;
}
