/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heaviest lines of folded stacks. */
#ifndef STACKSEXPORT_MCP_FOLDEDTOP_H
#define STACKSEXPORT_MCP_FOLDEDTOP_H

#include "base/buf.h"

/* Keeps the `cnt` lines with the largest values, the largest first, and adds a line about the
 * others. */
void folded_top__keep(struct buf *folded, size_t cnt);

#endif
