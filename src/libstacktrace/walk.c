// SPDX-License-Identifier: GPL-2.0-or-later
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "event/perfregs.h"
#include "libstacktrace/tracker.h"

#if defined(__aarch64__)
#define HOST EM_AARCH64
#else
#define HOST EM_X86_64
#endif

/* The DWARF register numbers of i386 that unwinding a 32-bit process needs. */
enum { I386_SP = 4, I386_PC = 8 };

API uint64_t stacktrace_preferred_regs_mask(uint16_t machine)
{
	return perfregs__preferred(machine);
}

API const char *stacktrace_end_name(int end)
{
#define X(id, name) name,
	static const char *const names[STACKTRACE_END_COUNT] = {
		UNWIND_STATUSES(X)[STACKTRACE_STOPPED] = "stopped",
	};
#undef X

	return end >= 0 && end < STACKTRACE_END_COUNT && names[end] ? names[end] : "?";
}

/* ---- conversion of samples
 * ------------------------------------------------------------------------
 */

/* The public enums stacktrace_end and stacktrace_found have the values of the internal ones. A
 * value appended to an internal enum must be appended to the public one too. */
_Static_assert(STACKTRACE_ROOT == (int)UNWIND_ROOT &&
		       STACKTRACE_STITCHED == (int)UNWIND_STATUS_CNT - 1 &&
		       STACKTRACE_STOPPED >= (int)UNWIND_STATUS_CNT,
	       "the same");
_Static_assert(STACKTRACE_BY_SAMPLE == (int)FRAME_BY_SAMPLE &&
		       STACKTRACE_BY_UNWINDING == (int)FRAME_SOURCE_CNT - 1,
	       "the same");

/* A converted sample and its registers, indexed by DWARF number. */
struct prepared {
	const struct stacktrace_sample *from;
	struct sample sample;
	uint64_t regs[MACHINE_REG_MAX];
};

/* Returns NULL if the machine is not supported. Returns x86-64 for an i386 process. */
static const struct machine *walk_machine_of(uint16_t elf)
{
	return machine__of_elf(!elf ? HOST : elf == EM_386 ? EM_X86_64 : elf);
}

static unsigned walk_number_of(const struct stacktrace_sample *s, const struct machine *m,
			       int dwarf)
{
	if (s->machine != EM_386)
		return (unsigned)dwarf;
	return dwarf == I386_PC ? m->pc : dwarf == I386_SP ? m->sp : MACHINE_REG_MAX;
}

static uint64_t walk_spread(const struct stacktrace_sample *s, const struct machine *m,
			    uint64_t *regs)
{
	struct perfregs_order order;
	uint64_t known = 0;

	if (!s->mapping) {
		perfregs__order(&order, m, s->perf_mask);
		return perfregs__spread(&order, s->regs, s->n_regs, regs);
	}
	for (size_t i = 0; i < s->n_regs; i++) {
		unsigned reg = walk_number_of(s, m, s->mapping[i]);

		if (reg >= m->reg_cnt)
			continue;
		regs[reg] = s->regs[i];
		known |= 1ull << reg;
	}
	return known;
}

static int walk_prepare(const struct stacktrace_sample *s, struct prepared *p)
{
	const struct machine *m = walk_machine_of(s->machine);

	if (s->size != sizeof(*s) || s->pid <= 0 || s->abi > STACKTRACE_ABI_64)
		return -EINVAL;
	if (s->abi == STACKTRACE_ABI_NONE)
		return -ENODATA;
	if (!m)
		return -ENOTSUP;
	p->from = s;
	memset(p->regs, 0, sizeof(p->regs));
	p->sample = (struct sample){
		.machine = m,
		.regs = p->regs,
		.valid = walk_spread(s, m, p->regs),
		.truncated = s->flags & STACKTRACE_STACK_IS_CUT,
		.compat = s->abi == STACKTRACE_ABI_32 || s->machine == EM_386,
	};
	p->sample.stack = (struct snapshot){
		.addr = s->stack_address ? s->stack_address : p->regs[m->sp],
		.sz = s->stack ? s->stack_size : 0,
		.bytes = s->stack,
	};
	return (p->sample.valid >> m->pc & p->sample.valid >> m->sp & 1) ? 0 : -EINVAL;
}

