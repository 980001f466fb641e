// SPDX-License-Identifier: GPL-2.0-or-later
/* The recorded command: its start, its user and its end. */
#include "lib/test.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/launch.h"
#include "lib/shell.h"

#define NOBODY 65534

/* Waits until it has ended by itself. */
static void wait_end(struct launch *l)
{
	struct pollfd p = { .fd = l->pid_fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_true(launch__ended(l));
}

static struct launch prepare(const char *const argv[], const struct caller *as)
{
	struct launch l;

	assert_int_equal(launch__prepare(&l, (char **)(uintptr_t)argv, as), 0);
	return l;
}

/* Runs sh -c `script`; returns its status. */
static int run(const char *script, const struct caller *as)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct launch l = prepare(argv, as);

	assert_int_equal(launch__go(&l, NULL, NULL), 0);
	wait_end(&l);
	launch__free(&l);
	return l.status;
}

static void statuses_are_those_of_a_shell(void **state)
{
	(void)state;
	assert_int_equal(run("exit 0", NULL), 0);
	assert_int_equal(run("exit 7", NULL), 7);
	assert_int_equal(run("kill -9 $$", NULL), 128 + SIGKILL);
	assert_int_equal(run("kill -SEGV $$", NULL), 128 + SIGSEGV);
}

static void commands_that_cannot_run_are_refused(void **state)
{
	static const struct {
		const char *command;
		int err, status;
	} cases[] = { { "no-such-program-anywhere", -ENOENT, 127 },
		      { "/nowhere/program", -ENOENT, 127 },
		      { "no-program-in-path", -EACCES, 126 },
		      { "/etc/passwd", -EACCES, 126 },
		      { "/tmp", -EACCES, 126 } };

	const char *folder = *state;
	char path[256];

	shell__run("touch %s/no-program-in-path", folder);
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", folder); /* no other: EACCES if closed */
	setenv("PATH", path, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *const argv[] = { cases[i].command, NULL };
		struct launch l;

		assert_int_equal(launch__prepare(&l, (char **)(uintptr_t)argv, NULL), cases[i].err);
		assert_true(launch__ended(&l));
		assert_int_equal(l.status, cases[i].status);
		launch__free(&l);
	}
}

/* Errors that only the kernel can detect. */
static void commands_that_exec_refuses_are_reported(void **state)
{
	char path[256];
	struct launch l;

	snprintf(path, sizeof(path), "%s/bad-interpreter", (char *)*state);
	shell__run("printf '#!/nowhere/sh\\n' > %s && chmod +x %s", path, path);
	l = prepare((const char *[]){ path, NULL }, NULL);
	assert_int_equal(launch__go(&l, NULL, NULL), -ENOENT);
	assert_true(launch__ended(&l));
	assert_int_equal(l.status, 127);
	launch__free(&l);
}

/* Recording starts before its first instruction, with its name. */
static void waits_to_be_let_go(void **state)
{
	const char *folder = *state;
	char script[256], *name;
	struct launch l;

	snprintf(script, sizeof(script), "touch %s/begun", folder);
	l = prepare((const char *[]){ "/bin/sh", "-c", script, NULL }, NULL);
	for (;;) { /* it takes its name after the fork */
		name = shell__output("cat /proc/%d/comm", l.pid);
		assert_non_null(name);
		if (strcmp(name, "sh\n") == 0)
			break;
		free(name);
		usleep(1000);
	}
	free(name);
	assert_false(launch__ended(&l));
	shell__run("! test -e %s/begun", folder);
	assert_int_equal(launch__go(&l, NULL, NULL), 0);
	wait_end(&l);
	shell__run("test -e %s/begun", folder);
	launch__free(&l);
}

/* The collector failed before it started the command. */
static void never_starts_without_permission(void **state)
{
	const char *folder = *state;
	char script[256];
	struct launch l;
	int status;

	snprintf(script, sizeof(script), "touch %s/begun", folder);
	l = prepare((const char *[]){ "sh", "-c", script, NULL }, NULL);
	launch__free(&l);
	assert_int_equal(waitpid(l.pid, &status, 0), l.pid);
	assert_int_equal(status, 0);
	shell__run("! test -e %s/begun", folder);
}

