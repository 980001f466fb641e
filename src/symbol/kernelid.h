/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SYMBOL_KERNELID_H
#define SYMBOL_KERNELID_H

#include "event/record.h"

/* Returns the running kernel's build ID, from its notes (/sys/kernel/notes), or an empty one. */
struct build_id kernel__build_id(void);

#endif
