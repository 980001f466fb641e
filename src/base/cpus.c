// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPUS_MAX 8192 /* CONFIG_NR_CPUS of the largest kernel configurations */
#define FOLDER	 "/sys/devices/system/cpu/"

int cpus__parse(const char *list, bool *online, size_t cnt)
{
	memset(online, 0, cnt * sizeof(*online));
	while (*list && *list != '\n') {
		unsigned from, to;
		int len = 0;

		if (sscanf(list, "%u%n", &from, &len) != 1)
			return -EINVAL;
		list += len;
		to = from;
		if (sscanf(list, "-%u%n", &to, &len) == 1)
			list += len;
		if (*list == ',')
			list++;
		else if (*list && *list != '\n')
			return -EINVAL;
		for (size_t i = from; i <= to && i < cnt; i++)
			online[i] = true;
	}
	return 0;
}

static int cpus_read_list(const char *path, bool *cpus, size_t cnt)
{
	char *line = NULL;
	size_t cap = 0;
	FILE *f = fopen(path, "re");
	int err;

	if (!f)
		return -errno;
	err = getline(&line, &cap, f) < 0 ? -EIO : cpus__parse(line, cpus, cnt);
	free(line);
	fclose(f);
	return err;
}

size_t cpus__possible(void)
{
	bool cpus[CPUS_MAX] = { false };
	size_t cnt = CPUS_MAX;

	if (cpus_read_list(FOLDER "possible", cpus, CPUS_MAX) != 0)
		return (size_t)sysconf(_SC_NPROCESSORS_CONF);
	while (cnt > 1 && !cpus[cnt - 1])
		cnt--;
	return cnt;
}

int cpus__online(bool *online, size_t cnt)
{
	return cpus_read_list(FOLDER "online", online, cnt);
}
