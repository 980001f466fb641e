/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads perf maps and jitdumps as a process's are read, part by part. */
#ifndef CODEFILE_SCENE_H
#define CODEFILE_SCENE_H

#include <stdlib.h>
#include <sys/stat.h>

#include "jit/codetask.h"

/* Adds what is new in a file to the map. Keeps the newest functions of a perf map if there are too
 * many. `w`: NULL, or workers. Returns the reader's error. */
static inline int code_read(struct workers *w, enum code_format format, int fd,
			    struct code_progress *at, struct codemap *m)
{
	struct code_file file = { format, 1, fd, 0, w };
	bool overflowed, more = true;
	struct stat st;
	int err = 0;

	if (fstat(fd, &st) != 0)
		return -1;
	file.end = (uint64_t)st.st_size;
	while (more && !err) {
		struct code_list list;
		int add_err;

		err = code_task__read(&file, at, &list, &more);
		add_err = code_list__apply(&list, 0, code_list__cnt(&list), m,
					   format == CODE_MAP ? &overflowed : NULL);
		code_list__free(&list);
		err = err ? err : add_err;
	}
	return err;
}

#endif
