/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The full path of an open file. */
#ifndef FILEPATH_BPF_H
#define FILEPATH_BPF_H

#include "bpf/base.bpf.h"

/*
 * Fills `out` with file system type and path of an open file, as seen in the mount namespace of its
 * mount. Returns the bytes that are filled, a multiple of 8; 0 if the file has no path (pipes,
 * memfd), or one of more than 254 bytes or 32 folders and mounts. A path is composed once and then
 * copied: later changes of the names of its folders are not seen.
 */
long file_path__read(struct event_path *out, const struct file *file) __hidden;

#endif
