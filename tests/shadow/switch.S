/* SPDX-License-Identifier: GPL-2.0-or-later */
/* switch_stack(&old, new): like small coroutine libraries, with call-frame information. */
	.text
	.globl switch_stack
	.type switch_stack, @function
switch_stack:
	.cfi_startproc
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	push %r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	mov %rsp, (%rdi)
	mov %rsi, %rsp
	pop %r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	pop %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size switch_stack, . - switch_stack
	.section .note.GNU-stack, "", @progbits
