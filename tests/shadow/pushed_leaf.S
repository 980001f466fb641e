/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leaf functions without call-frame information, each with a different kind of frame. */
	.macro function name
	.globl \name
	.type \name, @function
	.p2align 4
\name:
	.endm
	.text

	/* Pushes, and pops at the end. */
	function leaf_pushes
	push %rbx
	push %rbp
	push %r12
	mov %rdi, %rbx
	mov %rsi, %rbp
	lea (%rbx, %rbp), %r12
	imul %rbx, %r12
	xor %r12, %rbp
	mov %r12, %rax
	pop %r12
	pop %rbp
	pop %rbx
	ret

	/* Locals that it does not write: data of earlier calls remains. */
	function leaf_locals
	sub $24, %rsp
	mov %rdi, %rax
	add %rsi, %rax
	imul %rdi, %rax
	add $24, %rsp
	ret

	function leaf_large_locals
	sub $256, %rsp
	mov %rdi, %rax
	mov %rsi, 8(%rsp)
	add 8(%rsp), %rax
	add $256, %rsp
	ret

	function leaf_lea
	lea -32(%rsp), %rsp
	mov %rdi, 8(%rsp)
	mov 8(%rsp), %rax
	add %rsi, %rax
	lea 32(%rsp), %rsp
	ret

	/* Pushes and locals. */
	function leaf_both
	push %rbp
	push %r13
	sub $40, %rsp
	mov %rdi, %r13
	mov $3, %ebp
1:	add %r13, %rsi
	dec %ebp
	jnz 1b
	mov %rsi, %rax
	add $40, %rsp
	pop %r13
	pop %rbp
	ret

	/* Returns early, before and after the pushes. */
	function leaf_early
	mov %rdi, %rax
	test $1, %dil
	jnz 2f
	push %rbx
	push %rbp
	mov %rsi, %rbx
	test $2, %dil
	jnz 1f
	imul %rbx, %rax
	mov %rax, %rbp
	add %rbp, %rax
	pop %rbp
	pop %rbx
	ret
1:	sub $16, %rsp
	mov %rax, (%rsp)
	add (%rsp), %rax
	add $16, %rsp
	pop %rbp
	pop %rbx
	ret
2:	add %rsi, %rax
	ret

	/* Its end is before its middle. */
	function leaf_jumps_back
	jmp 2f
1:	add $8, %rsp
	pop %rbx
	ret
2:	push %rbx
	sub $8, %rsp
	mov %rdi, %rbx
	lea (%rbx, %rsi), %rax
	test %rax, %rax
	jns 1b
	neg %rax
	jmp 1b

	function leaf_frame
	push %rbp
	mov %rsp, %rbp
	push %rbx
	sub $24, %rsp
	mov %rdi, -24(%rbp)
	mov -24(%rbp), %rax
	lea (%rax, %rsi), %rbx
	mov %rbx, %rax
	mov -8(%rbp), %rbx
	leave
	ret

	/* rbp is a loop counter, and not saved at the top of the stack. */
	function leaf_loop
	push %r12
	push %rbp
	push %rbx
	mov $4, %ebp
	xor %eax, %eax
1:	lea (%rax, %rdi), %rbx
	lea (%rbx, %rsi), %rax
	dec %ebp
	jnz 1b
	pop %rbx
	pop %rbp
	pop %r12
	ret

	function leaf_table
	push %rbx
	push %r14
	mov %rdi, %rbx
	and $3, %ebx
	lea table(%rip), %r14
	movslq (%r14, %rbx, 4), %rbx
	add %r14, %rbx
	jmp *%rbx
case0:	lea 1(%rdi), %rax
	jmp 1f
case1:	lea 2(%rdi, %rsi), %rax
	pop %r14
	pop %rbx
	ret
case2:	sub $8, %rsp
	mov %rdi, (%rsp)
	mov (%rsp), %rax
	add $8, %rsp
	jmp 1f
case3:	mov %rsi, %rax
1:	pop %r14
	pop %rbx
	ret

	/* Aligns its stack, with the old pointer in another register. */
	function leaf_aligned
	mov %rsp, %r10
	sub $64, %rsp
	and $-64, %rsp
	mov %rdi, (%rsp)
	mov (%rsp), %rax
	add %rsi, %rax
	mov %r10, %rsp
	ret

	/* Uses no stack; rbp is a scratch register, saved in another register. */
	function leaf_bare
	mov %rbp, %r11
	mov %rdi, %rbp
	lea (%rbp, %rsi), %rax
	imul %rbp, %rax
	mov %r11, %rbp
	ret

	/* Pushes a number that could be an address of code. */
	function leaf_pushes_address
	lea leaf_bare(%rip), %rax
	push %rax
	push %rdi
	mov (%rsp), %rax
	add 8(%rsp), %rax
	pop %rdi
	pop %rax
	ret
	.size leaf_pushes_address, . - leaf_pushes_address

	.section .rodata
	.p2align 2
table:	.long case0 - table, case1 - table, case2 - table, case3 - table
	.section .note.GNU-stack, "", @progbits
