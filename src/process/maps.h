/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses the executable lines of /proc/PID/maps, proc(5), into the records that the kernel would
 * have written.
 */
#ifndef PROCESS_MAPS_H
#define PROCESS_MAPS_H

#include "event/record.h"

/* Receives a record that borrows from the text. The path is "" for anonymous memory. */
typedef void (*maps_fn)(const struct record_mmap *, void *arg);

/*
 * Calls `fn` for every executable mapping in the complete lines of `text`, and modifies `text`.
 * Skips lines that are no mapping. Returns the number of bytes in complete lines; the rest is an
 * incomplete line.
 */
size_t maps__parse(char *text, size_t sz, maps_fn, void *arg);

/*
 * Like maps__parse(), for an open file, from its current offset to its end. Does not close `fd`.
 * Returns 0 or -errno.
 */
int maps__read(int fd, maps_fn, void *arg);

#endif
