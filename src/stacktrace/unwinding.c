// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacktrace/unwinding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jobs.h"
#include "base/log.h"
#include "base/openfiles.h"
#include "cfi/framestask.h"
#include "cfi/scantask.h"
#include "cfi/tabletask.h"
#include "elf/addresstask.h"
#include "formats/itemstack.h"
#include "jit/codetask.h"
#include "jit/gdblisttask.h"
#include "jit/dumppaths.h"
#include "symbol/nametask.h"
#include "symbol/symtabtask.h"
#include "unwind/walkpolicy.h"

#define DOWNLOAD_PATIENCE_NS 90000000000
#define PROCESSES_MAX	     65536
#define STITCH_SZ	     (64u << 20) /* bytes of cached stacks */

/* A sample being walked. */
struct unwinding_slot {
	const struct item *item;
	struct process *process; /* NULL if there is nothing to walk */
	struct sample sample;
	uint64_t regs[MACHINE_REG_MAX];
};

struct unwinding {
	struct workers *workers; /* NULL: none */
	struct finder *finder;	 /* NULL before unwinding_open_finder() */
	struct process_table *processes;
	struct jobs *jobs;
	struct walk_policy policy;
	struct dump_paths *dump_paths;
	struct jit *jit;
	bool live;
	struct perfregs_order order; /* register order of the previous sample */
	struct unwinding_slot slots[UNWINDING_MAX];
	struct walk_job jobs_of[UNWINDING_MAX]; /* for the slots being walked */
	struct trace *traces;			/* one for each slot */
};

static bool unwinding_open_finder(struct unwinding *u, const struct filter_options *o)
{
	struct finder_options options = { .sysroot = o->sysroot, .debuginfod = o->debuginfod };

	u->finder = finder__new(&options);
	if (u->finder)
		return true;
	if (errno == ELIBACC)
		log__error("--debuginfod needs libdebuginfod.so.1 (package libdebuginfod1)");
	else
		log__error("%s: %s", o->sysroot ? o->sysroot : "cannot start", strerror(errno));
	return false;
}

/* Returns true if files or downloads have arrived since the walk, so that a repeated walk may get
 * further. */
static bool unwinding_has_more(void *arg, struct process *p, const struct trace *t)
{
	struct unwinding *u = arg;
	struct download_stats downloads;

	(void)p;
	if (t->status == UNWIND_ROOT)
		return false;
	finder__stats(u->finder, &downloads);
	if (downloads.pending > 0 && !finder__wait(u->finder, DOWNLOAD_PATIENCE_NS))
		return false;
	return process_table__collect(u->processes);
}

static int unwinding_open_policy(struct unwinding *u, const struct filter_options *o)
{
	int err = walk_policy__open(&u->policy,
				    &(struct walk_options){ .naive = o->mode == MODE_NAIVE,
							    .stitch_sz = o->stitch ? STITCH_SZ : 0,
							    .jobs = u->jobs,
							    .processes = u->processes,
							    .jit = u->jit });

	if (!u->live)
		u->policy.has_more = unwinding_has_more;
	u->policy.arg = u;
	return err;
}

static bool unwinding_open_parts(struct unwinding *u, const struct filter_options *o)
{
	struct process_options processes = { .proc = "/proc",
					     .told = true,
					     .past = !u->live,
					     .finder = u->finder,
					     .process_max = PROCESSES_MAX };

	u->traces = calloc(UNWINDING_MAX, sizeof(*u->traces));
	u->processes = process_table__new(&processes);
	u->jobs = jobs__new();
	u->dump_paths = dump_paths__new();
	if (u->dump_paths)
		u->jit = jit__new(&(struct jit_places){ .proc = u->live ? "/proc" : NULL,
							.root = o->sysroot ? o->sysroot : "/",
							.told = u->dump_paths,
							.workers = u->workers });
	if (u->jobs)
		jobs__set_workers(u->jobs, u->workers);
	return u->traces && u->processes && u->jobs && u->jit && unwinding_open_policy(u, o) == 0;
}

