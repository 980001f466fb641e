/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/maps, proc(5): its executable lines as the kernel would have recorded them. */
#ifndef PROCESS_MAPS_H
#define PROCESS_MAPS_H

#include "event/record.h"

/* Gets what is borrowed from the text; the path is "" for anonymous memory. */
typedef void (*maps_fn)(const struct record_mmap *, void *arg);

/*
 * Hands out every executable mapping of the whole lines in `text`, which it writes to. Lines that
 * are no mapping are passed over. Returns how many bytes were whole lines: the rest is the
 * beginning of one whose end is still to be read.
 */
size_t maps__parse(char *text, size_t sz, maps_fn, void *arg);

/* The same for an open file, from where it stands to its end. 0 or -errno. Closes nothing. */
int maps__read(int fd, maps_fn, void *arg);

#endif
