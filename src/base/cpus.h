/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPUs of the machine, and those that are online. */
#ifndef BASE_CPUS_H
#define BASE_CPUS_H

#include <stdbool.h>
#include <stddef.h>

/* Sets online[i] for i < cnt from a list such as "0-3,8". Returns 0 or -EINVAL. */
int cpus__parse(const char *list, bool *online, size_t cnt);
/* Returns one more than the highest possible CPU number; at least 1. */
size_t cpus__possible(void);
/* Sets online[i] for the CPUs i < cnt that are online now. Returns 0 or -errno. */
int cpus__online(bool *online, size_t cnt);

#endif