/* Root's rights are not needed to parse files. Other users have no more rights than their own. */
static const task_fn tasks[TASK_CNT] = {
	[TASK_TABLE] = table_task__run,	      [TASK_SYMBOLS] = symtab_task__run,
	[TASK_NAMES] = name_task__run,	      [TASK_CODE] = code_task__run,
	[TASK_IMAGES] = gdb_list_task__run,   [TASK_FRAMES] = frames_task__run,
	[TASK_ADDRESSES] = address_task__run, [TASK_SCAN] = scan_task__run,
};

/* Returns the option because of which this process parses files itself, or NULL. */
static const char *unwinding_parses_because(const struct filter_options *o)
{
	return o->no_sandbox ? "--no-sandbox" : o->mode == MODE_NAIVE ? "--mode=naive" : NULL;
}

static bool unwinding_open_workers(struct unwinding *u, const struct filter_options *o)
{
	const char *option = unwinding_parses_because(o);

	if (geteuid() != 0 || (o->mode != MODE_CACHING && o->mode != MODE_NAIVE))
		return true;
	if (option) {
		log__warn("files of other users are parsed with all rights of this process (%s)",
			  option);
		return true;
	}
	u->workers = workers__new(tasks);
	return u->workers;
}

struct unwinding *unwinding__new(const struct filter_options *o, bool live)
{
	struct unwinding *u = calloc(1, sizeof(*u));

	if (!u)
		return log__error("out of memory"), NULL;
	openfiles__raise();
	u->live = live;
	if (!unwinding_open_workers(u, o) || !unwinding_open_finder(u, o)) {
		unwinding__free(u);
		return NULL;
	}
	if (unwinding_open_parts(u, o))
		return u;
	log__error("cannot start: %s", strerror(errno));
	unwinding__free(u);
	return NULL;
}

void unwinding__free(struct unwinding *u)
{
	if (!u)
		return;
	workers__stop(u->workers);
	jobs__free(u->jobs);
	walk_policy__close(&u->policy);
	jit__free(u->jit);
	process_table__free(u->processes);
	dump_paths__free(u->dump_paths);
	finder__free(u->finder);
	workers__put(u->workers);
	free(u->traces);
	free(u);
}

struct workers *unwinding__workers(const struct unwinding *u)
{
	return u->workers;
}

struct jit *unwinding__jit(const struct unwinding *u)
{
	return u->jit;
}

/* Applies a record. Sysprof captures have the inode but not its device, so the file is identified
 * by its path. */
static void unwinding_apply_record(struct unwinding *u, struct record r)
{
	if (r.type == RECORD_MMAP && r.mmap.maj == 0 && r.mmap.min == 0)
		r.mmap.ino = 0;
	process_table__apply(u->processes, &r);
	dump_paths__apply(u->dump_paths, &r);
}

void unwinding__apply(struct unwinding *u, const struct item *item)
{
	if (item->kind == ITEM_PROCESS)
		unwinding_apply_record(u, item->record);
	if (item->kind == ITEM_OVERLAY)
		process_table__overlay(u->processes, item->record.tgid, item->overlay.dst,
				       item->overlay.src);
}

/* ---- the walk ---- */

static bool unwinding_is_same_process(const struct unwinding_slot *a,
				      const struct unwinding_slot *b)
{
	return a->process && a->item->record.tgid == b->item->record.tgid;
}

/* Fills the slot. Fills the trace too if there is nothing to walk. */
static void unwinding_prepare(struct unwinding *u, struct unwinding_slot *s, struct trace *t)
{
	const struct item_sample *sample = &s->item->sample;

	s->process = NULL;
	t->cnt = 0;
	if (sample->stack.abi == 0)
		return;
	if (item_stack__sample(&sample->stack, &u->order, s->regs, &s->sample)) {
		s->sample.time_ns = item__monotonic_ns(s->item);
		s->process = s > u->slots && unwinding_is_same_process(s - 1, s)
				     ? s[-1].process
				     : process_table__get(u->processes, s->item->record.tgid);
		return;
	}
	t->status = UNWIND_NO_CFI;
	t->frames[0] = (struct frame){ .pc = sample->ip };
	t->cnt = !sample->kernel && sample->ip;
}

/*
 * Fills slots and returns how many samples can be walked together. Stops before a sample of an
 * unknown process: creating it may evict the process of an earlier slot if the table is full.
 */
