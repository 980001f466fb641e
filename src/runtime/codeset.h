/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pieces of code, by address. */
#ifndef RUNTIME_CODESET_H
#define RUNTIME_CODESET_H

#include "runtime/codeblob.h"

struct code_set {
	struct code_blob **blobs; /* ascending, none overlaps another */
	size_t cnt, cap;
	size_t sz; /* bytes */
};

void code_set__clear(struct code_set *); /* frees all */
/* Returns the piece that has the address, or NULL. */
struct code_blob *code_set__find(const struct code_set *, uint64_t addr);
/* Puts a piece in the place of those that it overlaps; takes ownership. */
void code_set__put(struct code_set *, struct code_blob *);

#endif
