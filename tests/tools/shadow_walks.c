// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Single-steps a program and its descendants, keeps a shadow stack of each thread's open calls
 * (shadow_stack.h), and compares each walk of the real stack with it. See usage.
 */
#include <getopt.h>
#include <sched.h>
#include <sys/personality.h>

#include "must.h"

#include "base/log.h"
#include "shadow_check.h"
#include "shadow_follow.h"
#include "shadow_thread.h"

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
	"Exits with 0 if no walk is wrong, 1 if one is or there was none, 2 if the options are "
	"wrong.\n"
	"\n"
	"Examples:\n"
	"  shadow_walks build/examples/cpu 1\n"
	"  shadow_walks --from main --only qsort --show 10 ./program\n"
	"  shadow_walks --in libgmp --every 7 --max 1000000 python3 -c 'import gmpy2'\n";

#define STEP_PATIENCE 32 /* instructions between a wrong walk and the jump that explains it */

/* ---- stops ------------------------------------------------------------------------------------*/

static void resume(struct thread *t, int signal)
{
	t->signal = signal;
	t->stopped = false;
	ptrace(PTRACE_SINGLESTEP, t->tid, 0, signal);
}

/* `shadow` becomes the thread's; NULL: it begins on a new stack. */
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

/* The thread has created another thread, or a process, on the same stack or on a new one. */
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

/* Returns whether the stop is not for a signal: the process is stopped as a whole. */
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
		return; /* until its parent's stop announces it */
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

/* A step is two switches between the tool and the program, which cost least on one CPU. */
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
	if (!st->tally.walks)
		fputs("shadow_walks: nothing was compared: no walk matches the options\n", stderr);
	wrong |= !st->tally.walks;
	tear_down(st);
	free(st);
	return wrong;
}
