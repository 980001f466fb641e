// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sleeper [SECONDS]: sleeps in two places, one part in fetch() and three in backoff(), and prints
 * how long it slept in each, by its own clock: "fetch 0.250 backoff 0.750".
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static NOINLINE double pause_for(long ns)
{
	double start = now();

	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
	return now() - start;
}

static NOINLINE double fetch(void)
{
	return pause_for(5000000) + 0;
}

static NOINLINE double backoff(void)
{
	return pause_for(15000000) + 0;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 10, start = now(), fetched = 0, backed_off = 0;

	while (now() - start < seconds) {
		fetched += fetch();
		backed_off += backoff();
	}
	printf("fetch %.3f backoff %.3f\n", fetched, backed_off);
	return 0;
}
