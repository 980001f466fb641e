// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads with deep call chains that wait for each other, and end by return, pthread_exit and
 * cancellation. */
#include <pthread.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define THREADS	 3

static pthread_barrier_t all, two;
static volatile long sink;

static NOINLINE void descend(int depth, void (*at_end)(void))
{
	volatile long v[4] = { depth };

	if (depth)
		descend(depth - 1, at_end);
	else
		at_end();
	sink += v[0];
}

static void wait_for_all(void)
{
	pthread_barrier_wait(&all);
}

static void wait_for_main(void)
{
	pthread_barrier_wait(&two);
}

static void leave(void)
{
	pthread_exit(NULL);
}

static void wait_for_end(void)
{
	for (;;)
		pause();
}

static void *work(void *arg)
{
	static void (*const ends[THREADS])(void) = { wait_for_main, leave, wait_for_end };

	descend(4, wait_for_all);
	descend(2, ends[(long)arg]);
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&all, NULL, THREADS + 1);
	pthread_barrier_init(&two, NULL, 2);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	descend(3, wait_for_all);
	descend(1, wait_for_main);
	pthread_cancel(threads[2]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
