// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Single-steps a program and its descendants, keeps a shadow stack of each thread's open calls
 * (shadow_stack.h), and compares each walk of the real stack with it. See usage.
 */
#include <elf.h>
#include <getopt.h>
#include <sched.h>
#include <sys/personality.h>
#include <ucontext.h>

#include "must.h"

#include "../unit/live.h"
#include "base/log.h"
#include "shadow_judge.h"
#include "shadow_proc.h"
#include "shadow_stack.h"

static const char usage[] =
	"usage: shadow_walks [OPTION]... [--] COMMAND [ARG]...\n"
	"\n"
	"Runs the command one instruction at a time, from the dynamic linker's first one on, and\n"
	"walks the thread's stack after each. A shadow stack of the calls that the tool has seen\n"
	"says which frames are right. Follows threads, fork, vfork and exec.\n"
	"\n"
	"  --every N        walk at each Nth instruction only\n"
	"  --max N          stop after N instructions of all threads together\n"
	"  --show N         print the first N wrong walks in full (default 3)\n"
	"  --only PREFIX    count only walks with a frame in a function of such a name\n"
	"  --in TEXT        count only walks with a frame in a file whose path contains TEXT\n"
	"  --leaf           --only and --in are about the leaf alone\n"
	"  --from SYMBOL    begin to walk when this function is reached\n"
	"  --stack KIB      copy at most so much of a stack (default 64)\n"
	"  --truncated-ok   a right walk that the copy's end has cut counts as whole\n"
	"  --show-all       --show prints all walks that are not whole\n"
	"\n"
	"Each walk is one of:\n"
	"  whole            all frames are right, and the status is root\n"
	"  honest           the frames are right, and the status says that there are more\n"
	"  marked           a frame is wrong, and has a mark, or follows one that has\n"
	"  not judged       the program has overwritten a return address, or is between two "
	"stacks\n"
	"  wrong root       callers are missing, and the status is root\n"
	"  wrong other      a frame is wrong, and has no mark\n"
	"\n"
	"Exits with 0 if no walk is wrong, 1 if one is, 2 if the options are.\n"
	"\n"
	"Examples:\n"
	"  shadow_walks build/examples/cpu 1\n"
	"  shadow_walks --from main --only qsort --show 10 ./program\n"
	"  shadow_walks --in libgmp --every 7 --max 1000000 python3 -c 'import gmpy2'\n";

#define STEP_PATIENCE 32 /* instructions between a wrong walk and the jump that explains it */

struct options {
	uint64_t every, max, show, stack_sz;
	struct proc_choice choice;
	bool truncated_ok, leaf, show_all;
};

/* A child may stop before its parent's stop says that there is one. */
enum thread_state { THREAD_UNKNOWN, THREAD_AWAITED, THREAD_RUNS };

struct thread {
	struct thread *next;
	pid_t tid;
	enum thread_state state;
	bool stopped;
	struct proc *proc;
	struct shadow *shadow;
	struct user_regs_struct regs; /* before the instruction that it executes */
	enum code_kind kind;	      /* of that instruction */
	int signal;		      /* that it was resumed with */
	struct pending *pending, **pending_end;
};

struct stepper {
	struct options o;
	struct procs procs;
	struct jobs *jobs;
	struct unwinder *unwinder;
	struct event *event;
	struct trace *trace;
	struct expected *expected;
	struct thread *threads;
	struct tally tally;
	uint64_t steps, shown;
	bool begun; /* --from was reached */
	pid_t first;
	int first_status;
};

/* ---- threads ----------------------------------------------------------------------------------*/

static struct thread *thread_find(const struct stepper *st, pid_t tid)
{
	struct thread *t = st->threads;

	while (t && t->tid != tid)
		t = t->next;
	return t;
}

static struct thread *thread_add(struct stepper *st, pid_t tid)
{
	struct thread *t = calloc(1, sizeof(*t));

	must(t);
	t->tid = tid;
	t->pending_end = &t->pending;
	t->next = st->threads;
	st->threads = t;
	return t;
}

static uint32_t thread_read_tgid(pid_t tid)
{
	char path[64], line[256];
	unsigned tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Tgid: %u", &tgid) != 1)
		;
	if (f)
		fclose(f);
	return tgid;
}

