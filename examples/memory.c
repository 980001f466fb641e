// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * memory [MB] [SECONDS]: a program that grows: cache_row() keeps MB (default 64) in small pieces,
 * share_table() MB/2 that a child could see, and parse_batch() uses MB/4 twice and gives it back.
 * Prints how many KB each has touched, and how many the program has in RAM then.
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE  __attribute__((noinline))
#define ROW_SZ	  1024
#define HEADER_SZ 8 /* of malloc() */
#define MB_SZ	  (1ul << 20)

static char **cache;

static NOINLINE void cache_row(size_t i)
{
	cache[i] = malloc(ROW_SZ - HEADER_SZ);
	if (!cache[i])
		exit(1);
	memset(cache[i], 'x', ROW_SZ - HEADER_SZ);
}

static NOINLINE char *map(size_t sz, int flags)
{
	char *p = mmap(NULL, sz, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	memset(p, 'x', sz);
	return p;
}

static NOINLINE void share_table(size_t sz)
{
	map(sz, MAP_SHARED)[0] = 'y';
}

static NOINLINE void parse_batch(size_t sz)
{
	munmap(map(sz, MAP_PRIVATE), sz);
}

/* The kernel's own count of pages, not what a counter says. */
static long resident_kb(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[128];
	long kb = 0;

	while (f && !kb && fgets(line, sizeof(line), f))
		sscanf(line, "Rss: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

int main(int argc, char **argv)
{
	size_t sz = (argc > 1 ? (size_t)atol(argv[1]) : 64) * MB_SZ, cnt = sz / ROW_SZ;

	cache = calloc(cnt, sizeof(*cache));
	if (!cache)
		return 1;
	for (size_t i = 0; i < cnt; i++)
		cache_row(i);
	share_table(sz / 2);
	parse_batch(sz / 4);
	parse_batch(sz / 4);
	printf("cache_row %zu share_table %zu parse_batch %zu", sz / 1024, sz / 2048, sz / 2048);
	printf(" resident %ld\n", resident_kb());
	fflush(stdout);
	sleep(argc > 2 ? (unsigned)atoi(argv[2]) : 0);
	return 0;
}
