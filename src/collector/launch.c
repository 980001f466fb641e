// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <paths.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"

#define TERM_GRACE_MS 5000
#define MEANWHILE_MS  10

/* One pipe carries the parent's permission to exec, the other the child's errno if exec fails. */
struct pipes {
	int go[2], exec[2];
};

static bool launch_env_id(const char *name, unsigned *id)
{
	const char *s = getenv(name);
	uint64_t v;

	if (!s || parse__u64(s, &v) || v >= UINT32_MAX)
		return false;
	*id = (unsigned)v;
	return true;
}

struct caller caller__get(void)
{
	struct caller c = { .uid = getuid(), .gid = getgid() };
	unsigned uid, gid;

	if (geteuid() == 0 && launch_env_id("SUDO_UID", &uid) && launch_env_id("SUDO_GID", &gid))
		c = (struct caller){ uid, gid, true };
	return c;
}

/* Runs in the child: becomes the user `as` permanently, with its groups and the environment of a
 * login. */
static int launch_become(const struct caller *as)
{
	const struct passwd *pw = getpwuid(as->uid);

	if (pw ? initgroups(pw->pw_name, as->gid) : setgroups(0, NULL))
		return -errno;
	if (setresgid(as->gid, as->gid, as->gid) || setresuid(as->uid, as->uid, as->uid))
		return -errno;
	if (!pw)
		return 0;
	setenv("HOME", pw->pw_dir, 1);
	setenv("USER", pw->pw_name, 1);
	setenv("LOGNAME", pw->pw_name, 1);
	setenv("SHELL", pw->pw_shell, 1);
	return 0;
}

/* Returns the exit status that a shell would give. */
static int launch_status_of(int err)
{
	return err == ENOENT ? 127 : 126;
}

static void __attribute__((noreturn))
launch_child(const struct pipes *p, char **argv, const struct caller *as)
{
	sigset_t none;
	int err = 0;
	char go;

	/* its first rows are from before the exec */
	prctl(PR_SET_NAME, basename(argv[0]));
	if (read(p->go[0], &go, sizeof(go)) != sizeof(go))
		_exit(0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (as && as->sudo)
		err = -launch_become(as);
	if (!err) {
		execvp(argv[0], argv);
		err = errno;
	}
	if (write(p->exec[1], &err, sizeof(err)) != sizeof(err))
		_exit(125);
	_exit(launch_status_of(err));
}

/* Returns 0, or the errno for a file that certainly cannot be run. The caller may see a file that
 * root may not (a home on NFS). */
static int launch_why_not(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == EACCES ? 0 : errno;
	return S_ISREG(st.st_mode) && st.st_mode & 0111 ? 0 : EACCES;
}

/* Like launch_why_not(), for a name that is looked up in the folders of $PATH. `path` has PATH_MAX
 * bytes, and afterwards the file's path. */
static int launch_why_not_in_path(const char *name, char *path)
{
	const char *dirs = getenv("PATH");
	int err = ENOENT;

	if (!dirs)
		dirs = _PATH_DEFPATH;
	for (;;) {
		int sz = (int)strcspn(dirs, ":");
		int why = ENOENT;

		if (snprintf(path, PATH_MAX, "%.*s%s%s", sz, dirs, sz ? "/" : "", name) < PATH_MAX)
			why = launch_why_not(path);
		if (!why)
			return 0;
		if (why == EACCES)
			err = EACCES;
		if (!dirs[sz])
			return err;
		dirs += sz + 1;
	}
}

/* Logs the error and returns -err. */
static int launch_cannot_run(struct launch *l, int err)
{
	log__error("%s: %s", l->command, strerror(err));
	launch__kill(l);
	l->ended = true;
	l->status = launch_status_of(err);
	return -err;
}

int launch__prepare(struct launch *l, char **argv, const struct caller *as)
{
	struct pipes p;
	/* find mistyped commands before anything is started */
	bool has_path = strchr(argv[0], '/') != NULL;
	char path[PATH_MAX];
	int err = has_path ? launch_why_not(argv[0]) : launch_why_not_in_path(argv[0], path);

	*l = (struct launch){ .command = argv[0], .go_fd = -1, .exec_fd = -1, .pid_fd = -1 };
	if (err)
		return launch_cannot_run(l, err);
	l->program = strdup(has_path ? argv[0] : path);
	if (pipe2(p.go, O_CLOEXEC) || pipe2(p.exec, O_CLOEXEC))
		goto failed;
	l->pid = fork();
	if (l->pid < 0) {
		l->pid = 0;
		goto failed;
	}
	if (l->pid == 0) {
		close(p.go[1]);
		launch_child(&p, argv, as);
	}
	close(p.go[0]);
	close(p.exec[1]);
	l->go_fd = p.go[1];
	l->exec_fd = p.exec[0];
	l->pid_fd = (int)syscall(SYS_pidfd_open, l->pid, 0);
	if (l->pid_fd >= 0)
		return 0;
failed:
	err = errno;
	log__error("cannot start a command: %s", strerror(err));
	return -err;
}

int launch__go(struct launch *l, void (*meanwhile)(void *), void *arg)
{
	struct pollfd exec = { .fd = l->exec_fd, .events = POLLIN };
	int err = 0;

	if (write(l->go_fd, "", 1) != 1)
		err = EPIPE;
	while (!err && meanwhile && poll(&exec, 1, MEANWHILE_MS) == 0)
		meanwhile(arg);
	if (!err && read(l->exec_fd, &err, sizeof(err)) != sizeof(err))
		return 0;
	return launch_cannot_run(l, err);
}

bool launch__ended(struct launch *l)
{
	siginfo_t info = { 0 };

	if (l->ended || !l->pid)
		return l->ended;
	if (waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOHANG) || info.si_pid != l->pid)
		return false;
	l->ended = true;
	l->status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	return true;
}

void launch__kill(struct launch *l)
{
	struct pollfd p = { .fd = l->pid_fd, .events = POLLIN };

	if (!l->pid || launch__ended(l))
		return;
	kill(l->pid, SIGTERM);
	if (poll(&p, 1, TERM_GRACE_MS) == 0) {
		log__warn("the command did not end on SIGTERM: sending SIGKILL");
		kill(l->pid, SIGKILL);
		poll(&p, 1, TERM_GRACE_MS);
	}
	launch__ended(l);
}

int launch__finish(struct launch *l, int err)
{
	int own_status = l->ended ? l->status : 0;

	launch__kill(l);
	return own_status ? own_status : err != 0;
}

void launch__free(struct launch *l)
{
	int fds[] = { l->go_fd, l->exec_fd, l->pid_fd };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(l->program);
}