static void thread_drop_pending(struct thread *t)
{
	while (t->pending) {
		struct pending *next = t->pending->next;

		free(t->pending);
		t->pending = next;
	}
	t->pending_end = &t->pending;
}

static void thread_remove(struct stepper *st, struct thread *t)
{
	struct thread **at = &st->threads;
	const struct thread *other = st->threads;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	for (other = st->threads; other && other->proc != t->proc; other = other->next)
		;
	if (!other && t->proc)
		procs__drop(&st->procs, t->proc);
	thread_drop_pending(t);
	if (t->shadow)
		shadow__free(t->shadow);
	free(t);
}

/* ---- walks ------------------------------------------------------------------------------------*/

static void show(struct stepper *st, const struct thread *t, const struct pending *w)
{
	if (st->shown >= st->o.show)
		return;
	st->shown++;
	judge__print(&st->procs, t->proc, w);
}

static void pending_is_wrong(struct stepper *st, struct thread *t, const struct pending *w)
{
	enum verdict v = w->unfit ? VERDICT_NOT_JUDGED : w->verdict;
	size_t last = w->common && w->common <= w->cnt ? w->common - 1 : 0;
	struct frame f = proc__frame(&st->procs, t->proc, w->frames[last].pc,
				     w->frames[last].flags & FRAME_CALLER);

	st->tally.walks++;
	st->tally.by_verdict[v]++;
	tally__place(&st->tally, v, w->status, &f);
	if (!w->unfit || st->o.show_all)
		show(st, t, w);
}

static struct pending *pending_take(struct thread *t)
{
	struct pending *w = t->pending;

	t->pending = w->next;
	if (!t->pending)
		t->pending_end = &t->pending;
	return w;
}

/* Walks that no jump has explained in time are wrong. */
static void settle_old(struct stepper *st, struct thread *t, uint64_t patience)
{
	while (t->pending && t->pending->step + patience <= st->steps) {
		struct pending *w = pending_take(t);

		pending_is_wrong(st, t, w);
		free(w);
	}
}

/* Right callers of the target count; where the target is a landing pad, which is no return address,
 * the rules of the code before it may lead elsewhere. */
static void settle_with(struct stepper *st, struct thread *t, struct pending *w, uint64_t target)
{
	struct trace *trace = st->trace;
	size_t common;
	enum verdict v;

	trace->cnt = w->cnt;
	trace->status = w->status;
	memcpy(trace->frames, w->frames, w->cnt * sizeof(*w->frames));
	expected__set_jump(st->expected, t->shadow, w->frames[0].pc, target);
	v = judge(trace, st->expected);
	common = judge__common(trace, st->expected);
	w->unfit |= w->jumping && common == 2;
	if (verdict__is_wrong(v))
		pending_is_wrong(st, t, w);
	else
		tally__count(&st->tally, v, trace, common);
	st->tally.jumps += !verdict__is_wrong(v);
}

/* The thread has jumped, with the stack pointer that it had loaded: to where it is now. */
static void settle_jump(struct stepper *st, struct thread *t, uint64_t target)
{
	while (t->pending) {
		struct pending *w = pending_take(t);

		settle_with(st, t, w, target);
		free(w);
	}
}

/* Whether the walk is one that the user wants to count. */
static bool walk_counts(struct stepper *st, struct thread *t)
{
	const struct proc_choice *c = &st->o.choice;
	const struct expected *x = st->expected;

	if (!c->function && !c->file)
		return true;
	for (size_t i = 0; i < (st->o.leaf ? 1 : x->cnt); i++)
		if (proc__match(&st->procs, t->proc, x->frames[i].pc - x->frames[i].caller)->counts)
			return true;
	return false;
}

/* A thread that is between two stacks, or whose return address is in a register. */
static enum verdict judge_either(struct stepper *st, const struct thread *t)
{
	enum verdict v = judge(st->trace, st->expected);

	if (!verdict__is_wrong(v) || !t->shadow->holds)
		return v;
	expected__set(st->expected, t->shadow, t->regs.rip, false);
	return judge(st->trace, st->expected);
}

