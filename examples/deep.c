// SPDX-License-Identifier: GPL-2.0-or-later
/* deep [SECONDS] [DEPTH]: descend() calls itself DEPTH times (default 200); below it, spin() uses
 * SECONDS of CPU time (default 10). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;
static double until;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static NOINLINE void spin(void)
{
	for (int i = 0; i < 100000; i++)
		sink += (uint64_t)i * sink;
}

static NOINLINE void descend(int depth)
{
	if (depth > 0)
		descend(depth - 1);
	else
		while (now() < until)
			spin();
	sink++;
}

int main(int argc, char **argv)
{
	until = now() + (argc > 1 ? atof(argv[1]) : 10);
	descend(argc > 2 ? atoi(argv[2]) : 200);
	printf("%lu\n", (unsigned long)(sink & 1));
	return 0;
}
