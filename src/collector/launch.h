/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command that the collector starts: `collector -- COMMAND`. */
#ifndef COLLECTOR_LAUNCH_H
#define COLLECTOR_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

struct launch {
	const char *command; /* argv[0]; borrowed */
	char *program;	     /* the path of its file; owned */
	pid_t pid;	     /* 0: not started */
	int go_fd;	     /* the child waits for a byte on it before it execs */
	int exec_fd;	     /* the child's errno when exec failed; closed by a successful one */
	int pid_fd;	     /* readable when the child has ended */
	bool ended;
	int status; /* as in a shell: exit code, 128 + signal, 127 not found, 126 not executable */
};

/* The caller of sudo, or else the user of this process. */
struct caller {
	uid_t uid;
	gid_t gid;
	bool sudo;
};
struct caller caller__get(void);

/* Forks a child that has the command's name and waits for launch__go(). It will become the user
 * `as` (NULL: the present user). Returns 0 or -errno (already logged); sets ->status and ->ended if
 * there is no such command. */
int launch__prepare(struct launch *, char **argv, const struct caller *as);
/* Lets the child exec, and waits for that. This may take seconds on a busy machine, so it calls
 * meanwhile(arg) from time to time (unless NULL). Returns 0 or -errno (already logged), with
 * ->status and ->ended set. */
int launch__go(struct launch *, void (*meanwhile)(void *), void *arg);
/* Returns true if the command has ended. Then its exit status is in ->status. */
bool launch__ended(struct launch *);
/* Sends SIGTERM, and SIGKILL after five seconds. Waits for the end of the command. */
void launch__kill(struct launch *);
/* Kills the command if it has not ended. Returns the exit status of this program: that of a command
 * that ended by itself, if it is not 0; else 1 if `err` is not 0. */
int launch__finish(struct launch *, int err);
void launch__free(struct launch *);

#endif
