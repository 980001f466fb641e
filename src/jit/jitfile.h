/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens the files in which a process publishes the names of its code. Any user may have put
 * anything in their place. They are opened without following symbolic links, below the process's
 * own root folder, and only if they are plain files of its user or of root.
 */
#ifndef JIT_JITFILE_H
#define JIT_JITFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "event/record.h"

struct dump_paths;
struct workers; /* worker/workers.h */

/* The places of the files of processes. */
struct jit_places {
	const char *proc; /* "/proc"; NULL: recorded processes: their ids may be reused */
	/* For processes that /proc does not have: the root folder of their files, and the paths
	 * from records. NULL: their files are not searched. */
	const char *root;
	const struct dump_paths *told; /* borrowed */
	struct workers *workers;       /* they parse the files; NULL: the thread that reads does */
};

struct jit_place {
	uint32_t tgid;
	uint64_t addr;	  /* in the process */
	uint64_t time_ns; /* time of the sample, CLOCK_MONOTONIC; UINT64_MAX: unknown */
};

/* The process that owns the files, from /proc or from records. */
struct jit_owner {
	int proc;	     /* /proc/PID, O_PATH: never refers to another process; -1: gone */
	int root;	     /* its root folder, O_PATH */
	bool told;	     /* by records: its files do not change, and any owner is accepted */
	uint32_t tgid;	     /* in this PID namespace */
	uint32_t inner_tgid; /* in its own PID namespace */
	uid_t uid;
	struct timespec start; /* unix time */
};

/* `proc` is an open /proc. Returns 0 or -errno; -ESRCH if there is no such process. */
int jit_owner__open(struct jit_owner *, int proc, uint32_t tgid);
/* Opens a process that records describe, with files below that folder. */
int jit_owner__open_recorded(struct jit_owner *, const char *root, uint32_t tgid);
void jit_owner__close(struct jit_owner *);	 /* sets .proc to -1 */
bool jit_owner__exists(int proc, uint32_t tgid); /* reads only /proc */
bool jit_owner__lives(const struct jit_owner *); /* and its files can be opened */

/* Each returns an fd to read, or -errno: -ENOENT if there is no file, -EPERM if it is not to be
 * trusted. */
int jit_owner__open_map(const struct jit_owner *);
/* Opens the jitdump that the process has mapped; runtimes map it so that tools find it. Reads the
 * process's mappings. For a recorded process, `told` is the path from the records, or NULL. */
int jit_owner__open_dump(const struct jit_owner *, const char *told);
/* Opens a plain file that the process has mapped, of any owner. */
int jit_owner__open_mapped(const struct jit_owner *, const struct record_mmap *);

#endif
