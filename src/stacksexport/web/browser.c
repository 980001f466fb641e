// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/parse.h"

#define WAIT_NS	   3000000000
#define LOOK_US	   20000
#define ARGS_MAX   16
#define SETTING_SZ 512

enum { SETTING_HOME, SETTING_USER, SETTING_LOGNAME, SETTING_RUNTIME_DIR, SETTING_CNT };

extern char **environ;

/* The command line of a browser: of setpriv(1) and env(1), and of the program itself. */
struct browser {
	char *argv[ARGS_MAX];
	char ids[2][32], settings[SETTING_CNT][SETTING_SZ];
	size_t arg_cnt;
};

static void browser_add(struct browser *b, const char *arg)
{
	b->argv[b->arg_cnt++] = (char *)arg;
}

/* Returns NULL if there is no browser. $BROWSER may be a list of patterns: xdg-open reads those. */
static const char *browser_program(void)
{
	const char *program = getenv("BROWSER");

	if (program && *program && !strpbrk(program, ": %"))
		return program;
	return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY") ? "xdg-open" : NULL;
}

static const struct passwd *browser_caller_of_sudo(void)
{
	const char *id = getenv("SUDO_UID");
	uint64_t uid;

	if (!id || parse__u64(id, &uid) || !uid || uid >= UINT32_MAX)
		return NULL;
	return getpwuid((uid_t)uid);
}

/* Adds what makes the program run as this user, in the environment of a login. */
static void browser_become(struct browser *b, const struct passwd *pw)
{
	snprintf(b->ids[0], sizeof(b->ids[0]), "--reuid=%u", pw->pw_uid);
	snprintf(b->ids[1], sizeof(b->ids[1]), "--regid=%u", pw->pw_gid);
	snprintf(b->settings[SETTING_HOME], SETTING_SZ, "HOME=%s", pw->pw_dir);
	snprintf(b->settings[SETTING_USER], SETTING_SZ, "USER=%s", pw->pw_name);
	snprintf(b->settings[SETTING_LOGNAME], SETTING_SZ, "LOGNAME=%s", pw->pw_name);
	snprintf(b->settings[SETTING_RUNTIME_DIR], SETTING_SZ, "XDG_RUNTIME_DIR=/run/user/%u",
		 pw->pw_uid);
	browser_add(b, "setpriv");
	browser_add(b, b->ids[0]);
	browser_add(b, b->ids[1]);
	browser_add(b, "--init-groups");
	browser_add(b, "env");
	for (size_t i = 0; i < SETTING_CNT; i++)
		browser_add(b, b->settings[i]);
}

/* Starts it in a session of its own, so that Ctrl-C does not end it, without the blocked signals
 * of this program. Its messages are dropped. */
static bool browser_spawn(struct browser *b, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	int err = posix_spawn_file_actions_init(&files);

	if (err)
		return false;
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDERR_FILENO);
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	err = posix_spawnp(pid, b->argv[0], &files, &attributes, b->argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return err == 0;
}

/* xdg-open ends as soon as the browser has the address; a browser that it had to start may go on.
 */
static bool browser_has_opened(pid_t pid)
{
	uint64_t begin_ns = monotonic__ns();
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (monotonic__ns() - begin_ns > WAIT_NS)
			return true;
		usleep(LOOK_US);
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool browser__open(const char *url)
{
	const char *program = browser_program();
	const struct passwd *caller = geteuid() == 0 ? browser_caller_of_sudo() : NULL;
	struct browser b = { .arg_cnt = 0 };
	pid_t pid;

	if (!program || (geteuid() == 0 && !caller))
		return false;
	if (caller)
		browser_become(&b, caller);
	browser_add(&b, program);
	browser_add(&b, url);
	return browser_spawn(&b, &pid) && browser_has_opened(pid);
}
