/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Machine-dependent parts of the loader: native_x86_64.c or native_aarch64.c. */
#ifndef CAPTURE_NATIVE_H
#define CAPTURE_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

struct usdt_arg;
struct usdt_text;
struct usercopy_code;

/* Returns the bytes of FPU state that the kernel puts on top of a signal stack, above the frame; 0
 * if it lies inside the frame. A program that has asked for AMX (arch_prctl) has more. */
uint32_t native__signal_fpu_sz(void);

/* Returns whether this code of the kernel calls the function at `target`; false if that is 0. */
bool native__calls(const struct usercopy_code *, uint64_t target);

/* Returns whether this code loads 32 bits from `off` bytes behind a pointer. */
bool native__loads(const struct usercopy_code *, uint32_t off);

/* The places of the first arguments of a function, in the syntax of USDT notes. */
extern const char *const native__function_args[4];
/* Where a function leaves its result, likewise. */
extern const char *const native__function_result;

/* Reads one operand of a USDT argument, in the syntax of this machine's assembler. */
void native__usdt_operand(struct usdt_text *, struct usdt_arg *);

#endif
