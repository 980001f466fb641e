/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF expressions in call-frame information (DWARF 5, sections 2.5.1 and 6.4.2). */
#ifndef CFI_EXPR_H
#define CFI_EXPR_H

#include <elfutils/libdw.h>

#include "cfi/regs.h"

#define EXPR_OP_MAX    256  /* operations of one expression */
#define EXPR_STEPS_MAX 1024 /* executed operations: an expression may jump back */

/* An operation. The target of a jump is an index. Without padding, so that memcmp() can compare it.
 */
struct expr_op {
	uint64_t a, b;
	uint64_t atom; /* DW_OP_* */
};

/* Copies libdw's operations and resolves jumps; drops a trailing DW_OP_stack_value. Returns the
 * number of operations, or -EINVAL if an operation is not allowed in CFI. */
int expr__compile(const Dwarf_Op *ops, size_t cnt, struct expr_op out[EXPR_OP_MAX]);

struct expr_env {
	const struct regs *regs;
	const struct snapshot *snapshot;
	uint64_t cfa; /* 0 while the CFA itself is being computed */
};

/*
 * Sets `*out` to the value on top of the stack. Returns -EFAULT if the expression reads memory
 * outside the snapshot. Returns -EINVAL for an unknown register, an empty or full stack, division
 * by zero, or too many steps.
 */
int expr__eval(const struct expr_op *ops, size_t cnt, const struct expr_env *env, uint64_t *out);

#endif
