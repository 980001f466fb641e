/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Aligned tables for people. */
#ifndef STACKSEXPORT_PRINTER_H
#define STACKSEXPORT_PRINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct printer;

/* `right[i]`: column i is aligned to the right and never cut. NULL + errno. */
struct printer *printer__new(size_t column_cnt, const bool *right);
void printer__free(struct printer *);

/* Cells come row by row, the heading first. Control characters and bad UTF-8 are replaced. */
void printer__cell(struct printer *, const char *s, size_t sz);
__attribute__((format(printf, 2, 3))) void printer__cellf(struct printer *, const char *fmt, ...);

/*
 * Prints the table; columns of text are cut so that it fits `width` columns (0: whatever it takes).
 * 0, or -ENOMEM when a cell could not be kept.
 */
int printer__print(const struct printer *, FILE *, size_t width);

/* The width of the terminal behind a file descriptor; 0 when it is none. */
size_t terminal__width(int fd);

#endif
