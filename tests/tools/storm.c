// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * storm PROCESSES THREADS [PROGRAM]: starts and ends this many processes, two at a time, then as
 * many threads. Processes execute PROGRAM, or else this one.
 */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPAWNERS 2

extern char **environ;

struct share {
	const char *program;
	unsigned long processes, threads;
};

static void *ends(void *arg)
{
	return arg;
}

static void *spawns(void *arg)
{
	const struct share *s = arg;
	char *argv[] = { (char *)s->program, NULL };

	for (unsigned long i = 0; i < s->processes; i++) {
		pid_t pid;

		if (posix_spawn(&pid, s->program, NULL, NULL, argv, environ) != 0)
			return "posix_spawn";
		waitpid(pid, NULL, 0);
	}
	for (unsigned long i = 0; i < s->threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, ends, NULL) != 0)
			return "pthread_create";
		pthread_join(thread, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[SPAWNERS];
	struct share s = { "/proc/self/exe", 0, 0 };
	void *failed, *any = NULL;

	if (argc < 3)
		return 0; /* one of the processes */
	s.processes = strtoul(argv[1], NULL, 10) / SPAWNERS;
	s.threads = strtoul(argv[2], NULL, 10) / SPAWNERS;
	if (argc > 3)
		s.program = argv[3];
	for (int i = 0; i < SPAWNERS; i++)
		if (pthread_create(&threads[i], NULL, spawns, &s) != 0)
			return 1;
	for (int i = 0; i < SPAWNERS; i++) {
		pthread_join(threads[i], &failed);
		any = failed ? failed : any;
	}
	if (any)
		fprintf(stderr, "storm: %s failed\n", (const char *)any);
	return any != NULL;
}
