/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mangled names of stacks, which a worker demangles. For the name thread. */
#ifndef STACKS_MANGLED_H
#define STACKS_MANGLED_H

#include <pthread.h>

#include "stacks/stackjob.h"
#include "symbol/nametask.h"

struct mangled_names {
	struct workers *workers; /* borrowed; NULL: this process demangles */
	pthread_mutex_t *lock;	 /* protects the names in symbol tables; not held while waiting */
	struct name_batch batch; /* private */
};

/* Sets .symbol of all frames with .mangled, with one request for each owner of files if their
 * distinct names fit. A name that no worker demangled stays as it is. */
void mangled_names__of_files(struct mangled_names *, struct stack_job *const *jobs, size_t cnt);

/* Returns whether a frame of the stack has .mangled. */
bool mangled_names__has_any(const struct stack_job *);

/* Writes the readable form of a name that the process `tgid` published. */
void mangled_names__of_process(struct mangled_names *, uint32_t tgid, const char *raw,
			       char out[SYMBOL_NAME_MAX]);

#endif