/*
 * Whether the program has no right stack: the unwinder of libgcc copies the registers of the frame
 * that it will jump to into its own frame, return address and all; and swapcontext() of the C
 * library has the new stack pointer before the code that belongs to it.
 */
static bool is_unfit(const struct thread *t, const struct expected *x, size_t common)
{
	const struct expected_frame *f = &x->frames[common];

	return t->shadow->switching || (common < x->cnt && f->caller && f->slot &&
					!t->shadow->holds && proc__word(t->proc, f->slot) != f->pc);
}

static void take_verdict(struct stepper *st, struct thread *t)
{
	enum verdict v = judge_either(st, t);
	size_t common = judge__common(st->trace, st->expected);
	struct pending *w = NULL;

	if (verdict__is_wrong(v) || (v != VERDICT_WHOLE && st->o.show_all))
		w = pending__new(st->trace, st->expected, st->steps);
	if (verdict__is_wrong(v)) {
		w->jumping = t->shadow->jumping;
		w->unfit = is_unfit(t, st->expected, common);
		*t->pending_end = w;
		t->pending_end = &w->next;
		return;
	}
	if (v == VERDICT_HONEST && st->o.truncated_ok && st->trace->status == UNWIND_TRUNCATED &&
	    st->event->flags & EVENT_F_TRUNCATED)
		v = VERDICT_WHOLE;
	tally__count(&st->tally, v, st->trace, common);
	if (w)
		show(st, t, w);
	free(w);
}

/* Like live__capture(), with registers that are known and a stack whose end is. */
static void capture(struct stepper *st, struct thread *t)
{
	const struct proc_range *r = proc__range(&st->procs, t->proc, t->regs.rsp);
	struct event *e = st->event;
	uint64_t sz;

	memset(e, 0, sizeof(*e));
	live__regs(&t->regs, e->regs);
	e->flags = EVENT_F_USER;
	e->tgid = t->proc->tgid;
	e->tid = (uint32_t)t->tid;
	e->stack_addr = t->regs.rsp - EVENT_RED_ZONE;
	sz = r ? r->end - e->stack_addr : 0;
	if (sz > st->o.stack_sz) {
		sz = st->o.stack_sz;
		e->flags |= EVENT_F_TRUNCATED;
	}
	e->ustack_sz = (uint32_t)proc__read(t->proc, e->stack_addr, e->data, sz);
}

/* Walks with what the unwinder knows; if that lets it read tables, a second time with them. */
static void walk(struct stepper *st, struct thread *t)
{
	const struct process *process;
	struct sample s;
	bool again;

	expected__set(st->expected, t->shadow, t->regs.rip, true);
	if (!walk_counts(st, t))
		return;
	capture(st, t);
	event__sample(st->event, &s);
	process = proc__process(&st->procs, t->proc);
	do {
		again = jobs__pending(st->jobs);
		must(jobs__wait(st->jobs, 60000000000));
		expected__set(st->expected, t->shadow, t->regs.rip, true);
		unwinder__walk(st->unwinder, process, &s, st->trace);
		take_verdict(st, t);
	} while (!again && jobs__pending(st->jobs));
}

/* ---- the shadow stack follows -----------------------------------------------------------------*/

/* A call has pushed the address behind it; a call of that address only reads the program counter.
 */
static void follow_call(struct thread *t, const struct user_regs_struct *now)
{
	uint64_t pc;

	if (now->rsp != t->regs.rsp - 8)
		return;
	pc = proc__word(t->proc, now->rsp);
	if (pc - t->regs.rip >= 2 && pc - t->regs.rip < CODE_SZ && pc != now->rip)
		shadow__call(t->shadow, pc, now->rsp);
}

/* Drops calls of the current stack whose return address something has overwritten since. */
static void check_resumed(struct thread *t)
{
	struct shadow_chain *c = t->shadow->chain;
	size_t kept = shadow_chain__segment(c)->first;

	for (size_t i = kept; i < c->cnt; i++)
		if (c->entries[i].kind != SHADOW_CALL ||
		    proc__word(t->proc, c->entries[i].slot) == c->entries[i].pc)
			c->entries[kept++] = c->entries[i];
	c->cnt = kept;
}

