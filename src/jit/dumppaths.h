/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Of processes that nobody can ask any more: where they had their jitdumps, as records of their
 * mappings tell. For tools a runtime maps its jit-PID.dump as if it were code.
 */
#ifndef JIT_DUMPPATHS_H
#define JIT_DUMPPATHS_H

#include "event/record.h"

struct dump_paths;

struct dump_paths *dump_paths__new(void); /* NULL + errno */
void dump_paths__free(struct dump_paths *);

/* Takes note of a mapping of a jitdump; of what else is recorded it takes none. */
void dump_paths__apply(struct dump_paths *, const struct record *);

/* NULL: none was told of. The same address as before as long as it is the same one. */
const char *dump_paths__dump(const struct dump_paths *, uint32_t tgid);

#endif
