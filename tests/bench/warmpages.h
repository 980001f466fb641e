/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BENCH_WARMPAGES_H
#define BENCH_WARMPAGES_H

#include <stdio.h>

/* Reads a file, if it exists, into the page cache: disk time is not measured. */
static inline void pagecache__bring(const char *path)
{
	static char bytes[64 << 10];
	FILE *f = fopen(path, "r");

	while (f && fread(bytes, sizeof(bytes), 1, f) == 1)
		;
	if (f)
		fclose(f);
}

#endif
