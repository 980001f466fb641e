/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what a linker or a kernel calls a function to what a person reads. */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include "elf/symlist.h" /* SYMBOL_NAME_MAX */

/*
 * The readable form of `raw`, NUL-terminated: demangled when it is a name of C++, Rust or D ("@plt"
 * stays at its end), and valid UTF-8 without control characters whatever came in. Returns its
 * length.
 */
size_t symbol_name(const char *raw, char out[SYMBOL_NAME_MAX]);

#endif
