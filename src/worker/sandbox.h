/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives up rights, in two steps: the process that starts workers leaves the system's namespaces,
 * and each worker then becomes another user and limits its system calls. All functions are for
 * processes with one thread.
 */
#ifndef WORKER_SANDBOX_H
#define WORKER_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/* What a sandbox may lack where the kernel or a container refuses it. A worker is limited to open
 * files in any case: its system calls are always filtered. */
enum sandbox_lack {
	SANDBOX_NO_NETWORK = 1 << 0, /* shares the network namespace */
	SANDBOX_NO_MOUNTS = 1 << 1,  /* shares the mount namespace, or its files */
	SANDBOX_NO_PIDS = 1 << 2,
	SANDBOX_NO_IPC = 1 << 3,
	SANDBOX_NO_UTS = 1 << 4,
	SANDBOX_NO_USER = 1 << 5, /* is root, without capabilities */
};
#define SANDBOX_LACKS_MAX 128
/* Writes the names of what is lacking, separated by commas. */
void sandbox__lacks_text(uint32_t lack, char text[SANDBOX_LACKS_MAX]);

#define SANDBOX_USER 65534 /* the kernel's overflow user: it owns no files */

/*
 * Leaves the namespaces of the system. The process ids are those of the next child, which must call
 * sandbox__empty(). If this process may not leave them, it becomes another user and makes a user
 * namespace first. Returns a set of enum sandbox_lack.
 */
uint32_t sandbox__leave(void);
/* Replaces all mounts by an empty folder, and keeps only the capabilities to become another user
 * and to kill workers. Returns the set, which may have grown. */
uint32_t sandbox__empty(uint32_t lack);

enum sandbox_step {
	SANDBOX_OPEN,
	SANDBOX_BECAME,	 /* failed to become another user */
	SANDBOX_DROPPED, /* failed to drop capabilities */
	SANDBOX_LIMITED, /* failed to set no_new_privs or limits */
	SANDBOX_FILTERED /* failed to set the filter of system calls */
};
/* Gives up everything else. Returns 0, or -errno with the step that failed in `*step`. */
int sandbox__close(uint32_t lack, enum sandbox_step *step);
const char *sandbox__step_text(uint32_t step); /* for "cannot …"; any value is allowed */

#endif
