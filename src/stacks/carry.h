/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks that rows of the next batch still refer to, taken over from the one that closes. */
#ifndef STACKS_CARRY_H
#define STACKS_CARRY_H

#include "store/recording.h"

struct carry;

struct carry *carry__new(void); /* NULL + errno */
void carry__free(struct carry *);
/* Before the batch closes: copies a stack of it with its strings; 0 is no stack. False when it
 * cannot be had. */
bool carry__save(struct carry *, const struct recording *, uint64_t stack_id);
/* After: adds what was saved to the new batch and forgets it. */
void carry__restore(struct carry *, struct recording *);

#endif
