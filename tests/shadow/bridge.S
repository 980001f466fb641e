/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls between C functions through code without call-frame information that uses rbp. */
	.text

	/* Saves rbp and uses it for another value during a call. */
	.globl bridge
	.type bridge, @function
bridge:
	push %rbp
	push %rbx
	xor %ebp, %ebp
	sub $8, %rsp
	mov %rdi, %rbx
	call *%rsi
	add %rbx, %rax
	add $8, %rsp
	pop %rbx
	pop %rbp
	ret
	.size bridge, . - bridge

	/* Has locals, and calls twice; rbp is a counter. */
	.globl bridge_counts
	.type bridge_counts, @function
bridge_counts:
	push %r12
	push %rbp
	sub $40, %rsp
	mov %rsi, %r12
	mov $2, %ebp
	mov %rdi, 8(%rsp)
1:	mov 8(%rsp), %rdi
	call *%r12
	dec %ebp
	jnz 1b
	add $40, %rsp
	pop %rbp
	pop %r12
	ret
	.size bridge_counts, . - bridge_counts

	/* Has a frame pointer. */
	.globl bridge_frame
	.type bridge_frame, @function
bridge_frame:
	push %rbp
	mov %rsp, %rbp
	push %rbx
	sub $24, %rsp
	call *%rsi
	mov -8(%rbp), %rbx
	leave
	ret
	.size bridge_frame, . - bridge_frame

	/* Does not change rbp. */
	.globl bridge_plain
	.type bridge_plain, @function
bridge_plain:
	sub $72, %rsp
	call *%rsi
	add $72, %rsp
	ret
	.size bridge_plain, . - bridge_plain
	.section .note.GNU-stack, "", @progbits
