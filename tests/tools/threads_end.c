// SPDX-License-Identifier: GPL-2.0-or-later
/* threads_end N: N processes, one after another, of eight threads that end at the same time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8

static pthread_barrier_t together;

static void *leave(void *arg)
{
	pthread_barrier_wait(&together);
	syscall(SYS_exit, 3);
	return arg;
}

static void be_many(void)
{
	pthread_t t;

	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 1; i < THREADS; i++) {
		if (pthread_create(&t, NULL, leave, NULL))
			_exit(1);
	}
	leave(NULL);
}

int main(int argc, char **argv)
{
	int cnt = argc > 1 ? atoi(argv[1]) : 1, status;

	for (int i = 0; i < cnt; i++) {
		if (fork() == 0)
			be_many();
		if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
			return 1;
	}
	return 0;
}
