// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pace SWITCHES_PER_SECOND SECONDS: two processes on one CPU that pass a byte to and fro, from a
 * stack of a dozen frames and some KiB, like the workers of a database.
 */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS 10000000
#define DEPTH	 10

struct player {
	int from, to;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Waits for the byte in the innermost of `depth` calls. */
__attribute__((noinline)) static int pass(const struct player *p, int depth)
{
	volatile char room[256];
	char byte = 0;

	room[0] = (char)depth;
	if (depth)
		return pass(p, depth - 1) + room[0];
	return read(p->from, &byte, 1) == 1 && write(p->to, &byte, 1) == 1 ? 0 : -1000;
}

static int serve(const struct player *p, uint64_t per_slice, uint64_t slices)
{
	uint64_t next_ns = now_ns();
	char byte = 0;

	if (write(p->to, &byte, 1) != 1)
		return 1;
	for (; slices; slices--) {
		for (uint64_t i = 0; i < per_slice; i++)
			if (pass(p, DEPTH) < 0)
				return 1;
		next_ns += SLICE_NS;
		while (now_ns() < next_ns)
			usleep(100);
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t per_s = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	int there[2], back[2];
	cpu_set_t cpu;

	if (!per_s || pipe(there) || pipe(back)) {
		fprintf(stderr, "usage: pace SWITCHES_PER_SECOND SECONDS\n");
		return 2;
	}
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	if (fork() == 0) {
		const struct player p = { there[0], back[1] };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (pass(&p, DEPTH) >= 0)
			;
		_exit(0);
	}
	return serve(&(struct player){ back[0], there[1] }, per_s / 2 / (1000000000 / SLICE_NS),
		     strtoul(argv[2], NULL, 10) * (1000000000 / SLICE_NS));
}
