/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that C cannot express. */
	.text
	.globl _start, syscall3, restore_rt, leaf_that_is_interrupted
	.type _start, %function
	.type syscall3, %function
	.type restore_rt, %function
	.type leaf_that_is_interrupted, %function

_start:
	.cfi_startproc
	.cfi_undefined x30
	mov	x29, #0
	mov	x30, #0
	bl	main
	brk	#1
	.cfi_endproc
	.size _start, . - _start

syscall3:
	.cfi_startproc
	mov	x8, x0
	mov	x0, x1
	mov	x1, x2
	mov	x2, x3
	mov	x3, x4
	svc	#0
	nop
	ret
	.cfi_endproc
	.size syscall3, . - syscall3

/* The return address is only in x30 when the signal arrives. */
leaf_that_is_interrupted:
	.cfi_startproc
	mov	x1, #0
	ldr	w1, [x1]
	add	w0, w0, w1
	ret
	.cfi_endproc
	.size leaf_that_is_interrupted, . - leaf_that_is_interrupted

/* Like in C libraries: it has no call-frame information and is recognized by its instructions. */
	.p2align 4
	nop
restore_rt:
	mov	x8, #139
	svc	#0
	.size restore_rt, . - restore_rt
	.section .note.GNU-stack, "", %progbits
