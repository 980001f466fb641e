/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The properties of an architecture. Registers have their DWARF numbers. */
#ifndef EVENT_MACHINE_H
#define EVENT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#define MACHINE_REG_MAX 33

struct machine {
	const char *name;
	uint16_t elf;	     /* e_machine */
	uint16_t reg_cnt;    /* a sample has registers 0 … reg_cnt - 1 */
	uint16_t sp, fp, pc; /* stack pointer, frame pointer, program counter */
	/* The return address column of call-frame information: the program counter, or the link
	 * register in which calls leave the return address. */
	uint16_t ra;
	uint64_t kept; /* bit per register that calls preserve */
	/* bit per register that is known in every caller, however it was found */
	uint64_t caller;
	uint64_t leaf;	    /* bit per register that must be known in a leaf */
	uint64_t stack_end; /* stacks are below this address */
	/* address bits of a return address; the other bits are its signature */
	uint64_t code_bits;
	/* Most bytes of a thread descriptor that ends at the thread pointer (ELF TLS, variant I).
	 * 0: it begins there (variant II). */
	uint32_t descriptor_max;
};

extern const struct machine machine_x86_64;  /* psABI 3.2.1, figure 3.36 */
extern const struct machine machine_aarch64; /* AADWARF64 4.1; AAPCS64 6.1.1 */

/* The machine of this program, and of the events that it captures. */
#ifdef __aarch64__
#define machine_native machine_aarch64
#else
#define machine_native machine_x86_64
#endif

/*
 * rax, x0: the first register in which a landing pad finds the exception (__builtin_eh_return_regno
 * of GCC). Only functions that jump to a landing pad, such as _Unwind_RaiseException(), save it:
 * they replace their saved registers by those of the frame where execution continues.
 */
#define MACHINE_EH_DATA_REG 0

/* Returns NULL for an unknown machine. */
const struct machine *machine__of_elf(uint16_t e_machine);

/* Returns the address bits of a return address on a system where a process has its first stack at
 * `stack`: kernels for AArch64 are built for 36 to 52 bits, and the stack is in the upper half of
 * the address space of a process that requests no larger one. Signatures are in the bits above. 0:
 * unknown.
 */
uint64_t machine__code_bits(const struct machine *, uint64_t stack);

/* Returns whether calls leave the return address in a register, which the callee may save. */
static inline bool machine__links(const struct machine *m)
{
	return m->ra != m->pc;
}

#endif
