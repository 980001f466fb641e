// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/dump.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "collector/statusfile.h"

/* Another process may have the pid of a collector that was killed. */
static bool dump_is_collector(int pid)
{
	char path[64], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f && !fgets(comm, sizeof(comm), f))
		*comm = '\0';
	if (f)
		fclose(f);
	return strcmp(comm, "collector\n") == 0;
}

/* Returns 0 or -errno. The descriptor keeps the pid from being used again in between. */
static int dump_signal(int pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), err = 0;

	if (fd < 0)
		return -errno;
	if (!dump_is_collector(pid))
		err = -ESRCH;
	else if (syscall(SYS_pidfd_send_signal, fd, SIGUSR1, NULL, 0) != 0)
		err = -errno;
	close(fd);
	return err;
}

int dump__trigger(const char *status_path)
{
	int pid = status_path ? statusfile__pid(status_path) : 0;
	int err = pid > 0 ? dump_signal(pid) : -ESRCH;

	if (!err)
		return 0;
	if (err == -ESRCH)
		log__error("--dump: no collector writes the status file %s; --status names another "
			   "one",
			   status_path ? status_path : "''");
	else
		log__error("--dump: cannot signal the collector (%d): %s", pid, strerror(-err));
	return 1;
}
