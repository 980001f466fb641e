/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user that answers for what a process does to a reader of its files. */
#ifndef PROCESS_CROWD_H
#define PROCESS_CROWD_H

#include <stdint.h>

/*
 * Returns the real user of the process plus one (root: JOB_CROWD_ROOT), or 0 if the process is
 * gone. For a process in another user namespace that is the owner of the outermost one below ours:
 * namespaces and ids are free to make there. `proc` is an open /proc. Opens nothing but files of
 * /proc; takes no memory lock.
 */
uint64_t crowd__of(int proc, uint32_t tgid);

/* Returns a lane (base/jobs.h) for files that are looked up by path in the process's own mount
 * namespace: path lookup may hang before a device is known. Never a device number. */
uint64_t crowd__lane(int proc, uint32_t tgid);

#endif
