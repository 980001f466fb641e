/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ELF files of a profile's frames, if they are on this machine. Provides their build IDs,
 * source lines, and the start addresses of functions without a name. */
#ifndef PPROF_BINARY_H
#define PPROF_BINARY_H

#include <stdbool.h>

#include "event/record.h"
#include "pprof/named_frame.h"
#include "symbol/lines.h"

#define BUILD_ID_HEX_SZ (2 * BUILD_ID_MAX + 1)

/* Stores the build ID as lower-case hex. Returns 0, -ENOEXEC (not an ELF file), -ENODATA (no build
 * ID) or -errno. */
int binary__build_id(const char *path, char hex[BUILD_ID_HEX_SZ]);

struct binaries;

/* Returns NULL with errno set on failure. `given` is the file of option -b or NULL. It is borrowed,
 * and is tried before the frames' own files. */
struct binaries *binaries__new(const char *given);
void binaries__free(struct binaries *);

/*
 * Returns the lines of the file with that build ID (hex): the file of -b, else the file at
 * `module`. Returns NULL if neither has that build ID, or if it has no debug information. The
 * result is cached, and each file is opened once.
 */
struct lines *binaries__lines(struct binaries *, const char *module, const char *build_id);

/* Sets the address of a frame without a name to the start of its function, and its offset from
 * there. Leaves the frame unchanged if the file does not have the function. */
void binaries__locate(struct binaries *, struct named_frame *);

#endif
