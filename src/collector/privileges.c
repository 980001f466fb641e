// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/privileges.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/log.h"
#include "base/strcopy.h"

#define FILES_FEW 200 /* fewer open files may be the cause of any failure at the start */

#define MAP_FILES "/proc/self/map_files"

#define MACHINES_PID_NS 0xEFFFFFFC /* inode; include/linux/proc_ns.h: PROC_PID_INIT_INO */

/* Returns true if the nearest existing folder on the path belongs to another user. */
static bool privileges_folder_is_foreign(const char *path)
{
	char folder[PATH_MAX], *at;
	struct stat st;

	if (!path || !str__copy(folder, sizeof(folder), path))
		return false;
	for (at = folder; stat(at, &st) != 0 || !S_ISDIR(st.st_mode); at = dirname(at))
		; /* ends at "/" or "." */
	return st.st_uid != geteuid();
}

static bool privileges_always(const struct collector_options *o)
{
	(void)o;
	return true;
}

/* Returns true if this process lacks some of the narrow capabilities. CAP_SYS_ADMIN then stands in
 * for them: older kernels have no others. */
static bool privileges_lack_narrow(const struct collector_options *o)
{
	const uint64_t named =
		CAPABILITY(CAP_BPF) | CAPABILITY(CAP_PERFMON) | CAPABILITY(CAP_CHECKPOINT_RESTORE);

	(void)o;
	return (capabilities__permitted() & named) != named;
}

static bool privileges_launches(const struct collector_options *o)
{
	return o->command;
}

static bool privileges_writes_elsewhere(const struct collector_options *o)
{
	return privileges_folder_is_foreign(o->status_path) ||
	       privileges_folder_is_foreign(o->metrics_path) ||
	       privileges_folder_is_foreign(o->cache_dir);
}

/* The capabilities that are kept while recording, when, and for what. */
static const struct {
	unsigned capability;
	bool reader; /* also kept by threads that only read what processes have */
	bool (*needed)(const struct collector_options *);
} kept[] = {
	/* create maps, iterators, programs and perf events for CPUs that come online later */
	{ CAP_BPF, false, privileges_always },
	{ CAP_PERFMON, false, privileges_always },
	/* reads /proc/PID of other users' processes, and the files that they map */
	{ CAP_SYS_PTRACE, true, privileges_always },
	{ CAP_DAC_READ_SEARCH, true, privileges_always },
	{ CAP_CHECKPOINT_RESTORE, true, privileges_always },
	/* read the addresses of kernel functions */
	{ CAP_SYSLOG, true, privileges_always },
	/* raise the priority of the threads that drain rings above the load */
	{ CAP_SYS_NICE, true, privileges_always },
	{ CAP_SYS_ADMIN, true, privileges_lack_narrow },
	/* end the command, which may run as another user */
	{ CAP_KILL, false, privileges_launches },
	{ CAP_DAC_OVERRIDE, false, privileges_writes_elsewhere },
};

void privileges__harden(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		log__warn("cannot protect this process: %s", strerror(errno));
}

/* Opens this process's first mapped file in the way in which files of other processes are opened.
 * Returns 0 or -errno. */
static int privileges_open_mapped(void)
{
	DIR *dir = opendir(MAP_FILES);
	int fd = -1, err = 0;
	struct dirent *d;

	if (!dir)
		return -errno;
	while ((d = readdir(dir)) != NULL && d->d_name[0] == '.')
		;
	if (d)
		fd = openat(dirfd(dir), d->d_name, O_PATH | O_CLOEXEC);
	if (d && fd < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	closedir(dir);
	return err;
}

int privileges__check_ids(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) != 0 || st.st_ino == MACHINES_PID_NS)
		return 0;
	log__error(
		"this process is in a PID namespace of its own, where other processes have other "
		"IDs or none: run it in that of the machine (podman or docker run --pid=host, "
		"hostPID: true in Kubernetes)");
	return -EINVAL;
}

void privileges__check(void)
{
	int err = privileges_open_mapped();

	if (err)
		log__warn("cannot open files by /proc/PID/map_files: %s; stacks of programs that "
			  "were deleted or replaced will be incomplete; run as root or add "
			  "CAP_CHECKPOINT_RESTORE",
			  strerror(-err));
}

static void privileges_keep(uint64_t capabilities)
{
	int err = capabilities__keep(capabilities);

	if (err)
		log__warn("cannot give up capabilities: %s", strerror(-err));
}

void privileges__limit_reader(void)
{
	uint64_t set = 0;

	/* the capabilities of readers do not depend on options */
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (kept[i].reader && kept[i].needed(NULL))
			set |= CAPABILITY(kept[i].capability);
	privileges_keep(set);
}

void privileges__limit(const struct collector_options *o)
{
	uint64_t set = 0;

	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (kept[i].needed(o))
			set |= CAPABILITY(kept[i].capability);
	privileges_keep(set);
}

void privileges__advise(int err)
{
	struct rlimit files;

	if (!err || getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	if (err != -EMFILE && files.rlim_max >= FILES_FEW)
		return;
	log__error("at most %llu files may be open (RLIMIT_NOFILE): raise the limit with ulimit "
		   "-Hn, or with LimitNOFILE= if this is a service",
		   (unsigned long long)files.rlim_max);
}