static size_t unwinding_prepare_some(struct unwinding *u, const struct item *items, size_t cnt)
{
	size_t n = 0;

	for (; n < cnt; n++) {
		struct unwinding_slot *s = &u->slots[n];

		s->item = &items[n];
		if (n > 0 && !unwinding_is_same_process(s - 1, s) &&
		    !process_table__find(u->processes, s->item->record.tgid))
			break;
		unwinding_prepare(u, s, &u->traces[n]);
	}
	return n;
}

static void unwinding_walk_together(struct unwinding *u, size_t cnt)
{
	size_t jobs = 0;

	for (size_t i = 0; i < cnt; i++)
		if (u->slots[i].process)
			u->jobs_of[jobs++] =
				(struct walk_job){ u->slots[i].process, &u->slots[i].sample,
						   &u->traces[i], !u->policy.unwinder };
	if (u->policy.unwinder && jobs)
		unwinder__try_many(u->policy.unwinder, u->jobs_of, jobs);
}

/* Completes a sample that the joint walk did not finish. Returns true if mappings changed, so that
 * later samples must be walked again. */
static bool unwinding_finish(struct unwinding *u, struct unwinding_slot *s, struct walk_job *j,
			     bool again)
{
	struct walk w = { .process = s->process,
			  .sample = &s->sample,
			  .trace = j->trace,
			  .tid = s->item->record.tid,
			  .wait = WALK_WAITS,
			  .walked = !j->awaits && !again };

	walk_policy__walk(&u->policy, &w);
	return w.again;
}

void unwinding__walk(struct unwinding *u, const struct item *items, size_t cnt, unwound_fn fn,
		     void *arg)
{
	process_table__collect(u->processes);
	jobs__collect(u->jobs);
	for (size_t from = 0, n; from < cnt; from += n) {
		struct walk_job *j = u->jobs_of;
		bool again = false;

		n = unwinding_prepare_some(u, items + from, cnt - from);
		unwinding_walk_together(u, n);
		for (size_t i = 0; i < n; i++) {
			const struct trace *t = &u->traces[i];

			if (u->slots[i].process)
				again |= unwinding_finish(u, &u->slots[i], j++, again);
			fn(arg, from + i, t->cnt ? t : NULL);
		}
	}
}

const struct trace *unwinding__look_up(struct unwinding *u, const struct item *item, size_t from)
{
	const struct item_sample *s = &item->sample;
	const struct process *p = process_table__get(u->processes, item->record.tgid);
	struct trace *t = u->traces;

	t->cnt = 0;
	for (size_t i = from; p && i < s->chain_cnt && t->cnt < TRACE_MAX; i++) {
		struct frame f = { .pc = s->chain[i], .flags = t->cnt ? FRAME_CALLER : 0 };

		if (f.pc > CONTEXT_MAX)
			continue;
		f.map = process__find(p, frame__place(&f));
		t->frames[t->cnt++] = f;
	}
	if (p && !t->cnt && !s->kernel && s->ip)
		t->frames[t->cnt++] = (struct frame){ .pc = s->ip, .map = process__find(p, s->ip) };
	return t;
}

void unwinding__debug(const struct unwinding *u)
{
	struct process_table_stats processes;
	struct download_stats downloads;
	struct unwinder_stats walks = { 0 };

	process_table__stats(u->processes, &processes);
	finder__stats(u->finder, &downloads);
	if (u->policy.unwinder)
		unwinder__stats(u->policy.unwinder, &walks);
	log__debug("%zu processes, %zu open files, %lu mapped files that could not be opened or "
		   "had another build ID",
		   processes.processes, processes.files, processes.files_failed);
	log__debug("%zu files downloaded, %zu not found", downloads.found, downloads.failed);
	log__debug("%zu tables built, %zu files without one; walks by tables alone: %lu, into code "
		   "without a file: %lu, others: %lu",
		   walks.tables.made, walks.tables.failed, walks.flat, walks.partly, walks.odd);
}

size_t unwinding__pending(const struct unwinding *u)
{
	struct download_stats downloads;

	finder__stats(u->finder, &downloads);
	return jobs__pending(u->jobs) + downloads.pending;
}
