// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/profile/viewer.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "stacksexport/duck/share.h"

/* The version of tools/setup: later ones need a newer Go than Debian 12 has. */
#define PPROF "github.com/google/pprof@v0.0.0-20240227163752-401108e1b7e7"

/* pprof's first page is a graph, which needs graphviz. */
#define FLAME_GRAPH "the flame graph is its page /ui/flamegraph"

extern char **environ;

static bool viewer_find_in_path(const char *program, char *out, size_t sz)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t dir = strcspn(path, ":");

		if (dir && snprintf(out, sz, "%.*s/%s", (int)dir, path, program) < (int)sz &&
		    access(out, X_OK) == 0)
			return true;
		path += dir + (path[dir] == ':');
	}
	return false;
}

/* Finds the viewer that `make setup` puts beside a build. It must belong to this user, because the
 * build may lie in /tmp. */
static bool viewer_find_beside(char *out)
{
	char path[PATH_MAX];
	struct stat st;

	return share__path("../../../.deps/bin/pprof", path, sizeof(path)) == 0 &&
	       realpath(path, out) && stat(out, &st) == 0 &&
	       (st.st_uid == 0 || st.st_uid == geteuid()) && access(out, X_OK) == 0;
}

static bool viewer_person_is_there(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
}

static void viewer_run(const char *pprof, const char *path)
{
	char *argv[] = { (char *)"pprof", (char *)"-http=:", (char *)path, NULL };
	int status, err;
	pid_t pid;

	log__info("opening pprof -http=: %s (" FLAME_GRAPH "); Ctrl-C ends it", path);
	err = posix_spawn(&pid, pprof, NULL, NULL, argv, environ);
	if (err) {
		log__warn("cannot run %s: %s", pprof, strerror(err));
		return;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

void viewer__show(const char *path, bool open)
{
	char pprof[PATH_MAX];
	bool in_path = viewer_find_in_path("pprof", pprof, sizeof(pprof));
	bool installed = in_path || viewer_find_beside(pprof);

	if (installed && open && viewer_person_is_there())
		viewer_run(pprof, path);
	else
		log__info("open it with: %s -http=: %s (" FLAME_GRAPH "%s)",
			  installed && !in_path ? pprof : "pprof", path,
			  installed ? "" : "; pprof: go install " PPROF);
}
