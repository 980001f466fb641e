// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/absent.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "capture/capture.h"

/* Reads the name of the process `pid` below /proc. Returns false if it has ended. */
static bool absent_read_comm(int proc, const char *pid, char comm[EVENT_COMM_SZ + 1])
{
	char path[280];
	ssize_t sz;
	int fd;

	snprintf(path, sizeof(path), "%s/comm", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	sz = read(fd, comm, EVENT_COMM_SZ);
	close(fd);
	if (sz <= 0)
		return false;
	comm[sz] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	return true;
}

/* Marks the names of the filter that a process has. */
static void absent_mark_present(DIR *proc, const struct capture_filter *f, bool *present)
{
	char comm[EVENT_COMM_SZ + 1];

	for (const struct dirent *d; (d = readdir(proc)) != NULL;) {
		if (!isdigit((unsigned char)d->d_name[0]) ||
		    !absent_read_comm(dirfd(proc), d->d_name, comm))
			continue;
		for (size_t i = 0; i < f->comm_cnt; i++)
			present[i] |= !strcmp(f->comms[i], comm);
	}
}

void absent__report(const struct capture_filter *f)
{
	bool *present = calloc(f->comm_cnt + 1, sizeof(*present));
	DIR *proc = opendir("/proc");

	if (present && proc) {
		absent_mark_present(proc, f, present);
		for (size_t i = 0; i < f->comm_cnt; i++) {
			if (!present[i])
				log__warn("no process is called '%s' now; to launch it write -- %s",
					  f->comms[i], f->comms[i]);
		}
	}
	if (proc)
		closedir(proc);
	free(present);
}
