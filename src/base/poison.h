/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes functions that write without a bound, keep hidden state or hide errors an error of the
 * compiler. The Makefile includes it before every file of src.
 */
#ifndef BASE_POISON_H
#define BASE_POISON_H

/* Headers that declare these functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Macros where the compiler is clang. */
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat strncpy strncat stpcpy sprintf vsprintf gets strtok
#pragma GCC poison atoi atol atoll tmpnam tempnam mktemp

#endif
