/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the names of linkers and kernels to readable ones. */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include "elf/symlist.h" /* SYMBOL_NAME_MAX */

/*
 * Writes the readable form of `raw` with a NUL: demangled if it is a name of C++, Rust or D ("@plt"
 * stays at its end), and valid UTF-8 without control characters for any input. Returns its length.
 */
size_t symbol_name(const char *raw, char out[SYMBOL_NAME_MAX]);

#endif
