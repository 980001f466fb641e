// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cpu [SECONDS]: burns CPU in known shares: three quarters below render(), one quarter below
 * compress(), part of it in libc's qsort, which calls back into the program.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static NOINLINE uint64_t mix(uint64_t x, int rounds)
{
	for (int i = 0; i < rounds; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static NOINLINE int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static NOINLINE void sort_some(void)
{
	uint64_t v[1000];

	for (int i = 0; i < 1000; i++)
		v[i] = mix((uint64_t)i, 3);
	qsort(v, 1000, sizeof(*v), by_value);
	sink += v[500];
}

static NOINLINE void render_line(void)
{
	sink += mix(sink, 20000);
}

static NOINLINE void render(double until)
{
	while (now() < until)
		render_line();
}

static NOINLINE void compress(double until)
{
	while (now() < until)
		sort_some();
}

static NOINLINE void work(double seconds)
{
	double start = now();

	while (now() - start < seconds) {
		double at = now();

		render(at + 0.03);
		at = now();
		compress(at + 0.01);
	}
}

int main(int argc, char **argv)
{
	work(argc > 1 ? atof(argv[1]) : 10);
	printf("%lu\n", (unsigned long)(sink & 1));
	return 0;
}
