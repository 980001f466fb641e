/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system calls of a worker: seccomp's filter. */
#ifndef WORKER_SYSCALLFILTER_H
#define WORKER_SYSCALLFILTER_H

/*
 * Limits the calling thread, permanently, to reading open files, to its memory, to sealed memory
 * files and to messages on open sockets. All other calls fail with EPERM, so that a C library that
 * tries another one can go on. Needs no_new_privs or CAP_SYS_ADMIN. Returns 0 or -errno; -EINVAL:
 * the kernel has no such filters.
 */
int syscall_filter__limit(void);

#endif
