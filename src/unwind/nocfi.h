/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps from code without call-frame information: by rules derived from its instructions, by the
 * return address of a leaf, and by frame pointer. Each step leaves the walk at the caller and
 * returns SLOWWALK_GO_ON, or returns how the walk ends.
 */
#ifndef UNWIND_NOCFI_H
#define UNWIND_NOCFI_H

#include "unwind/slowwalk_state.h"

/* `cfi`: of the file, NULL if there is none. `place`: the link-time address of the code. `caller`:
 * the frame has called the one before. */
enum unwind_status no_cfi__step(struct slowwalk *, struct libdw_rules *cfi, uint64_t place,
				bool caller);

/*
 * Follows a frame made by `push %rbp; mov %rsp,%rbp`, or by `stp x29, x30, [sp, #-n]!; mov x29,
 * sp`. In the latter, the caller's stack pointer is somewhere above.
 */
enum unwind_status no_cfi__follow_fp(struct slowwalk *, bool caller);

/*
 * Steps back from a call of an address that no mapping can have. Nothing has been executed there,
 * so the return address is on top of the stack, or in the link register.
 */
enum unwind_status no_cfi__leave_no_code(struct slowwalk *);

/*
 * Steps back from the first instruction of a function, of which the kernel runs a copy. Returns
 * UNWIND_NO_CFI if no return address is on top of the stack, or in the link register.
 */
enum unwind_status no_cfi__leave_entry(struct slowwalk *);

#endif
