/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the unwinder knows of an architecture. Registers go by their DWARF numbers. */
#ifndef EVENT_MACHINE_H
#define EVENT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#define MACHINE_REG_MAX 33

struct machine {
	const char *name;
	uint16_t elf;	     /* e_machine */
	uint16_t reg_cnt;    /* 0 … reg_cnt - 1 are what a sample has */
	uint16_t sp, fp, pc; /* stack pointer, frame pointer, program counter */
	uint16_t ra;	     /* what call-frame information calls the return address: the program
				counter, or the link register, in which calls leave it */
	uint64_t kept;	     /* bit per register: calls preserve it */
	uint64_t caller;     /* bit per register: what is known of any caller, however found */
	uint64_t leaf;	     /* bit per register: what has to be known of a leaf */
	uint64_t stack_end;  /* no stack is there or above */
	uint64_t code_bits;  /* of a return address: what else is in one is its signature */
};

extern const struct machine machine_x86_64;  /* psABI 3.2.1, figure 3.36 */
extern const struct machine machine_aarch64; /* AADWARF64 4.1; AAPCS64 6.1.1 */

/* That of this program, and of the events that it captures. */
#ifdef __aarch64__
#define machine_native machine_aarch64
#else
#define machine_native machine_x86_64
#endif

/*
 * rax, x0: the first register in which a landing pad finds the exception (__builtin_eh_return_regno
 * of GCC). Only functions that jump there, as _Unwind_RaiseException() does, save it: they replace
 * the registers that they have saved by those of the frame that they go on in.
 */
#define MACHINE_EH_DATA_REG 0

/* NULL: none that we know. */
const struct machine *machine__of_elf(uint16_t e_machine);

/* A call leaves the return address in a register, and the callee saves it, or not. */
static inline bool machine__links(const struct machine *m)
{
	return m->ra != m->pc;
}

#endif
