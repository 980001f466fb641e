/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules that the instructions of Go's runtime for AArch64 determine (asm_arm64.s,
 * sys_linux_arm64.s, preempt_arm64.s, signal_arm64.go). Their call-frame information says nothing
 * of the stacks and registers that these functions change.
 */
#ifndef CFI_GOCODE_H
#define CFI_GOCODE_H

#include <stddef.h>

#include "cfi/fullrule.h"

enum gocode_kind {
	GOCODE_NONE,
	/* Works on the thread's stack while g is the thread's g0. */
	GOCODE_SWITCH,
	/* Works on the thread's stack, and keeps its own stack pointer in x20. */
	GOCODE_VDSO,
	/* Overwrites its return address, which it keeps in the link register. */
	GOCODE_LEAF,
	/* The signal handler pushed the link register of the interrupted code, and set it to the
	 * place where that continues. */
	GOCODE_PREEMPT,
};

struct gocode_row {
	uint64_t at, sz; /* bytes of the function */
	struct wide_rule rule;
};

#define GOCODE_ROWS_MAX 2

/* Returns the number of rows, or 0 if the code of the function, sz bytes, is not as expected. */
size_t gocode__rows(enum gocode_kind, const uint8_t *code, size_t sz,
		    struct gocode_row rows[GOCODE_ROWS_MAX]);

#endif
