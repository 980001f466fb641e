/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the names of linkers and kernels to readable ones. */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include <stdbool.h>

#include "elf/symlist.h" /* SYMBOL_NAME_MAX */

/*
 * Writes the readable form of `raw` with a NUL: demangled if it is a name of C++, Rust or D ("@plt"
 * stays at its end), and valid UTF-8 without control characters for any input. Returns its length.
 */
size_t symbol_name(const char *raw, char out[SYMBOL_NAME_MAX]);
/* Like symbol_name(), for a name that stays as it is. */
size_t symbol_name_plain(const char *raw, char out[SYMBOL_NAME_MAX]);
/* Returns whether symbol_name() would try to demangle the name. */
bool symbol_name_is_mangled(const char *raw);
/* The longest mangled name that is demangled, with "@plt" and the NUL. */
#define SYMBOL_MANGLED_MAX 1029

#endif
