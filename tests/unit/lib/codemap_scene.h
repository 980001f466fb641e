/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tests of the formats that describe generated code. */
#ifndef CODEMAP_SCENE_H
#define CODEMAP_SCENE_H

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit/codemap.h"

/* The name at an address, or "". */
static const char *at(const struct codemap *m, uint64_t addr, uint64_t time_ns)
{
	struct code c;

	return codemap__find(m, addr, time_ns, &c) ? c.name : "";
}

static inline int text_file(void)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static inline void append(int fd, const void *text, size_t sz)
{
	lseek(fd, 0, SEEK_END);
	assert_int_equal(write(fd, text, sz), sz);
}

#endif
