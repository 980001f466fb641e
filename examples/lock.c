// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lock [SECONDS] [THREADS]: threads (default 4) take turns at one mutex. Whoever has it holds it
 * for 2 ms, asleep in update_account() as if it waited for a disk; the others wait in
 * lock_account().
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
static double until;
static long turns;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static NOINLINE void lock_account(void)
{
	pthread_mutex_lock(&account);
}

static NOINLINE void update_account(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	turns++;
}

static NOINLINE void transfer(void)
{
	lock_account();
	update_account();
	pthread_mutex_unlock(&account);
}

static NOINLINE void *worker(void *arg)
{
	(void)arg;
	while (now() < until)
		transfer();
	return NULL;
}

int main(int argc, char **argv)
{
	int cnt = argc > 2 ? atoi(argv[2]) : 4;
	pthread_t threads[64];

	if (cnt < 1 || cnt > 64)
		return 2;
	until = now() + (argc > 1 ? atof(argv[1]) : 10);
	for (int i = 0; i < cnt; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
	printf("%ld turns\n", turns);
	return 0;
}
