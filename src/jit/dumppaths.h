/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of the jitdumps of processes that have ended or ran on another machine, from the records of
 * their mappings. A runtime maps its jit-PID.dump like code so that tools find it.
 */
#ifndef JIT_DUMPPATHS_H
#define JIT_DUMPPATHS_H

#include "event/record.h"

struct dump_paths;

struct dump_paths *dump_paths__new(void); /* returns NULL and sets errno on failure */
void dump_paths__free(struct dump_paths *);

/* Keeps the path if the record is the mapping of a jitdump; ignores other records. */
void dump_paths__apply(struct dump_paths *, const struct record *);

/* Returns the path, or NULL if no record had one. The pointer stays the same while the path does.
 */
const char *dump_paths__dump(const struct dump_paths *, uint32_t tgid);

#endif
