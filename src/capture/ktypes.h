/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds where the kernel's types (BTF) place variables and members. */
#ifndef CAPTURE_KTYPES_H
#define CAPTURE_KTYPES_H

#include <stdint.h>

struct btf;

/* Returns the offset of a per-CPU variable and sets its type; -1 if the kernel has no such
 * variable. */
int64_t ktypes__variable(const struct btf *, const char *name, uint32_t *type);

/* Returns the offset of a member in bytes, -1 if there is none. Searches unnamed members too. */
int64_t ktypes__member(const struct btf *, uint32_t type, const char *name);

/* Like ktypes__member(), for a struct that is given by its name. */
int64_t ktypes__member_of(const struct btf *, const char *type, const char *name);

#endif
