// SPDX-License-Identifier: GPL-2.0-or-later
/* src/capture/rings.c: the programs load for the largest number of CPUs, and record on a machine
 * with few. */
#include "lib/capture_take.h"

#define LARGEST 8192 /* CONFIG_NR_CPUS_RANGE_END of x86-64 */

static void touch(void *arg)
{
	uint8_t *pages;

	(void)arg;
	for (;;) {
		pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		for (size_t i = 0; i < 1 << 20; i += 4096)
			pages[i] = 1;
		munmap(pages, 1 << 20);
		usleep(1000);
	}
}

/* Up to the largest number, the verifier checks the memory of all CPUs, one after another. */
static void programs_load_for_the_largest_number_of_cpus(void **state)
{
	static const size_t cnts[] = { 512, LARGEST };

	(void)state;
	for (size_t i = 0; i < sizeof(cnts) / sizeof(*cnts); i++) {
		pid_t pid = take__fork(touch, NULL);
		uint32_t pids[] = { (uint32_t)pid };
		struct take t = { .options = { .cpu_cnt = cnts[i],
					       .filter = { .pids = pids, .pid_cnt = 1 } } };

		take__begin(&t, "rss:u:0,switch:uk,profile:u");
		take__wait(&t, pid, 10);
		take__end(&t);
		take__free(&t);
		take__kill(pid);
	}
}

RUN_TESTS(ROOT_TEST(programs_load_for_the_largest_number_of_cpus))
