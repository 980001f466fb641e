/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPUs that are online now. */
#ifndef CAPTURE_CPUS_H
#define CAPTURE_CPUS_H

#include <stdbool.h>
#include <stddef.h>

/* Sets online[i] for i < cnt from a list such as "0-3,8". 0 or -EINVAL. */
int cpus__parse(const char *list, bool *online, size_t cnt);
/* The same from the system. 0 or -errno. */
int cpus__online(bool *online, size_t cnt);

#endif
