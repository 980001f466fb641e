/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a process in a file without a name: offsets in it are addresses. */
#ifndef UNIT_FAKEMEMORY_H
#define UNIT_FAKEMEMORY_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Returns an fd, or -1. */
static inline int fake__memory(const char *name, off_t sz)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	return fd >= 0 && ftruncate(fd, sz) == 0 ? fd : -1;
}

static inline void fake__put(int fd, uint64_t addr, const void *data, size_t sz)
{
	(void)!pwrite(fd, data, sz, (off_t)addr);
}

static inline void fake__word(int fd, uint64_t addr, uint64_t word)
{
	fake__put(fd, addr, &word, sizeof(word));
}

static inline void fake__u32(int fd, uint64_t addr, uint32_t v)
{
	fake__put(fd, addr, &v, sizeof(v));
}

#endif
