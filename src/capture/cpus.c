// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/cpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONLINE_FILE "/sys/devices/system/cpu/online"

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

int cpus__online(bool *online, size_t cnt)
{
	char *line = NULL;
	size_t cap = 0;
	FILE *f = fopen(ONLINE_FILE, "re");
	int err;

	if (!f)
		return -errno;
	err = getline(&line, &cap, f) < 0 ? -EIO : cpus__parse(line, online, cnt);
	free(line);
	fclose(f);
	return err;
}
