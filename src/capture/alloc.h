/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads the probe alloc. A thread looks for recorded processes with new code, reads which files
 * they map, and attaches to the allocation functions of each file. A file may not answer, or a
 * process may hold the lock under which its mappings are read: then only this thread waits.
 */
#ifndef CAPTURE_ALLOC_H
#define CAPTURE_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

struct alloc;
struct collector_bpf;
struct workers; /* worker/workers.h */

/* Attaches nothing until alloc__attach(). Takes a reference to the workers, which read the symbols
 * of files; NULL: the thread does. Returns NULL and sets errno. */
struct alloc *alloc__new(struct workers *);
/* Sets how the programs are attached. Call it before they are loaded, with the chosen way of the
 * probe (NULL: it is not recorded). `multi`: the kernel attaches a program to many places at a
 * time. Returns 0 or -errno. */
int alloc__prepare(struct alloc *, struct collector_bpf *, const char *way, bool multi);
/*
 * Starts the thread, and waits at most 2 s until it has attached to the processes that are recorded
 * now. `early`: any processes may start later, so it also attaches to the C library of this
 * process and to the known allocators beside it; the first allocations in these are then not
 * missed. Returns 0 or -errno (already logged).
 */
int alloc__attach(struct alloc *, struct collector_bpf *, bool early);
/* Attaches to the same libraries, and to the program, for a process that is about to start this
 * program, and for no other one if the kernel can do that. `program` is a path, or NULL if it is
 * not known. Waits at most 2 s. */
void alloc__add_command(struct alloc *, uint32_t tgid, const char *program);
/* Begins to detach and waits half a second; up to 3 s on kernels before 6.6, which detach each
 * function by itself. Returns false if the thread has not ended by then.
 * Accepts NULL. */
bool alloc__detach(struct alloc *);
/* Waits until the kernel has detached, without a limit. The programs must still be loaded. Accepts
 * NULL. */
void alloc__free(struct alloc *);

#endif
