// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "worker/sanitized.h"
#include "worker/syscallfilter.h"

/* Bytes of a worker: the symbols of the largest browsers take 300 MB, with copies. */
#define ADDRESSES_MAX (4ull << 30)
#define FILES_MAX     32
#define ANSWER_MAX    (1ull << 30) /* of a memory file */

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* For users. All names together fit SANDBOX_LACKS_MAX. */
static const struct {
	enum sandbox_lack lack;
	const char *name;
} lacks[] = {
	{ SANDBOX_NO_NETWORK, "network" }, { SANDBOX_NO_MOUNTS, "mounts" },
	{ SANDBOX_NO_PIDS, "processes" },  { SANDBOX_NO_IPC, "IPC" },
	{ SANDBOX_NO_UTS, "host name" },   { SANDBOX_NO_USER, "user" },
};

static const struct {
	int flag;
	enum sandbox_lack lack;
} namespaces[] = {
	{ CLONE_NEWNET, SANDBOX_NO_NETWORK }, { CLONE_NEWNS, SANDBOX_NO_MOUNTS },
	{ CLONE_NEWPID, SANDBOX_NO_PIDS },    { CLONE_NEWIPC, SANDBOX_NO_IPC },
	{ CLONE_NEWUTS, SANDBOX_NO_UTS },
};

#define TO_BECOME_ANOTHER (CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID))
#define TO_LEAVE	  CAPABILITY(CAP_SYS_ADMIN)

/* ---- the process that starts workers ------------------------------------------------------------
 */

static int sandbox_become_another(void)
{
	if (setgroups(0, NULL) || setresgid(SANDBOX_USER, SANDBOX_USER, SANDBOX_USER) ||
	    setresuid(SANDBOX_USER, SANDBOX_USER, SANDBOX_USER))
		return -errno;
	return 0;
}

/* Makes a user namespace, in which this process may leave the others. As root, it becomes another
 * user first, because no user is mapped there. */
static void sandbox_leave_users(bool becomes)
{
	if (becomes)
		sandbox_become_another();
	unshare(CLONE_NEWUSER);
}

uint32_t sandbox__leave(void)
{
	uint64_t has = capabilities__permitted();
	bool root = geteuid() == 0;
	bool becomes = root && (has & TO_BECOME_ANOTHER) == TO_BECOME_ANOTHER;
	uint32_t lack = root && !becomes ? SANDBOX_NO_USER : 0;

	if (!(has & TO_LEAVE) || lack)
		sandbox_leave_users(becomes);
	for (size_t i = 0; i < COUNT(namespaces); i++)
		if (unshare(namespaces[i].flag) != 0)
			lack |= namespaces[i].lack;
	return lack;
}

void sandbox__lacks_text(uint32_t lack, char text[SANDBOX_LACKS_MAX])
{
	size_t sz = 0;

	text[0] = '\0';
	for (size_t i = 0; i < COUNT(lacks); i++)
		if (lack & lacks[i].lack)
			sz += (size_t)snprintf(text + sz, SANDBOX_LACKS_MAX - sz, "%s%s",
					       sz ? ", " : "", lacks[i].name);
}

/* Makes the current folder, a mount, the root folder. The root of an initramfs cannot be replaced:
 * the process only leaves it. */
static bool sandbox_enter_root(void)
{
	if (syscall(SYS_pivot_root, ".", ".") == 0)
		return umount2(".", MNT_DETACH) == 0;
	return chroot(".") == 0;
}

/* Makes an empty, read-only root folder, and detaches all others. Returns false on failure. */
static bool sandbox_empty_root(void)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	/* /proc is a folder on every system on which the programs run */
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", "/proc", "tmpfs", flags, "size=4k,mode=555") == 0 &&
	       chdir("/proc") == 0 && sandbox_enter_root() && chdir("/") == 0 &&
	       mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL) == 0;
}

static void sandbox_drop_bounds(void)
{
	for (unsigned long c = 0; prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0; c++)
		;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

uint32_t sandbox__empty(uint32_t lack)
{
	if (!(lack & SANDBOX_NO_MOUNTS) && !sandbox_empty_root())
		lack |= SANDBOX_NO_MOUNTS;
	sandbox_drop_bounds();
	capabilities__keep(TO_BECOME_ANOTHER | CAPABILITY(CAP_KILL));
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return lack;
}

/* ---- a worker -----------------------------------------------------------------------------------
 */

static int sandbox_limit(void)
{
	static const struct {
		unsigned resource;
		rlim_t max;
	} limits[] = {
#ifndef SANITIZED
		{ RLIMIT_AS, ADDRESSES_MAX },
#endif
		{ RLIMIT_NOFILE, FILES_MAX }, { RLIMIT_FSIZE, ANSWER_MAX }, { RLIMIT_CORE, 0 },
		{ RLIMIT_NPROC, 0 },	      { RLIMIT_MEMLOCK, 0 },
	};

	for (size_t i = 0; i < COUNT(limits); i++) {
		struct rlimit l = { limits[i].max, limits[i].max };
		struct rlimit before;

		/* a lower limit stays */
		if (getrlimit(limits[i].resource, &before) == 0 && before.rlim_max < l.rlim_max)
			l = (struct rlimit){ before.rlim_max, before.rlim_max };
		if (setrlimit(limits[i].resource, &l) != 0)
			return -errno;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	return 0;
}

int sandbox__close(uint32_t lack, enum sandbox_step *step)
{
	int err = 0;

	*step = SANDBOX_BECAME;
	/* without root, the user started the program with capabilities, or was changed before */
	if (geteuid() == 0 && !(lack & SANDBOX_NO_USER))
		err = sandbox_become_another();
	if (err)
		return err;
	*step = SANDBOX_DROPPED;
	err = capabilities__keep(0);
	if (err)
		return err;
	*step = SANDBOX_LIMITED;
	err = sandbox_limit();
	if (err)
		return err;
	*step = SANDBOX_FILTERED;
	return syscall_filter__limit();
}

const char *sandbox__step_text(uint32_t step)
{
	static const char *const texts[] = {
		[SANDBOX_OPEN] = "start a process",
		[SANDBOX_BECAME] = "become the user nobody",
		[SANDBOX_DROPPED] = "drop capabilities",
		[SANDBOX_LIMITED] = "limit a process",
		[SANDBOX_FILTERED] = "filter system calls",
	};

	return step < COUNT(texts) ? texts[step] : "start a process";
}
