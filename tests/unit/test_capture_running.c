// SPDX-License-Identifier: GPL-2.0-or-later
/* The user stack in an event that is captured where the thread is: in a switch, in a sample. */
#include "capture_scene.h"

#include <fcntl.h>
#include <pthread.h>

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

	scene->top = pthread_self();
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

static void take__switches(struct take *t, const struct scene *scene)
{
	uint32_t pids[1];

	while (!__atomic_load_n(&scene->tid, __ATOMIC_ACQUIRE))
		usleep(1000);
	pids[0] = (uint32_t)scene->tid;
	t->options.filter = (struct capture_filter){ .pids = pids, .pid_cnt = 1 };
	take__begin(t, "switch:u");
	take__for(t, 60);
	take__end(t);
}

/* The next of those that slept after they had been seen running. */
static const struct event *next_sleep(const struct take *t, size_t *i)
{
	while (*i < t->cnt) {
		const struct event *e = t->events[(*i)++];

		if (e->state == EVENT_STATE_SLEEPING && e->duration_ns)
			return e;
	}
	return NULL;
}

static void check_switches(void (*fn)(void *), bool bounce)
{
	struct scene *scene = take__shared(sizeof(*scene));
	struct take t = { .options.bounce = bounce };
	const struct event *e;
	size_t i = 0, rows = 0;
	pid_t pid;

	scene->depth = 40000;
	pid = take__fork(fn, scene);
	take__switches(&t, scene);
	for (; (e = next_sleep(&t, &i)) != NULL; rows++) {
		assert_int_equal(end_of(e), scene->top);
		assert_false(e->flags & EVENT_F_TRUNCATED);
		assert_same_memory(pid, e, EVENT_RED_ZONE);
	}
	assert_true(rows > 5);
	take__free(&t);
	take__kill(pid);
}

static void of_a_switch(void **state)
{
	(void)state;
	check_switches(nap, false);
	check_switches(napping_thread, false);
}

static void by_bounce_buffer(void **state)
{
	(void)state;
	check_switches(nap, true);
	check_switches(napping_thread, true);
}

static void by_bounce_buffer_up_to_the_limit(void **state)
{
	struct scene *scene = take__shared(sizeof(*scene));
	struct take t = { .options = { .bounce = true, .stack_sz = 10000 } };
	const struct event *e;
	size_t i = 0, rows = 0;
	pid_t pid;

	(void)state;
	scene->depth = 40000;
	pid = take__fork(nap, scene);
	take__switches(&t, scene);
	for (; (e = next_sleep(&t, &i)) != NULL; rows++) {
		assert_int_equal(e->ustack_sz, 10000);
		assert_true(e->flags & EVENT_F_TRUNCATED);
		assert_same_memory(pid, e, EVENT_RED_ZONE);
	}
	assert_true(rows > 5);
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

/* In an interrupt of the kernel's own code. */
static void by_bounce_buffer_in_a_sample(void **state)
{
	pid_t pid = take__fork(read_zeros, NULL);
	uint32_t pids[] = { (uint32_t)pid };
	struct take t = { .options = { .bounce = true, .filter = { .pids = pids, .pid_cnt = 1 } } };
	size_t in_kernel = 0;

	(void)state;
	take__begin(&t, "profile:uk:499");
	for (int i = 0; i < 100 && t.cnt < 20; i++)
		take__for(&t, 50);
	take__end(&t);
	for (size_t i = 0; i < t.cnt; i++) {
		assert_int_equal(end_of(t.events[i]), start_stack(pid));
		assert_false(t.events[i]->flags & EVENT_F_TRUNCATED);
		in_kernel += t.events[i]->kstack_sz > 0;
	}
	assert_true(in_kernel > 5);
	take__free(&t);
	take__kill(pid);
}

RUN_TESTS(ROOT_TEST(of_a_switch), ROOT_TEST(by_bounce_buffer),
	  ROOT_TEST(by_bounce_buffer_up_to_the_limit), ROOT_TEST(by_bounce_buffer_in_a_sample))
