/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Of processes that nobody can ask any more: where they had their jitdumps, as records of their
 * mappings tell. For tools a runtime maps its jit-PID.dump as if it were code.
 */
#ifndef SYMBOL_JITTOLD_H
#define SYMBOL_JITTOLD_H

#include "event/record.h"

struct jit_told;

struct jit_told *jit_told__new(void); /* NULL + errno */
void jit_told__free(struct jit_told *);

/* Takes note of a mapping of a jitdump; of what else is recorded it takes none. */
void jit_told__apply(struct jit_told *, const struct record *);

/* NULL: none was told of. The same address as before as long as it is the same one. */
const char *jit_told__dump(const struct jit_told *, uint32_t tgid);

#endif
