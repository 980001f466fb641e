/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF expressions as they occur in call-frame information (DWARF 5, sections 2.5.1 and 6.4.2). */
#ifndef CFI_EXPR_H
#define CFI_EXPR_H

#include <elfutils/libdw.h>

#include "cfi/regs.h"

#define EXPR_OP_MAX    256  /* operations of one expression */
#define EXPR_STEPS_MAX 1024 /* operations executed: an expression may jump back */

/* An operation; the target of a jump is an index. Has no padding, so that memcmp compares. */
struct expr_op {
	uint64_t a, b;
	uint64_t atom; /* DW_OP_* */
};

/* Copies libdw's operations and resolves jumps; a trailing DW_OP_stack_value is dropped. The
 * number of operations, or -EINVAL for what may not stand in CFI. */
int expr__compile(const Dwarf_Op *ops, size_t cnt, struct expr_op out[EXPR_OP_MAX]);

struct expr_env {
	const struct regs *regs;
	const struct snapshot *snapshot;
	uint64_t cfa; /* 0 while the CFA itself is computed */
};

/*
 * The value on top of the stack. -EFAULT: reads memory that is not in the snapshot. -EINVAL: a
 * register that is not known, an empty or full stack, division by zero, too many steps.
 */
int expr__eval(const struct expr_op *ops, size_t cnt, const struct expr_env *env, uint64_t *out);

#endif
