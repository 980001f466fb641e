/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files in which a process says what its code is called. Anybody may have put anything in their
 * places: they are opened without following symbolic links, below the process's own root folder,
 * and only when they are plain files of its user or of root.
 */
#ifndef JIT_JITFILE_H
#define JIT_JITFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "event/record.h"

struct dump_paths;

/* Who can be asked. */
struct jit_places {
	const char *proc; /* "/proc"; NULL: processes that are recorded may be other ones by now */
	/* Of those that /proc does not know: the root folder that their files are in, and what was
	 * told of these. NULL: nobody is looked for. */
	const char *root;
	const struct dump_paths *told; /* borrowed */
};

struct jit_place {
	uint32_t tgid;
	uint64_t addr;	  /* in the process */
	uint64_t time_ns; /* when a thread was there, CLOCK_MONOTONIC; UINT64_MAX: not known */
};

/* Who is asked: what /proc says of a process, or records do. */
struct jit_owner {
	int proc;	     /* /proc/PID, O_PATH: it never becomes another process's; -1: gone */
	int root;	     /* its root folder, O_PATH */
	bool told;	     /* by records: its files stay as they are, whoever owns them */
	uint32_t tgid;	     /* here */
	uint32_t inner_tgid; /* as the process itself sees it */
	uid_t uid;
	struct timespec start; /* unix time */
};

/* 0 or -errno; -ESRCH when there is no such process. `proc` is an open /proc. */
int jit_owner__open(struct jit_owner *, int proc, uint32_t tgid);
/* One of whom records tell, with files below that folder. */
int jit_owner__open_recorded(struct jit_owner *, const char *root, uint32_t tgid);
void jit_owner__close(struct jit_owner *);	 /* leaves it as one that is gone */
bool jit_owner__exists(int proc, uint32_t tgid); /* touches nothing but /proc */
bool jit_owner__lives(const struct jit_owner *); /* and can be asked */

/* Each gives an fd to read, or -errno; -ENOENT when there is none, -EPERM when it is not to be
 * believed. */
int jit_owner__open_map(const struct jit_owner *);
/* One that it has mapped, which it does for tools to find it. Reads its mappings; of one whom
 * records tell of it is `told`, NULL for none. */
int jit_owner__open_dump(const struct jit_owner *, const char *told);
/* A plain file that it has mapped, whoever it belongs to. */
int jit_owner__open_mapped(const struct jit_owner *, const struct record_mmap *);

#endif
