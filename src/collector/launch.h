/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command that the collector starts: `collector -- COMMAND`. */
#ifndef COLLECTOR_LAUNCH_H
#define COLLECTOR_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

struct launch {
	const char *command; /* argv[0]; borrowed */
	pid_t pid;	     /* 0: not started */
	int go_fd;	     /* the child waits for a byte on it before it execs */
	int exec_fd;	     /* the child's errno when exec failed; closed by a successful one */
	int pid_fd;	     /* readable when the child has ended */
	bool ended;
	int status; /* as a shell has it: exit code, 128 + signal, 127 not found, 126 not executable
		     */
};

/* Who called sudo, or who we are. */
struct caller {
	uid_t uid;
	gid_t gid;
	bool sudo;
};
struct caller caller__get(void);

/* Forks a child that waits, under the command's name, to become `as` (NULL: who we are). 0; or
 * -errno, said, with ->status and ->ended set where there is no such command. */
int launch__prepare(struct launch *, char **argv, const struct caller *as);
/* Lets it exec and waits for that, which may take seconds where all are busy: meanwhile(arg),
 * unless it is NULL, is called from time to time. 0, or -errno said, with ->status and ->ended set.
 */
int launch__go(struct launch *, void (*meanwhile)(void *), void *arg);
/* Takes the status when it has ended; true once it has. */
bool launch__ended(struct launch *);
/* SIGTERM, then SIGKILL after five seconds; waits for the end. */
void launch__kill(struct launch *);
void launch__free(struct launch *);

#endif
