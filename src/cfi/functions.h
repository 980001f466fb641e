/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The starts of a file's functions, from its call-frame information, which stripped files have too.
 * A part that the compiler placed elsewhere (.cold) counts as a function of its own. */
#ifndef CFI_FUNCTIONS_H
#define CFI_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct functions;

/* Reads the .eh_frame of the ELF file at `path`. Returns NULL and sets errno; ENOENT: the file has
 * no .eh_frame. */
struct functions *functions__new(const char *path);
void functions__free(struct functions *);

/* Sets `*start` to the start of the function at a link-time address. Returns false if there is
 * none. */
bool functions__find(const struct functions *, uint64_t vaddr, uint64_t *start);

#endif
