// SPDX-License-Identifier: GPL-2.0-or-later
/* bpf/ustack.bpf.h: the user stack in an event of a running thread, in a switch and in a sample. */
#include "lib/capture_scene.h"

#include <fcntl.h>
#include <pthread.h>

#include "event/sample.h"

static volatile bool stop; /* never */

static __attribute__((noinline)) void nap_deep(size_t left)
{
	volatile uint8_t pattern[4096];

	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(left / 4096 + i);
	if (left > sizeof(pattern))
		nap_deep(left - sizeof(pattern));
	else
		while (!stop)
			usleep(2000);
	pattern[0] = 0; /* no tail call */
}

static void nap(void *arg)
{
	struct scene *scene = arg;

	scene->top = start_stack(getpid());
	__atomic_store_n(&scene->tid, gettid(), __ATOMIC_RELEASE);
	nap_deep(scene->depth);
}

static void *nap_in_thread(void *arg)
{
	struct scene *scene = arg;

	scene->top = (uint64_t)__builtin_thread_pointer();
	__atomic_store_n(&scene->tid, gettid(), __ATOMIC_RELEASE);
	nap_deep(scene->depth);
	return NULL;
}

static void napping_thread(void *arg)
{
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, nap_in_thread, arg), 0);
	pthread_join(t, NULL);
}

/* Returns the next of the sleeps after the thread has been seen running. */
static const struct event *next_sleep(const struct take *t, size_t *i)
{
	while (*i < t->cnt) {
		const struct event *e = t->events[(*i)++];

		if (e->state == EVENT_STATE_SLEEPING && e->duration_ns)
			return e;
	}
	return NULL;
}

static size_t sleeps(const struct take *t)
{
	size_t i = 0, cnt = 0;

	while (next_sleep(t, &i))
		cnt++;
	return cnt;
}

static void take__switches(struct take *t, const struct scene *scene)
{
	uint32_t pids[1];

	while (!__atomic_load_n(&scene->tid, __ATOMIC_ACQUIRE))
		usleep(1000);
	pids[0] = (uint32_t)scene->tid;
	t->options.filter = (struct capture_filter){ .pids = pids, .pid_cnt = 1 };
	take__begin(t, "switch:u");
	while (sleeps(t) <= 5)
		take__look_again(t);
	take__end(t);
}

static void check_switches(void (*fn)(void *), bool bounce)
{
	struct scene *scene = take__shared(sizeof(*scene));
	struct take t = { .options.bounce = bounce };
	const struct event *e;
	size_t i = 0;
	pid_t pid;

	scene->depth = 40000;
	pid = take__fork(fn, scene);
	take__switches(&t, scene);
	while ((e = next_sleep(&t, &i)) != NULL) {
		assert_int_equal(end_of(e), scene->top);
		assert_false(e->flags & EVENT_F_TRUNCATED);
		assert_same_memory(pid, e, EVENT_RED_ZONE);
	}
	take__free(&t);
	take__kill(pid);
}

static void a_switch_copies_the_stack(void **state)
{
	(void)state;
	check_switches(nap, false);
	check_switches(napping_thread, false);
}

static void a_bounce_buffer_copies_the_stack(void **state)
{
	(void)state;
	check_switches(nap, true);
	check_switches(napping_thread, true);
}

static void a_bounce_buffer_stops_at_the_limit(void **state)
{
	struct scene *scene = take__shared(sizeof(*scene));
	struct take t = { .options = { .bounce = true, .stack_sz = 10000 } };
	const struct event *e;
	size_t i = 0, cnt = 0;
	pid_t pid;

	(void)state;
	scene->depth = 40000;
	pid = take__fork(nap, scene);
	take__switches(&t, scene);
	while ((e = next_sleep(&t, &i)) != NULL) {
		if (scene->top - e->stack_addr < scene->depth)
			continue; /* before that it waited for a page of its file */
		/* a page with nothing but red zone may not be in memory */
		assert_int_equal(end_of(e), e->regs[EVENT_REG_SP] - EVENT_RED_ZONE + 10000);
		assert_true(e->flags & EVENT_F_TRUNCATED);
		assert_same_memory(pid, e, EVENT_RED_ZONE);
		cnt++;
	}
	assert_true(cnt > 0);
	take__free(&t);
	take__kill(pid);
}

static void read_zeros(void *arg)
{
	static uint8_t zeros[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);

	(void)arg;
	while (read(fd, zeros, sizeof(zeros)) == sizeof(zeros))
		;
}

struct gap {
	void *from;
	size_t sz;
	const struct gap *outer;
};

/* The visit of a sleeping thread at the start of the recording brings its pages in, so they are
 * dropped before every nap. */
static void nap_without(const struct gap *gaps)
{
	while (!stop) {
		for (const struct gap *g = gaps; g; g = g->outer)
			assert_int_equal(madvise(g->from, g->sz, MADV_DONTNEED), 0);
		usleep(2000);
	}
}

/* Naps with a buffer between its frames; only the first and the last bytes of the buffer are
 * touched. */
static __attribute__((noinline)) void nap_behind(struct scene *scene, size_t again,
						 const struct gap *outer)
{
	volatile uint8_t *buffer = __builtin_alloca(scene->depth), *end = buffer + scene->depth;
	uintptr_t from = ((uintptr_t)buffer | (EVENT_PAGE - 1)) + 1;
	size_t sz = ((uintptr_t)(end - 1) & -(uintptr_t)EVENT_PAGE) - from;
	const struct gap gap = { (void *)from, sz, outer };

	buffer[0] = end[-1] = 1;
	scene->missing += sz / EVENT_PAGE;
	if (again)
		nap_behind(scene, again - 1, &gap);
	__atomic_store_n(&scene->tid, gettid(), __ATOMIC_RELEASE);
	nap_without(&gap);
	buffer[0] = 0;
}

