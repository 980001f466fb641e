// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads and runs the BPF programs: rows of profile and switch. */
#include "lib/capture_take.h"

#include <poll.h>
#include <sched.h>

static volatile uint64_t sink;

static __attribute__((noinline)) void spin_for(uint64_t ns)
{
	uint64_t end_ns = take__now() + ns;

	while (take__now() < end_ns)
		for (int i = 0; i < 100000; i++)
			sink += (uint64_t)i;
}

static void spin(void *arg)
{
	(void)arg;
	for (;;)
		for (int i = 0; i < 100000; i++)
			sink += (uint64_t)i;
}

static void work_and_sleep(void *arg)
{
	(void)arg;
	for (;;) {
		spin_for(1000000);
		usleep(3000);
	}
}

static void sleep_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

/* In the executable mapping of this program, which the children share. */
static bool in_own_text(uint64_t pc)
{
	char exe[512] = "", line[1024];
	FILE *f = fopen("/proc/self/maps", "r");
	bool found = false;

	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_non_null(f);
	while (!found && fgets(line, sizeof(line), f)) {
		unsigned long start, end;

		found = sscanf(line, "%lx-%lx r-x", &start, &end) == 2 && strstr(line, exe) &&
			pc >= start && pc < end;
	}
	fclose(f);
	return found;
}

static void profile_samples_a_busy_child(void **state)
{
	pid_t pid = take__fork(spin, NULL);
	uint32_t pids[] = { (uint32_t)pid };
	struct take t = { .options.filter = { .pids = pids, .pid_cnt = 1 } };
	size_t in_text = 0, without_kernel = 0;

	(void)state;
	take__begin(&t, "profile:uk:499");
	take__wait(&t, pid, 20);
	take__end(&t);
	for (size_t i = 0; i < t.cnt; i++) {
		const struct event *e = t.events[i];

		assert_int_equal(e->kind, EVENT_PROFILE);
		assert_int_equal(e->tgid, pid);
		assert_int_equal(e->duration_ns, 1000000000 / 499);
		assert_int_equal(e->weight, 1);
		assert_true(e->flags & EVENT_F_USER);
		assert_true(e->time_ns >= t.begin_ns && e->time_ns <= t.end_ns);
		assert_int_equal(e->stack_addr, e->regs[EVENT_REG_SP] - EVENT_RED_ZONE);
		assert_true(e->ustack_sz > EVENT_RED_ZONE);
		in_text += in_own_text(e->regs[machine_native.pc]);
		without_kernel += e->kstack_sz == 0;
	}
	assert_true(in_text >= t.cnt / 2);
	assert_true(without_kernel > 0); /* interrupted in user mode */
	take__free(&t);
	take__kill(pid);
}

/* Checks the properties that the rows of any thread have. Returns its time on CPUs. */
static uint64_t check_rows(const struct take *t, pid_t tid)
{
	uint64_t at_ns = t->begin_ns, on_cpu_ns = 0;
	const struct event *e, *last = NULL;
	size_t i = 0;

	while ((e = take__next(t, &i, tid)) != NULL) {
		assert_int_equal(e->kind, EVENT_SWITCH);
		assert_true(e->time_ns - e->duration_ns >= at_ns); /* no two overlap */
		/* nothing is missing before it */
		if (!last)
			assert_int_equal(e->time_ns - e->duration_ns, t->begin_ns);
		if (e->flags & EVENT_F_RUNNABLE)
			assert_true(e->runnable_ns <= e->time_ns - e->duration_ns - at_ns);
		at_ns = e->time_ns;
		on_cpu_ns += e->duration_ns;
		last = e;
	}
	assert_non_null(last);
	assert_int_equal(last->time_ns, t->end_ns); /* nor after it */
	assert_true(last->state == EVENT_STATE_WAITING || last->state == EVENT_STATE_RUNNING);
	return on_cpu_ns;
}

/* Returns the number of slices that ended in a sleep and follow another slice with a recorded end.
 */
static size_t sleeps(const struct take *t)
{
	size_t cnt = 0;

	for (size_t i = 0; i < t->cnt; i++)
		cnt += t->events[i]->state == EVENT_STATE_SLEEPING &&
		       t->events[i]->flags & EVENT_F_RUNNABLE;
	return cnt;
}

