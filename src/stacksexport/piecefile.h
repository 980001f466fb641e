/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is written in pieces, compressed with gzip or not. Errors are sticky:
 * piecefile__close() returns the first. */
#ifndef STACKSEXPORT_PIECEFILE_H
#define STACKSEXPORT_PIECEFILE_H

#include <stdbool.h>

#include "base/buf.h"

#define PIECEFILE_PIECE_SZ (256u << 10)

struct piecefile;

/* Returns NULL and sets errno on failure. */
struct piecefile *piecefile__open(const char *path, bool gz);

/* Returns what is not written yet, for the caller to append to. */
struct buf *piecefile__out(struct piecefile *);

/* Writes if there is a piece of PIECEFILE_PIECE_SZ. */
void piecefile__flush(struct piecefile *);

/* Writes what is left. Frees the file. Returns 0 or -errno. */
int piecefile__close(struct piecefile *);

/* Returns true if the name says that the file is compressed: it ends in .gz. */
bool piecefile__is_gz(const char *name);

#endif