static bool is_near(struct stepper *st, struct thread *t, uint64_t sp)
{
	const struct proc_range *r = proc__range(&st->procs, t->proc, t->regs.rsp);

	return r && sp >= r->start && sp < r->end;
}

static void follow_load(struct stepper *st, struct thread *t, const struct user_regs_struct *now)
{
	enum code_kind kind = t->kind == CODE_SYSCALL ? CODE_LOAD : t->kind;

	if (shadow__load(t->shadow, t->regs.rsp, now->rsp, kind, is_near(st, t, now->rsp))) {
		shadow_chain__drop(t->shadow->chain, now->rsp);
		check_resumed(t);
		t->shadow->switching = true;
	}
	t->shadow->jumping = t->kind != CODE_SYSCALL;
}

/* A stack on which nothing was called yet: makecontext() has planted a return address. */
static void find_planted(struct stepper *st, struct thread *t, const struct user_regs_struct *now)
{
	const struct proc_range *code;
	uint64_t word;

	if (t->shadow->chain->cnt)
		return;
	word = proc__word(t->proc, now->rsp);
	code = proc__range(&st->procs, t->proc, word);
	if (code && code->code)
		shadow__call(t->shadow, word, now->rsp);
}

static void follow_jump(struct stepper *st, struct thread *t, const struct user_regs_struct *now)
{
	t->shadow->jumping = t->shadow->switching = false;
	if (t->shadow->aside_cnt)
		find_planted(st, t, now);
	settle_jump(st, t, now->rip);
}

/* The instruction has been executed, or a part of it. */
static void follow(struct stepper *st, struct thread *t, const struct user_regs_struct *now)
{
	struct shadow *s = t->shadow;
	bool loads = t->kind == CODE_LOAD || t->kind == CODE_MOVE || t->kind == CODE_SYSCALL;

	if (t->kind == CODE_SYSCALL)
		t->proc->stale = true;
	if (loads && now->rsp != t->regs.rsp)
		follow_load(st, t, now);
	shadow__moved(s, t->regs.rsp, now->rsp, t->kind);
	if (s->holds && now->rsp == s->held.slot)
		shadow__put_back(s, now->rsp, proc__word(t->proc, now->rsp));
	if (s->jumping && (t->kind == CODE_RET || t->kind == CODE_JUMP))
		follow_jump(st, t, now);
	if (t->kind == CODE_CALL)
		follow_call(t, now);
}

/* Where the kernel puts a word of the interrupted context, from a handler's stack pointer on. */
#define FRAME_OF(field) (8 + offsetof(ucontext_t, field))
#define FRAME_PC	FRAME_OF(uc_mcontext.gregs[REG_RIP])
#define FRAME_SP	FRAME_OF(uc_mcontext.gregs[REG_RSP])

/* Returns true if the signal that the thread was resumed with has put it into a handler. */
static bool follow_signal(struct thread *t, const struct user_regs_struct *now)
{
	struct shadow_signal signal = { .slot = now->rsp, .pc_slot = now->rsp + FRAME_PC };
	uint64_t low, sz;

	if (!t->signal || now->rsp == t->regs.rsp || now->rdi != (uint64_t)t->signal)
		return false;
	signal.sp = proc__word(t->proc, now->rsp + FRAME_SP);
	signal.pc = proc__word(t->proc, signal.pc_slot);
	if (signal.sp != t->regs.rsp)
		return false;
	low = proc__word(t->proc, now->rsp + FRAME_OF(uc_stack.ss_sp));
	sz = proc__word(t->proc, now->rsp + FRAME_OF(uc_stack.ss_size));
	signal.restorer = proc__word(t->proc, now->rsp);
	signal.other_stack = now->rsp - low < sz && signal.sp - low >= sz;
	shadow__signal(t->shadow, &signal);
	return true;
}

/* ---- stops ------------------------------------------------------------------------------------*/

static void resume(struct thread *t, int signal)
{
	t->signal = signal;
	t->stopped = false;
	ptrace(PTRACE_SINGLESTEP, t->tid, 0, signal);
}

