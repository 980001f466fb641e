/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a file's functions begin, from its call-frame information: stripped files have that, too. A
 * part of a function that compilers put elsewhere (.cold) is one of its own. */
#ifndef CFI_FUNCTIONS_H
#define CFI_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct functions;

/* Reads the .eh_frame of the ELF file at `path`. NULL + errno; ENOENT: it has none. */
struct functions *functions__new(const char *path);
void functions__free(struct functions *);

/* The start of the function that has a link-time address. False: none has. */
bool functions__find(const struct functions *, uint64_t vaddr, uint64_t *start);

#endif