/* The collector blocks signals for its signalfd: the command must not inherit that. */
static void its_signals_are_its_own(void **state)
{
	sigset_t all, before;

	(void)state;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	assert_int_equal(run("kill -TERM $$; exit 3", NULL), 128 + SIGTERM);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void nothing_of_ours_is_open_in_it(void **state)
{
	const char *folder = *state;
	char script[256], *others = shell__output("ls /proc/self/fd"), *its;

	snprintf(script, sizeof(script), "ls /proc/self/fd > %s/open", folder);
	assert_int_equal(run(script, NULL), 0);
	its = shell__output("cat %s/open", folder);
	assert_non_null(its);
	assert_string_equal(its, others);
	free(its);
	free(others);
}

static void ends_when_told_to(void **state)
{
	struct launch l = prepare((const char *[]){ "sleep", "100", NULL }, NULL);
	struct launch none = { .go_fd = -1, .exec_fd = -1, .pid_fd = -1 };

	(void)state;
	assert_int_equal(launch__go(&l, NULL, NULL), 0);
	assert_false(launch__ended(&l));
	assert_int_equal(launch__finish(&l, 0), 0); /* it does not end by itself */
	assert_true(launch__ended(&l));
	assert_int_equal(l.status, 128 + SIGTERM);
	assert_int_equal(launch__finish(&l, -EIO), 128 + SIGTERM);
	launch__free(&l);
	assert_int_equal(launch__finish(&none, 0), 0); /* there was no command */
	assert_int_equal(launch__finish(&none, -EIO), 1);
	assert_false(launch__ended(&none));
	launch__free(&none);
}

static void sudo_gives_the_caller(void **state)
{
	struct caller c;

	(void)state;
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	c = caller__get();
	assert_int_equal(c.uid, getuid());
	assert_false(c.sudo);
	setenv("SUDO_UID", "1234", 1);
	assert_false(caller__get().sudo); /* only half of it is set */
	setenv("SUDO_GID", "56x", 1);
	assert_false(caller__get().sudo);
	setenv("SUDO_GID", "4294967295", 1); /* -1: "unchanged" for setresgid() */
	assert_false(caller__get().sudo);
	setenv("SUDO_GID", "56", 1);
	c = caller__get();
	assert_int_equal(c.sudo, geteuid() == 0); /* any user can set a variable */
	if (c.sudo) {
		assert_int_equal(c.uid, 1234);
		assert_int_equal(c.gid, 56);
	}
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

/* Permanently, and without root's properties. */
static void becomes_the_caller(void **state)
{
	const struct caller nobody = { NOBODY, NOBODY, true }, nameless = { 54321, 54321, true };
	const struct caller ourselves = { NOBODY, NOBODY, false };

	(void)state;
	if (geteuid() != 0)
		skip_because("only root can become somebody else");
	assert_int_equal(setgroups(1, (gid_t[]){ 4 }), 0);
	assert_int_equal(
		run("test \"$(grep -E '^(Uid|Gid|Groups):' /proc/self/status | tr -s '\\t ' ' ')\" "
		    "= 'Uid: 65534 65534 65534 65534\nGid: 65534 65534 65534 65534\nGroups: 65534 "
		    "'",
		    &nobody),
		0);
	assert_int_equal(
		run("test \"$USER $LOGNAME\" = 'nobody nobody' -a \"$HOME\" != /root", &nobody), 0);
	assert_int_equal(run("test \"$(id -u) $(id -G)\" = '54321 54321'", &nameless), 0);
	assert_int_equal(run("test $(id -u) = 0", &ourselves), 0);
	assert_int_equal(run("test $(id -u) = 0", NULL), 0);
	assert_int_equal(setgroups(0, NULL), 0);
}

RUN_TESTS(cmocka_unit_test(statuses_are_those_of_a_shell),
	  test_with_folder(commands_that_cannot_run_are_refused),
	  test_with_folder(commands_that_exec_refuses_are_reported),
	  test_with_folder(waits_to_be_let_go), test_with_folder(never_starts_without_permission),
	  cmocka_unit_test(its_signals_are_its_own),
	  test_with_folder(nothing_of_ours_is_open_in_it), cmocka_unit_test(ends_when_told_to),
	  cmocka_unit_test(sudo_gives_the_caller), cmocka_unit_test(becomes_the_caller))