/* `shadow` becomes the thread's; NULL: it begins on a stack of its own. */
static void thread_begin(struct stepper *st, struct thread *t, struct shadow *shadow)
{
	t->proc = procs__get(&st->procs, thread_read_tgid(t->tid));
	t->proc->tid = t->tid;
	t->state = THREAD_RUNS;
	if (ptrace(PTRACE_GETREGS, t->tid, 0, &t->regs) != 0)
		return;
	t->shadow = shadow ? shadow : shadow__new(t->regs.rsp);
	t->kind = CODE_OTHER;
}

/* The thread has made another one, or a process, on the same stack or on a new one. */
static void on_new(struct stepper *st, struct thread *parent)
{
	struct user_regs_struct regs, parent_regs;
	struct thread *t;
	unsigned long tid;
	int status;

	must(ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &tid) == 0);
	t = thread_find(st, (pid_t)tid);
	if (!t)
		t = thread_add(st, (pid_t)tid);
	if (!t->stopped && waitpid(t->tid, &status, __WALL) != t->tid)
		return;
	if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs) != 0)
		return;
	must(ptrace(PTRACE_GETREGS, parent->tid, 0, &parent_regs) == 0);
	thread_begin(st, t, regs.rsp == parent_regs.rsp ? shadow__copy(parent->shadow) : NULL);
	resume(t, 0);
}

static void on_exec(struct stepper *st, struct thread *t)
{
	unsigned long former;
	struct thread *other;

	settle_old(st, t, 0);
	must(ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &former) == 0);
	for (struct thread *next, *at = st->threads; at; at = next) {
		next = at->next;
		if (at != t && at->proc == t->proc)
			thread_remove(st, at);
	}
	other = thread_find(st, (pid_t)former);
	if (other && other != t)
		thread_remove(st, other);
	if (t->shadow)
		shadow__free(t->shadow);
	t->proc = NULL;
	thread_begin(st, t, NULL);
	t->proc->stale = true;
}

static void maybe_walk(struct stepper *st, struct thread *t)
{
	if (t->proc->stale)
		proc__refresh(&st->procs, t->proc);
	if (!st->begun)
		st->begun =
			!st->o.choice.from || proc__match(&st->procs, t->proc, t->regs.rip)->begins;
	if (st->begun && st->steps % st->o.every == 0)
		walk(st, t);
}

/* The thread has executed an instruction, or a signal is about to be delivered to it. */
static void on_step(struct stepper *st, struct thread *t, int signal)
{
	struct user_regs_struct now;

	t->proc->tid = t->tid;
	if (ptrace(PTRACE_GETREGS, t->tid, 0, &now) != 0)
		return;
	if (!follow_signal(t, &now))
		follow(st, t, &now);
	t->regs = now;
	st->steps++;
	settle_old(st, t, STEP_PATIENCE);
	maybe_walk(st, t);
	t->kind = proc__kind(&st->procs, t->proc, now.rip);
	resume(t, signal);
}

/* A stop that is no signal's: the process is stopped as a whole. */
static bool is_group_stop(const struct thread *t, int signal)
{
	siginfo_t info;

	return (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) &&
	       ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info) != 0;
}

static void on_stop(struct stepper *st, struct thread *t, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	t->stopped = true;
	if (t->state != THREAD_RUNS)
		return; /* until its parent's stop tells of it */
	if (event == PTRACE_EVENT_EXEC)
		on_exec(st, t);
	else if (event)
		on_new(st, t);
	if (event || is_group_stop(t, signal))
		resume(t, 0);
	else
		on_step(st, t, signal == SIGTRAP ? 0 : signal);
}

static void on_end(struct stepper *st, struct thread *t, int status)
{
	if (t->tid == st->first)
		st->first_status = status;
	if (t->proc)
		settle_old(st, t, 0);
	thread_remove(st, t);
}

static void step_all(struct stepper *st)
{
	while (st->threads && (!st->o.max || st->steps < st->o.max)) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);
		struct thread *t = tid > 0 ? thread_find(st, tid) : NULL;

		if (tid < 0 && errno != EINTR)
			break;
		if (tid > 0 && WIFSTOPPED(status))
			on_stop(st, t ? t : thread_add(st, tid), status);
		else if (t)
			on_end(st, t, status);
	}
	for (struct thread *t = st->threads; t; t = t->next)
		settle_old(st, t, 0);
}