static void switch_covers_the_whole_time(void **state)
{
	pid_t pid = take__fork(work_and_sleep, NULL);
	uint32_t pids[] = { (uint32_t)pid };
	struct take t = { .options.filter = { .pids = pids, .pid_cnt = 1 } };
	uint64_t before_ns, cpu_ns;

	(void)state;
	take__begin(&t, "switch:uk");
	before_ns = live__cpu_ns(pid);
	while (sleeps(&t) <= 20)
		take__look_again(&t);
	cpu_ns = live__cpu_ns(pid) - before_ns;
	take__end(&t);
	assert_int_equal(t.lost, 0);
	assert_true(check_rows(&t, pid) >= cpu_ns / 2);
	take__free(&t);
	take__kill(pid);
}

/* Like a thread in a deadlock: it never switches. */
static void a_sleeping_thread_has_two_rows(void **state)
{
	pid_t pid = take__fork(sleep_for_ever, NULL);
	uint32_t pids[] = { (uint32_t)pid };
	struct take t = { .options.filter = { .pids = pids, .pid_cnt = 1 } };
	const struct event *begin, *end;

	(void)state;
	live__wait_state(pid, 'S');
	take__begin(&t, "switch:uk");
	take__for(&t, 50);
	take__end(&t);
	assert_int_equal(t.cnt, 2);
	begin = t.events[0];
	end = t.events[1];
	check_rows(&t, pid);
	assert_int_equal(begin->state, EVENT_STATE_SLEEPING);
	assert_int_equal(begin->time_ns, t.begin_ns);
	assert_true(begin->kstack_sz > 0);
	assert_true(begin->ustack_sz > EVENT_RED_ZONE);
	assert_false(begin->flags & EVENT_F_TRUNCATED);
	assert_int_equal(end->state, EVENT_STATE_WAITING);
	assert_int_equal(end->kstack_sz + end->ustack_sz, 0);
	take__free(&t);
	take__kill(pid);
}

static void a_busy_thread_ends_with_a_running_row(void **state)
{
	pid_t pid = take__fork(spin, NULL);
	uint32_t pids[] = { (uint32_t)pid };
	struct take t = { .options.filter = { .pids = pids, .pid_cnt = 1 } };
	uint64_t before_ns;

	(void)state;
	take__begin(&t, "switch:n");
	before_ns = live__cpu_ns(pid);
	while (live__cpu_ns(pid) - before_ns < 10000000)
		take__look_again(&t);
	take__end(&t);
	assert_true(check_rows(&t, pid) > 0);
	for (size_t i = 0; i < t.cnt; i++) {
		assert_false(t.events[i]->flags & EVENT_F_USER);
		assert_int_equal(t.events[i]->kstack_sz + t.events[i]->ustack_sz, 0);
		if (i + 1 < t.cnt)
			assert_int_equal(t.events[i]->state, EVENT_STATE_PREEMPTED);
	}
	take__free(&t);
	take__kill(pid);
}

static void a_last_row_is_dead(void **state)
{
	pid_t pid = take__fork(sleep_for_ever, NULL);
	uint32_t pids[] = { (uint32_t)pid };
	struct take t = { .options.filter = { .pids = pids, .pid_cnt = 1 } };

	(void)state;
	take__begin(&t, "switch:uk");
	take__kill(pid);
	/* After it has been reaped. */
	while (!t.cnt || t.events[t.cnt - 1]->state != EVENT_STATE_DEAD)
		take__look_again(&t);
	take__end(&t);
	assert_true(t.cnt >= 2);
	assert_int_equal(t.events[t.cnt - 1]->state, EVENT_STATE_DEAD);
	assert_false(t.events[t.cnt - 1]->flags & EVENT_F_USER);
	take__free(&t);
}

