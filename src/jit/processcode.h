/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that one process makes at run time, from its jitdump, its perf map and its list for gdb.
 * Each of them is read once, for names and for call-frame information. This is also the only place
 * that decides when they may be read again. Private to src/jit.
 *
 * One thread reads at a time; others look code up meanwhile. The reader holds the lock only for the
 * moments in which it changes the functions of the jitdump, or the list. The functions of the perf
 * map belong to the reader until it has finished.
 */
#ifndef JIT_PROCESSCODE_H
#define JIT_PROCESSCODE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/bell.h"
#include "base/hash.h"
#include "jit/gdbjit.h"
#include "jit/codetask.h"
#include "jit/jitfile.h"

#define PROCESS_CODE_WAIT_NS 1000000000 /* callers wait this long for a read */

/* One file and the functions read from it. */
struct code_source {
	int fd;		     /* negative: not found */
	struct codemap *map; /* NULL: nothing yet */
	struct code_progress at;
	uint64_t read_sz; /* size of the file when all of it was read; UINT64_MAX: it was not */
	bool overflowed;  /* it had too many functions; the newest are kept */
	int err;	  /* sticky */
};

struct process_code {
	atomic_uint refs;
	UT_hash_handle hh; /* of struct jit, like: */
	uint64_t used;	   /* time of the last use: a number that grows */
	uint64_t swept;	   /* .used at the last jit__sweep() */
	unsigned age;	   /* sweeps without use */

	/* These do not change. */
	uint32_t tgid;
	uint64_t lane, crowd; /* of the jobs that read it */
	char *proc, *root; /* see struct jit_places; copies, for a job that outlives their owner */
	char *told;	   /* path of its jitdump, from records; NULL: none */
	struct workers *workers; /* a reference; NULL: the reader's thread parses its files */

	atomic_bool gone;	/* another process has the ID, or this one was dropped */
	atomic_bool none;	/* a read found no call-frame information */
	atomic_bool adding;	/* the reader takes the lock again and again */
	atomic_size_t sz;	/* bytes, after the last read */
	atomic_uint generation; /* see jit__generation() */

	pthread_mutex_t lock; /* protects the fields below */
	struct bell read;     /* rung after each read */
	bool reading;	      /* a thread reads, or a job waits to do so */
	bool discard;	      /* the reader must empty it */
	bool wants_list;      /* the next read includes the list for gdb */
	bool has_list;	      /* … a read has */
	uint64_t reading_ns;  /* since then */
	uint64_t read_ns;     /* start of the last read; 0: none */
	uint64_t again_ns;    /* no read before this time */
	uint32_t reloaded;    /* number of times that a source started over */
	struct code_source sources[CODE_FORMAT_CNT];
	struct gdb_jit *listed;

	/* Private to the reader. */
	struct jit_owner owner;
	bool opened;	    /* .owner has been opened, or that failed */
	bool warned;	    /* about its large perf map */
	bool failed;	    /* in this read, workers failed */
	uint64_t search_ns; /* no search for missing files before this time */
	uint64_t list_ns;   /* … for the list */
};

/* Copies its arguments; `told` is the path of the jitdump from records, or NULL. Returns NULL if
 * out of memory. */
struct process_code *process_code__new(const struct jit_places *, uint32_t tgid, const char *told);
struct process_code *process_code__get(
	struct process_code *);		       /* returns it with a reference more */
void process_code__put(struct process_code *); /* frees it with its last reference; accepts NULL */

/*
 * Begins a read if one is due: none is under way, nothing was read since `since_ns`
 * (CLOCK_MONOTONIC), and the last reads took no more than their share of the time. Files of a
 * recorded process are read once. If it returns true, the caller must call process_code__read() or
 * process_code__undone(), from any thread. Must hold the lock.
 */
bool process_code__begin(struct process_code *, uint64_t since_ns);
/* Reads what is new. May block on the files and the memory of the process. */
void process_code__read(struct process_code *);
/* Ends a read that could not begin. */
void process_code__undone(struct process_code *);

/* Frees the code now, or when it has been read, and prevents reads for this time. */
void process_code__empty(struct process_code *, uint64_t rest_ns);

/* Locks it. Returns false instead of waiting for the reader. */
bool process_code__lock_now(struct process_code *);

/* Finds the function at a place. Must hold the lock; `*c` is valid until it is released. */
bool process_code__find_name(const struct process_code *, const struct jit_place *, struct code *);
/* … of the sources with call-frame information. .frames is NULL if the function has none. */
bool process_code__find_frames(const struct process_code *, const struct jit_place *,
			       struct code *);
/* Returns a number that changes when a place may have other call-frame information than before.
 * Must hold the lock. */
uint32_t process_code__frames_generation(const struct process_code *);

#endif