/* ---- set-up -----------------------------------------------------------------------------------*/

/* A step is two switches between the tool and the program: they cost least on one CPU. */
static void stay_on_this_cpu(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void start(struct stepper *st, char **argv)
{
	struct thread *t;

	stay_on_this_cpu();
	must(personality(ADDR_NO_RANDOMIZE) >= 0);
	st->first = live__start((const char *const *)argv, true);
	must(ptrace(PTRACE_SETOPTIONS, st->first, 0,
		    PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			    PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC) == 0);
	t = thread_add(st, st->first);
	thread_begin(st, t, NULL);
	on_step(st, t, 0);
}

static void set_up(struct stepper *st)
{
	procs__init(&st->procs, &st->o.choice);
	st->jobs = jobs__new();
	must(st->jobs);
	st->unwinder = unwinder__new(NULL, st->jobs);
	st->event = live__event();
	st->trace = calloc(1, sizeof(*st->trace));
	st->expected = calloc(1, sizeof(*st->expected));
	must(st->unwinder && st->trace && st->expected);
}

static void tear_down(struct stepper *st)
{
	for (struct thread *t = st->threads; t; t = t->next)
		kill(t->tid, SIGKILL);
	while (st->threads)
		thread_remove(st, st->threads);
	jobs__free(st->jobs);
	unwinder__free(st->unwinder);
	procs__fini(&st->procs);
	free(st->event);
	free(st->trace);
	free(st->expected);
}

static void print_result(struct stepper *st)
{
	int status = st->first_status;

	printf("instructions\t%" PRIu64 "\n", st->steps);
	tally__print(&st->tally);
	if (thread_find(st, st->first))
		printf("the command was stopped by --max\n");
	else if (WIFSIGNALED(status))
		printf("the command was killed by signal %d\n", WTERMSIG(status));
	else
		printf("the command exited with %d\n", WEXITSTATUS(status));
}

static const struct option long_options[] = {
	{ "every", required_argument, NULL, 'e' },  { "max", required_argument, NULL, 'm' },
	{ "show", required_argument, NULL, 's' },   { "only", required_argument, NULL, 'o' },
	{ "in", required_argument, NULL, 'i' },	    { "leaf", no_argument, NULL, 'l' },
	{ "from", required_argument, NULL, 'f' },   { "stack", required_argument, NULL, 'k' },
	{ "truncated-ok", no_argument, NULL, 't' }, { "help", no_argument, NULL, 'h' },
	{ "show-all", no_argument, NULL, 'd' },	    { 0 },
};

static bool parse_option(struct options *o, int c)
{
	switch (c) {
	case 'e': o->every = strtoull(optarg, NULL, 10); break;
	case 'm': o->max = strtoull(optarg, NULL, 10); break;
	case 's': o->show = strtoull(optarg, NULL, 10); break;
	case 'k': o->stack_sz = strtoull(optarg, NULL, 10) << 10; break;
	case 'o': o->choice.function = optarg; break;
	case 'i': o->choice.file = optarg; break;
	case 'f': o->choice.from = optarg; break;
	case 'l': o->leaf = true; break;
	case 't': o->truncated_ok = true; break;
	case 'd': o->show_all = true; break;
	default: return false;
	}
	return o->every && o->stack_sz && o->stack_sz <= EVENT_STACK_MAX;
}

int main(int argc, char **argv)
{
	struct stepper *st = calloc(1, sizeof(*st));
	bool wrong;
	int c;

	must(st);
	st->o = (struct options){ .every = 1, .show = 3, .stack_sz = 64 << 10 };
	while ((c = getopt_long(argc, argv, "+h", long_options, NULL)) != -1)
		if (!parse_option(&st->o, c))
			return fputs(usage, c == 'h' ? stdout : stderr), c == 'h' ? 0 : 2;
	if (optind == argc)
		return fputs(usage, stderr), 2;
	log__init("shadow_walks", LOG_WARN);
	set_up(st);
	start(st, argv + optind);
	step_all(st);
	print_result(st);
	wrong = tally__wrong_cnt(&st->tally) > 0;
	tear_down(st);
	free(st);
	return wrong;
}
