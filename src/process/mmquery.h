/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions about the address space of a process. The kernel answers them under the lock of that
 * address space (mmap_lock), which the process can hold for any time. With `errands` set, each
 * question is an errand (base/errand.h) and fails with -ETIMEDOUT if the process holds the lock.
 * Private to src/process.
 */
#ifndef PROCESS_MMQUERY_H
#define PROCESS_MMQUERY_H

#include <sys/stat.h>

#include "base/errand.h"
#include "process/maps.h"

struct mmquery {
	int proc;		 /* an open /proc */
	struct errands *errands; /* borrowed; NULL: the caller may wait for the process */
	uint32_t tgid;
};

/*
 * Calls `fn` for each executable mapping of the process. After the first thread has ended, its own
 * maps are empty; then those of another thread are read. Returns 0 or -errno.
 */
int mmquery__maps(const struct mmquery *, maps_fn, void *arg);

/* Returns a handle (O_PATH) of the file that is mapped at `start`, `len` bytes long, or -errno. */
int mmquery__handle(const struct mmquery *, uint64_t start, uint64_t len);

/* Fills *st with the status of that file, see handle__stat(). Returns 0 or -errno. */
int mmquery__stat(const struct mmquery *, uint64_t start, uint64_t len, struct stat *);

#endif
