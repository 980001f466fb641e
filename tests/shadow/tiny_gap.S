/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions without call-frame information between two that have it, so short that the gap between
 * the FDEs could be padding.
 */
	.macro covered name
	.p2align 4
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	endbr64
	mov %rdi, %rax
	add $1, %rax
	imul %rdi, %rax
	add $3, %rax
	ret
	.cfi_endproc
	.size \name, . - \name
	.endm

	/* Ends where the next function with call-frame information begins, without padding. */
	.macro tiny name
	.globl \name
	.type \name, @function
\name:
	.endm
	.text

	covered before_pops
	tiny gap_pops		/* 11 bytes */
	push %rbx
	mov %rdi, %rbx
	lea 1(%rbx), %eax
	nop
	pop %rbx
	ret
	covered before_calls
	tiny gap_calls		/* 11 bytes */
	sub $8, %rsp
	call *%rdi
	add $8, %rsp
	ret
	covered before_bare
	tiny gap_bare		/* 4 bytes */
	lea (%rdi), %eax
	nop
	ret
	covered before_jumps
	tiny gap_jumps		/* 3 bytes */
	nop
	jmp *%rdi
	covered before_pushed_call
	tiny gap_pushed_call	/* 8 bytes */
	push %rbp
	xor %ebp, %ebp
	call *%rdi
	pop %rbp
	ret
	covered behind_all
	.section .note.GNU-stack, "", @progbits
