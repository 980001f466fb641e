/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The jitdump of one process with call-frame information, and the images that the process lists for
 * gdb. The walking thread and the job that reads it share it.
 */
#ifndef JIT_CODEDUMP_H
#define JIT_CODEDUMP_H

#include <pthread.h>
#include <stdatomic.h>

#include "jit/gdbjit.h"
#include "jit/jitdump.h"
#include "jit/jitfile.h"

struct code_dump {
	atomic_uint refs;
	uint32_t tgid;
	uint64_t lane, crowd; /* of the jobs that read it */
	char *proc, *root;    /* see struct jit_places; copies, for a job that outlives its owner */
	char *told;	      /* its path, from records; NULL: none */
	pthread_mutex_t lock; /* protects the fields below */
	struct jit_owner owner;
	int fd;		  /* -1: not yet found */
	atomic_size_t sz; /* bytes of the whole dump; not protected by the lock */
	atomic_bool none; /* a search found none; not protected by the lock */
	struct jitdump at;
	struct codemap *map;
	struct gdb_jit *listed; /* the process's list for gdb, which is not a dump */
	bool failed;		/* not a dump, or broken */
};

/* `told` is the path of the dump from records, or NULL. Copies its arguments. Returns NULL if out
 * of memory. */
struct code_dump *code_dump__new(const struct jit_places *, uint32_t tgid, const char *told);
void code_dump__put(struct code_dump *); /* frees it with its last reference; accepts NULL */

/* Reads what is new, under the lock. Starts over if the ID belongs to another process now. May
 * block on the files and the memory of the process. */
void code_dump__read(struct code_dump *);

#endif
