/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that the user started, which ends when all is written. The kernel does not let a
 * process end while one of its threads waits for a file server that has its request, so a child
 * does the work.
 */
#ifndef COLLECTOR_KEEPER_H
#define COLLECTOR_KEEPER_H

#include <stdbool.h>

#include "capture/capture.h"

/*
 * Forks. Returns in the child: an fd for keeper__end(), or -1 where there is no keeper. The parent
 * passes SIGINT, SIGTERM, SIGHUP and SIGUSR1 on, and never returns. The child is killed when it
 * ends.
 */
int keeper__begin(void);
/* Detaches the programs. Returns false after a warning if the kernel has not detached from the
 * probes of programs yet: this process must go on. */
bool keeper__detach(struct capture *);
/* Lets the parent end with this exit status if threads are left that may hang. With `goes_on`, this
 * process outlives the parent. Otherwise returns, and the parent ends when this process does, with
 * its status and its CPU time. */
void keeper__end(int fd, int status, bool goes_on);

#endif
