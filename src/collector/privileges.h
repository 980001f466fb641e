/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits the rights of the collector while it records, to less than root has. */
#ifndef COLLECTOR_PRIVILEGES_H
#define COLLECTOR_PRIVILEGES_H

#include "collector/collector_options.h"

/*
 * Prevents that programs executed by this process gain rights, and that other processes of the same
 * user read its memory. Call it after the launched command was forked: the command keeps its
 * rights.
 */
void privileges__harden(void);
/* Returns 0, or -EINVAL (logged) in a PID namespace of its own: events have the machine's process
 * IDs, under which /proc there has no process or another one. */
int privileges__check_ids(void);
/* Warns about what will be missing if the kernel does not let this process open mapped files. */
void privileges__check(void);
/* Limits the calling thread, and those that it starts, to reading what processes have. */
void privileges__limit_reader(void);
/* Limits the calling thread, and those that it starts, to what recording with these options takes.
 * Call it when the programs are loaded and the folder of the recording is open. */
void privileges__limit(const struct collector_options *);
/* Logs what to do about a failure that was logged. With few files, libbpf's tests of the kernel's
 * features can fail, and then the kernel refuses the programs for another reason than EMFILE. */
void privileges__advise(int err);

#endif
