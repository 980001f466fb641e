// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/mount.h"

#include <mntent.h>
#include <stdlib.h>
#include <string.h>

char *mount__point(const char *type)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	char *dir = NULL;

	while (f && !dir && (m = getmntent(f)) != NULL)
		if (strcmp(m->mnt_type, type) == 0)
			dir = strdup(m->mnt_dir);
	if (f)
		endmntent(f);
	return dir;
}
