// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/recfilepair.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

size_t recfile_pair__paths(const struct recfile_pair *p, const char *paths[RECFILES_OF_PAIR])
{
	const char *const all[RECFILES_OF_PAIR] = { p->events, p->stacktraces, p->processes };
	size_t cnt = 0;

	for (size_t i = 0; i < RECFILES_OF_PAIR; i++)
		if (all[i])
			paths[cnt++] = all[i];
	return cnt;
}

off_t recfile_pair__sz(const struct recfile_pair *p)
{
	const char *paths[RECFILES_OF_PAIR];
	size_t cnt = recfile_pair__paths(p, paths);
	struct stat st;
	off_t sz = 0;

	for (size_t i = 0; i < cnt; i++)
		sz += stat(paths[i], &st) == 0 ? st.st_size : 0;
	return sz;
}

bool recfile_pair__is_removed(const struct recfile_pair *p)
{
	const char *paths[RECFILES_OF_PAIR];
	size_t cnt = recfile_pair__paths(p, paths);

	for (size_t i = 0; i < cnt; i++)
		if (access(paths[i], F_OK) != 0 && errno == ENOENT)
			return true;
	return false;
}
