/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Build IDs of ELF files, and source lines of the files that a profile's frames lie in. */
#ifndef PPROF_BINARY_H
#define PPROF_BINARY_H

#include <stdbool.h>
#include "event/record.h"
#include "symbol/lines.h"

#define BUILD_ID_HEX_SZ (2 * BUILD_ID_MAX + 1)

/* The build ID as lower-case hex. 0, -ENOEXEC (no ELF file), -ENODATA (it has none) or -errno. */
int binary__build_id(const char *path, char hex[BUILD_ID_HEX_SZ]);

struct binary_lines;

/* `binary` is -b's file, looked into before the frames' own files, or NULL; borrowed. NULL + errno.
 */
struct binary_lines *binary_lines__new(const char *binary);
void binary_lines__free(struct binary_lines *);

/*
 * The lines of the file with that build ID (hex): -b's, else the one at `module`. NULL when there
 * is no such file with that build ID, or it has no debug information. Asked once per file.
 */
struct lines *binary_lines__find(struct binary_lines *, const char *module, const char *build_id);

#endif
