/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of the stacks to which rows of the next batch refer, taken from the batch that closes. */
#ifndef STACKS_CARRY_H
#define STACKS_CARRY_H

#include "store/recording.h"

struct carry;

struct carry *carry__new(void); /* NULL + errno */
void carry__free(struct carry *);
/* Call it before the batch closes. Copies one of its stacks with its strings; id 0 is no stack.
 * Returns false if the stack cannot be copied. */
bool carry__save(struct carry *, const struct recording *, uint64_t stack_id);
/* Call it after the batch was closed. Adds the saved stacks to the new batch and forgets them. */
void carry__restore(struct carry *, struct recording *);

#endif
