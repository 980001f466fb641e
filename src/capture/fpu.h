/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the FPU's state takes where the kernel saves it. */
#ifndef CAPTURE_FPU_H
#define CAPTURE_FPU_H

#include <stdint.h>

/* Bytes of it on the stack of a signal handler; not of who has asked for AMX (arch_prctl). */
uint32_t fpu__signal_sz(void);

#endif
