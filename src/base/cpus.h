/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPUs that the machine has, and those that are online now. */
#ifndef BASE_CPUS_H
#define BASE_CPUS_H

#include <stdbool.h>
#include <stddef.h>

/* Sets online[i] for i < cnt from a list such as "0-3,8". 0 or -EINVAL. */
int cpus__parse(const char *list, bool *online, size_t cnt);
/* One more than the highest number that a CPU can ever have here; at least 1. */
size_t cpus__possible(void);
/* Those that are online now, of the first cnt. 0 or -errno. */
int cpus__online(bool *online, size_t cnt);

#endif
