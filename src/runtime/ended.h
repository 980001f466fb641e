/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUNTIME_ENDED_H
#define RUNTIME_ENDED_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* Returns true if the process has ended. `proc`: descriptor of /proc. */
static inline bool process__ended(int proc, uint32_t tgid)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", tgid);
	return faccessat(proc, name, F_OK, 0) != 0;
}

#endif
