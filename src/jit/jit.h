/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that processes make at run time, from their /tmp/perf-PID.map, from a jit-PID.dump that they
 * have mapped, and from the images that they list for gdb. This gives the names; jit/jitcfi.h gives
 * the call-frame information of the same code.
 *
 * Files are opened in the process's view of the file system and must belong to its user or to root.
 * They are read again when they have grown; files of recorded processes are read once. Any thread
 * may use it. May block on a slow file system unless jobs read.
 */
#ifndef JIT_JIT_H
#define JIT_JIT_H

#include "base/jobs.h"
#include "jit/jitfile.h"
#include "symbol/demangle.h"

struct jit;

struct jit_symbol {
	char name[SYMBOL_NAME_MAX]; /* raw */
	uint64_t start;		    /* of the function, in the process */
};

/* Borrows the strings. Returns NULL and sets errno on failure. */
struct jit *jit__new(const struct jit_places *);
void jit__free(struct jit *); /* call it after jobs__free(); accepts NULL */

/*
 * Finds the function that was at the place at that time. A job of `jobs`, which the caller
 * collects, reads the files. Returns JIT_READS while the files of the process are being read; call
 * again after jobs__collect(), or some time later. If reading takes longer than a second, the
 * process has no names until then. If `jobs` is NULL, reads the files itself, or waits for a job
 * that reads them, and never returns JIT_READS.
 */
enum jit_answer { JIT_NONE, JIT_NAMED, JIT_READS };
enum jit_answer jit__name(struct jit *, const struct jit_place *, struct jobs *,
			  struct jit_symbol *);

/*
 * Returns 0 if the process, as far as it was examined, publishes no names. Otherwise returns a
 * number that changes when a place in the process may have another name than before.
 */
uint32_t jit__generation(struct jit *, uint32_t tgid);

/*
 * Bytes in memory of all processes. jit__sweep() forgets the processes that were not used since
 * `age` sweeps. jit__shrink() empties the largest ones until at least `sz` bytes are free, if there
 * are so many; their files are read again when they are used. Both return the number of bytes that
 * were freed. Call them from the thread that collects the jobs.
 */
size_t jit__sz(struct jit *);
size_t jit__sweep(struct jit *, unsigned age);
size_t jit__shrink(struct jit *, size_t sz);

/* ---- for src/jit
 * ----------------------------------------------------------------------------------
 */

struct process_code;

/* Returns a reference to the code of the process; NULL if out of memory. */
struct process_code *jit__code(struct jit *, uint32_t tgid);
/* Returns whether this is still the code of the process with that ID. */
bool jit__is_current(const struct jit *, const struct process_code *);
/* Continues process_code__begin(): a job reads, or this thread if `jobs` is NULL. */
void jit__read(struct jit *, struct process_code *, struct jobs *);
bool jit__is_live(const struct jit *); /* it covers the processes of this host */
/* Returns whether the process may have published call-frame information. */
bool jit__may_have_frames(const struct jit *, uint32_t tgid);

#endif