static void kernel_threads_have_kernel_stacks_only(void **state)
{
	struct take t = { 0 };
	const struct event *kthreadd;
	size_t own = 0;

	(void)state;
	take__begin(&t, "switch:uk,profile:uk:99");
	take__for(&t, 50);
	take__end(&t);
	kthreadd = take__first(&t, 2);
	assert_string_equal(kthreadd->comm, "kthreadd");
	assert_true(kthreadd->kstack_sz > 0);
	for (size_t i = 0; i < t.cnt; i++) {
		const struct event *e = t.events[i];

		assert_int_not_equal(e->tid, 0);
		own += (pid_t)e->tgid == getpid();
		if (!strncmp(e->comm, "kworker/", 8) || e->tid == 2)
			assert_int_equal(e->flags & EVENT_F_USER, 0);
	}
	assert_int_equal(own, 0); /* this process does not match the filter */
	take__free(&t);
}

struct turns {
	int go[2], done[2];
	unsigned cnt;
};

static void take_turns(void *arg)
{
	struct turns *turns = arg;
	cpu_set_t one_ring;
	char c = 0;

	CPU_ZERO(&one_ring);
	CPU_SET(sched_getcpu(), &one_ring);
	assert_int_equal(sched_setaffinity(0, sizeof(one_ring), &one_ring), 0);
	assert_int_equal(read(turns->go[0], &c, 1), 1);
	for (unsigned i = 0; i < turns->cnt; i++)
		usleep(10);
	assert_int_equal(write(turns->done[1], &c, 1), 1);
	pause();
}

static uint64_t context_switches(pid_t pid)
{
	char path[64], line[256];
	uint64_t sum = 0, n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %lu", &n) == 1)
			sum += n;
	}
	fclose(f);
	return sum;
}

/* The kernel counts exactly the sent and lost events. */
static void a_full_ring_is_counted(void **state)
{
	struct turns turns = { .cnt = 500 };
	struct take t = { .options = { .ring_sz = 65536 } };
	struct pollfd epoll = { .events = POLLIN };
	uint32_t pid;
	uint64_t before, switches;
	char c = 0;

	(void)state;
	assert_int_equal(pipe(turns.go) | pipe(turns.done), 0);
	pid = (uint32_t)take__fork(take_turns, &turns);
	live__wait_state((pid_t)pid, 'S');
	t.options.filter = (struct capture_filter){ .pids = &pid, .pid_cnt = 1 };
	take__load(&t, "switch:uk");
	epoll.fd = capture__epoll_fd(t.capture);
	before = context_switches((pid_t)pid);
	assert_int_equal(capture__begin(t.capture, &t.begin_ns), 0);
	assert_int_equal(poll(&epoll, 1, 0), 0);
	assert_int_equal(write(turns.go[1], &c, 1), 1);
	assert_int_equal(read(turns.done[0], &c, 1), 1);
	live__wait_state((pid_t)pid, 'S');
	assert_int_equal(poll(&epoll, 1, 1000), 1); /* user space was woken */
	take__end(&t);
	assert_int_equal(poll(&epoll, 1, 0), 0);
	switches = context_switches((pid_t)pid) - before;
	assert_true(switches > turns.cnt / 2);
	assert_true(t.lost > 0);
	/* and one row at the start and at the end; if that of the last switch was lost, it is made
	 * at the end */
	assert_in_range(t.cnt + t.lost, switches + 2, switches + 3);
	take__free(&t);
	take__kill((pid_t)pid);
}

static void costs_are_reported(void **state)
{
	struct take t = { 0 };
	struct capture_cost *costs;
	size_t cnt;

	(void)state;
	take__begin(&t, "switch:n");
	take__for(&t, 50);
	take__end(&t);
	costs = capture__costs(t.capture, &cnt);
	assert_non_null(costs);
	assert_in_range(cnt, 4, 32);
	for (size_t i = 0; i < cnt; i++) {
		if (!strcmp(costs[i].program, "switch__switch"))
			assert_true(costs[i].runs > 0 && costs[i].run_ns > 0);
	}
	free(costs);
	take__free(&t);
}

RUN_TESTS(ROOT_TEST(profile_samples_a_busy_child), ROOT_TEST(switch_covers_the_whole_time),
	  ROOT_TEST(a_sleeping_thread_has_two_rows),
	  ROOT_TEST(a_busy_thread_ends_with_a_running_row), ROOT_TEST(a_last_row_is_dead),
	  ROOT_TEST(kernel_threads_have_kernel_stacks_only), ROOT_TEST(a_full_ring_is_counted),
	  ROOT_TEST(costs_are_reported))
