// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/memorylimit.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct hierarchy {
	const char *controllers; /* as in /proc/self/cgroup */
	const char *root, *file;
} hierarchies[] = {
	{ "", "/sys/fs/cgroup", "memory.max" },
	{ "memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes" },
};

/* "max", which is no number, means no limit. */
static size_t memorylimit_read_limit(const char *folder, const char *file)
{
	char path[PATH_MAX + 32];
	size_t limit = SIZE_MAX;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	f = fopen(path, "re");
	if (!f)
		return SIZE_MAX;
	if (fscanf(f, "%zu", &limit) != 1)
		limit = SIZE_MAX;
	fclose(f);
	return limit;
}

static size_t memorylimit_lowest_above(const struct hierarchy *h, const char *cgroup)
{
	char folder[PATH_MAX];
	size_t lowest = SIZE_MAX, root_sz = strlen(h->root);

	if (snprintf(folder, sizeof(folder), "%s%s", h->root, cgroup) >= (int)sizeof(folder))
		return SIZE_MAX;
	for (;;) {
		size_t limit = memorylimit_read_limit(folder, h->file);
		char *slash = strrchr(folder, '/');

		lowest = limit < lowest ? limit : lowest;
		if (strlen(folder) <= root_sz || !slash)
			return lowest;
		*slash = '\0';
	}
}

/* A line of /proc/self/cgroup: "0::/path", "4:memory:/path". */
static size_t memorylimit_of_line(char *line)
{
	char *controllers = strchr(line, ':'), *path;
	size_t lowest = SIZE_MAX;

	path = controllers ? strchr(++controllers, ':') : NULL;
	if (!path)
		return SIZE_MAX;
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(*hierarchies); i++)
		if (strcmp(controllers, hierarchies[i].controllers) == 0)
			lowest = memorylimit_lowest_above(&hierarchies[i], path);
	return lowest;
}

size_t memory_limit__of_cgroup(void)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	size_t lowest = SIZE_MAX;
	char line[PATH_MAX];

	while (f && fgets(line, sizeof(line), f)) {
		size_t limit = memorylimit_of_line(line);

		lowest = limit < lowest ? limit : lowest;
	}
	if (f)
		fclose(f);
	return lowest;
}

uint32_t memory_limit__ring_sz(size_t limit_sz, size_t cpu_cnt, uint32_t most, uint32_t least)
{
	while (most / 2 >= least && most > limit_sz / 4 / cpu_cnt)
		most /= 2;
	return most;
}
