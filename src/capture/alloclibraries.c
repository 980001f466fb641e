// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/alloclibraries.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mount.h"

#define NAMES "lib{jemalloc,tcmalloc,mimalloc}*.so.*"

int alloc_libraries__find(glob_t *found)
{
	char pattern[PATH_MAX];
	const char *slash;
	Dl_info info;

	*found = (glob_t){ 0 };
	if (!dladdr((void *)(uintptr_t)gnu_get_libc_version, &info))
		return GLOB_NOMATCH;
	slash = strrchr(info.dli_fname, '/');
	if (!slash ||
	    snprintf(pattern, sizeof(pattern), "%.*s/" NAMES, (int)(slash - info.dli_fname),
		     info.dli_fname) >= (int)sizeof(pattern))
		return GLOB_NOMATCH;
	return glob(pattern, GLOB_BRACE, NULL, found);
}

void *code_page__map(const char *path)
{
	void *page = MAP_FAILED;
	struct stat st;
	int fd = -1;

	if (!stat(path, &st) && S_ISREG(st.st_mode) &&
	    mount__is_of_admin("/proc/self/mountinfo", major(st.st_dev), minor(st.st_dev)))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0) {
		page = mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		close(fd);
	}
	return page == MAP_FAILED ? NULL : page;
}

void code_page__unmap(void *page)
{
	munmap(page, 1);
}
