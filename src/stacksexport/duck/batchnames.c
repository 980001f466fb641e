// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/batchnames.h"

#include <stdio.h>
#include <string.h>

const char *batch_name__of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *batch_name__prefix(const char *path)
{
	static const char *const prefixes[] = { BATCH_EVENTS, BATCH_STACKTRACES, BATCH_PROCESSES };
	const char *name = batch_name__of(path);
	size_t sz = strlen(name);

	if (sz <= strlen(BATCH_SUFFIX) ||
	    strcmp(name + sz - strlen(BATCH_SUFFIX), BATCH_SUFFIX) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return prefixes[i];
	return NULL;
}

char *batch_name__sibling(const char *path, const char *prefix)
{
	const char *name = batch_name__of(path);
	char *out;

	if (asprintf(&out, "%.*s%s%s", (int)(name - path), path, prefix,
		     name + strlen(batch_name__prefix(path))) < 0)
		return NULL;
	return out;
}