static void nap_behind_buffers(void *arg)
{
	struct scene *scene = arg;

	scene->top = start_stack(getpid());
	nap_behind(scene, scene->again, NULL);
}

static size_t missing_cnt(const struct event *e)
{
	const uint8_t *holes = event__holes(e);
	size_t cnt = 0;

	for (size_t i = 0; holes && i < EVENT_HOLES_SZ * 8; i++)
		cnt += holes[i / 8] >> i % 8 & 1;
	return cnt;
}

/* The program's memory has zeros in the missing pages. */
static bool is_same_memory(pid_t pid, const struct snapshot *s, uint64_t from)
{
	uint64_t word, expected;

	for (uint64_t at = from; at + 8 <= s->addr + s->sz; at += 8) {
		struct iovec local = { &expected, 8 }, remote = { (void *)(uintptr_t)at, 8 };

		assert_int_equal(process_vm_readv(pid, &local, 1, &remote, 1, 0), 8);
		if (!snapshot__word(s, at, &word))
			word = 0;
		if (word != expected)
			return false;
	}
	return true;
}

/* Page by page, like the unwinder. */
static void assert_spread_memory(pid_t pid, const struct event *e)
{
	static uint8_t room[SNAPSHOT_ROOM_SZ];
	struct sample sample;

	event__sample(e, &sample);
	snapshot__spread(&sample.stack, event__holes(e), room);
	assert_int_equal(sample.stack.sz, e->ustack_sz + missing_cnt(e) * EVENT_PAGE);
	for (int i = 0; i < AWAKE_TRIES; i++) {
		if (is_same_memory(pid, &sample.stack, e->stack_addr + EVENT_RED_ZONE))
			return;
		usleep(1000);
	}
	fail();
}

static void check_holes(struct scene *scene, bool bounce)
{
	struct take t = { .options = { .bounce = bounce, .stack_sz = EVENT_STACK_MAX } };
	const struct event *e;
	pid_t pid = take__fork(nap_behind_buffers, scene);
	bool compared = false;
	size_t i = 0;

	take__switches(&t, scene);
	next_sleep(&t, &i); /* it may have been visited just before */
	while ((e = next_sleep(&t, &i)) != NULL) {
		assert_int_equal(missing_cnt(e), scene->missing);
		assert_int_equal(end_of(e) + scene->missing * EVENT_PAGE, scene->top);
		assert_false(e->flags & EVENT_F_TRUNCATED);
		if (!compared)
			assert_spread_memory(pid, e);
		compared = true;
	}
	take__free(&t);
	take__kill(pid);
}

/* In one hole, and in several. */
static void missing_pages_are_skipped(void **state)
{
	(void)state;
	if (page_sz() > EVENT_PAGE)
		skip_because("BPF skips 32 times 4 KB: too little for larger pages");
	for (int i = 0; i < 4; i++) {
		struct scene *scene = take__shared(sizeof(*scene));

		scene->depth = (i & 1 ? 4 : 12) * EVENT_PAGE;
		scene->again = i & 1 ? 3 : 0;
		check_holes(scene, i & 2);
		assert_in_range(scene->missing, 8, 12);
	}
}

/* Too many pages: the copy ends there. */
static void a_large_hole_ends_the_copy(void **state)
{
	struct scene *scene = take__shared(sizeof(*scene));
	struct take t = { .options.stack_sz = EVENT_STACK_MAX };
	const struct event *e;
	size_t i = 0;
	pid_t pid;

	(void)state;
	scene->depth = 100 * 4096;
	pid = take__fork(nap_behind_buffers, scene);
	take__switches(&t, scene);
	next_sleep(&t, &i); /* it may have been visited just before */
	while ((e = next_sleep(&t, &i)) != NULL) {
		assert_int_equal(missing_cnt(e), 0);
		assert_true(e->flags & EVENT_F_TRUNCATED);
		assert_same_memory(pid, e, EVENT_RED_ZONE);
	}
	take__free(&t);
	take__kill(pid);
}

static size_t with_kernel_stack(const struct take *t)
{
	size_t cnt = 0;

	for (size_t i = 0; i < t->cnt; i++)
		cnt += t->events[i]->kstack_sz > 0;
	return cnt;
}

/* In an interrupt of kernel code. */
static void a_bounce_buffer_works_in_a_sample(void **state)
{
	pid_t pid = take__fork(read_zeros, NULL);
	uint32_t pids[] = { (uint32_t)pid };
	struct take t = { .options = { .bounce = true, .filter = { .pids = pids, .pid_cnt = 1 } } };

	(void)state;
	take__begin(&t, "profile:uk:499");
	while (with_kernel_stack(&t) <= 5)
		take__look_again(&t);
	take__end(&t);
	for (size_t i = 0; i < t.cnt; i++) {
		assert_int_equal(end_of(t.events[i]), start_stack(pid));
		assert_false(t.events[i]->flags & EVENT_F_TRUNCATED);
	}
	take__free(&t);
	take__kill(pid);
}

RUN_TESTS(ROOT_TEST(a_switch_copies_the_stack), ROOT_TEST(a_bounce_buffer_copies_the_stack),
	  ROOT_TEST(a_bounce_buffer_stops_at_the_limit),
	  ROOT_TEST(a_bounce_buffer_works_in_a_sample), ROOT_TEST(missing_pages_are_skipped),
	  ROOT_TEST(a_large_hole_ends_the_copy))
