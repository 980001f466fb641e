/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ELF files that a profile's frames lie in, where they are here: build IDs, source lines, and
 * where functions begin that have no name. */
#ifndef PPROF_BINARY_H
#define PPROF_BINARY_H

#include <stdbool.h>

#include "event/record.h"
#include "pprof/named_frame.h"
#include "symbol/lines.h"

#define BUILD_ID_HEX_SZ (2 * BUILD_ID_MAX + 1)

/* The build ID as lower-case hex. 0, -ENOEXEC (no ELF file), -ENODATA (it has none) or -errno. */
int binary__build_id(const char *path, char hex[BUILD_ID_HEX_SZ]);

struct binaries;

/* `given` is -b's file, looked into before the frames' own files, or NULL; borrowed. NULL + errno.
 */
struct binaries *binaries__new(const char *given);
void binaries__free(struct binaries *);

/*
 * The lines of the file with that build ID (hex): -b's, else the one at `module`. NULL when there
 * is no such file with that build ID, or it has no debug information. Asked once per file.
 */
struct lines *binaries__lines(struct binaries *, const char *module, const char *build_id);

/* A frame without a name gets its address, and its offset from there, where that file says which
 * function it is in. */
void binaries__locate(struct binaries *, struct named_frame *);

#endif
