/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SYMBOL_KERNELID_H
#define SYMBOL_KERNELID_H

#include "event/record.h"

/* The running kernel's build ID, from its notes (/sys/kernel/notes); without bytes when it tells
 * none. */
struct build_id kernel__build_id(void);

#endif
