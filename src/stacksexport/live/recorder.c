// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/live/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "stacksexport/live/livesources.h"

/* Batches of a second, of which a minute is kept: what is older is not shown. */
#define BATCH "1s"
#define KEEP  "1m"

#define SOURCES "profile,switch" /* without -p */

#define LOG_MAX 2000 /* bytes of the log that are printed */

extern char **environ;

/* Writes the path of the program beside this one; of that in PATH if there is none. */
static void recorder_find_program(char path[4096])
{
	ssize_t sz = readlink("/proc/self/exe", path, 4000);
	char *slash = sz > 0 ? memrchr(path, '/', (size_t)sz) : NULL;

	if (slash)
		snprintf(slash + 1, (size_t)(path + 4096 - slash - 1), "collector");
	if (!slash || access(path, X_OK) != 0)
		snprintf(path, 4096, "collector");
}

static int recorder_spawn_collector(struct recorder *r, char *const *argv)
{
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return -err;
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, r->log,
					 O_WRONLY | O_CREAT | O_TRUNC, 0600);
	err = posix_spawnp(&r->pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

static int recorder_spawn(struct recorder *r, const char *sources)
{
	char program[4096];
	const char *argv[] = { program,	 "-d", r->recording, "--batch", BATCH,
			       "--keep", KEEP, "-p",	     sources,	NULL };
	int err;

	recorder_find_program(program);
	err = sources ? recorder_spawn_collector(r, (char *const *)argv) : -ENOMEM;
	if (err) {
		r->pid = 0;
		log__error("cannot start %s: %s", program, strerror(-err));
	}
	return err;
}

int recorder__start(struct recorder *r, const char *sources)
{
	char *with_stacks;
	int err;

	*r = (struct recorder){ .folder = "/tmp/stacks-live-XXXXXX" };
	if (!mkdtemp(r->folder)) {
		err = -errno;
		r->folder[0] = '\0';
		log__error("cannot make a folder in /tmp: %s", strerror(-err));
		return err;
	}
	snprintf(r->recording, sizeof(r->recording), "%s/recording", r->folder);
	snprintf(r->log, sizeof(r->log), "%s/log", r->folder);
	with_stacks = live_sources__with_stacks(sources ? sources : SOURCES);
	err = recorder_spawn(r, with_stacks);
	free(with_stacks);
	return err;
}

bool recorder__has_ended(struct recorder *r)
{
	if (r->pid && waitpid(r->pid, NULL, WNOHANG) == r->pid)
		r->pid = 0;
	return !r->pid;
}

void recorder__print_log(const struct recorder *r)
{
	FILE *f = fopen(r->log, "re");
	char text[LOG_MAX + 1];
	size_t sz;

	if (!f)
		return;
	if (fseek(f, -LOG_MAX, SEEK_END) != 0)
		rewind(f);
	sz = fread(text, 1, LOG_MAX, f);
	fwrite(text, 1, sz, stderr);
	fclose(f);
}

static int recorder_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void recorder__stop(struct recorder *r)
{
	if (r->pid) {
		kill(r->pid, SIGINT);
		while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
			;
		r->pid = 0;
	}
	if (r->folder[0])
		nftw(r->folder, recorder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	r->folder[0] = '\0';
}