/* ---- the walk -----------------------------------------------------------------------------------
 */

static struct scratch *walk_take_scratch(stacktrace_tracker *t)
{
	struct scratch *s = t->scratch;

	if (!s)
		return malloc(sizeof(*s));
	t->scratch = s->next;
	return s;
}

static void walk_put_scratch(stacktrace_tracker *t, struct scratch *s)
{
	s->next = t->scratch;
	t->scratch = s;
}

/* Returns NULL if out of memory. Calls on_process first if the process is unknown. */
static struct process *walk_find_process(stacktrace_tracker *t, uint32_t tgid)
{
	if (t->on_process && !process_table__find(t->processes, tgid))
		t->on_process(t, (pid_t)tgid, t->arg);
	return process_table__get(t->processes, tgid);
}

static void walk_count(stacktrace_tracker *t, struct trace *trace)
{
	if (trace->cnt > t->max_frames) {
		trace->cnt = t->max_frames;
		trace->status = UNWIND_LIMIT;
	}
	t->samples++;
	t->frames += trace->cnt;
	t->ended[trace->status]++;
}

static int walk(stacktrace_tracker *t, const struct prepared *in, struct trace *trace)
{
	struct walk w = { .sample = &in->sample,
			  .trace = trace,
			  .tid = (uint32_t)in->from->tid,
			  .wait = in->from->flags & STACKTRACE_DONT_WAIT ? WALK_RETRIES
									 : WALK_READS };

	tracker__collect(t);
	w.process = walk_find_process(t, (uint32_t)in->from->pid);
	if (!w.process)
		return -ENOMEM;
	if (!walk_policy__walk(&t->policy, &w))
		return -EAGAIN;
	walk_count(t, trace);
	return (int)trace->status;
}

static int walk_hand_out(const struct trace *trace, stacktrace_frame_fn callback, void *arg)
{
	for (size_t i = 0; i < trace->cnt; i++) {
		const struct frame *f = &trace->frames[i];
		struct stacktrace_frame out = {
			.pc = f->pc,
			.sp = f->sp,
			.place = frame__place(f),
			.found = (enum stacktrace_found)f->source,
			.flags = f->flags & FRAME_SIGNAL ? STACKTRACE_SIGNAL : 0,
		};

		if (callback(&out, arg) != 0)
			return STACKTRACE_STOPPED;
	}
	return (int)trace->status;
}

API int stacktrace_sample_getframes(stacktrace_tracker *t, const struct stacktrace_sample *sample,
				    stacktrace_frame_fn callback, void *arg)
{
	struct prepared p;
	struct scratch *s;
	int end = walk_prepare(sample, &p);

	if (end)
		return end;
	tracker__lock(t);
	s = walk_take_scratch(t);
	end = s ? walk(t, &p, &s->trace) : -ENOMEM;
	tracker__unlock(t);
	if (end >= 0)
		end = walk_hand_out(&s->trace, callback, arg);
	tracker__lock(t);
	if (s)
		walk_put_scratch(t, s);
	t->ended[STACKTRACE_STOPPED] += end == STACKTRACE_STOPPED;
	tracker__unlock(t);
	return end;
}

/* Waits in slices of 10 ms and releases the lock between them, so that other threads can use the
 * tracker. */
API int stacktrace_settle(stacktrace_tracker *t, uint64_t max_ns)
{
	uint64_t now = monotonic__ns(), until = now + max_ns < now ? UINT64_MAX : now + max_ns;
	bool settled;

	do {
		tracker__lock(t);
		settled = jobs__wait(t->jobs, 10000000);
		tracker__unlock(t);
		settled = finder__wait(t->finder, 10000000) && settled;
		tracker__lock(t);
		tracker__collect(t);
		settled = settled && jobs__pending(t->jobs) == 0;
		tracker__unlock(t);
	} while (!settled && monotonic__ns() < until);
	return settled ? 0 : -ETIMEDOUT;
}
