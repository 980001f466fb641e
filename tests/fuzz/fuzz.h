/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fuzz target is one file, fuzz_NAME.c, which defines LLVMFuzzerTestOneInput(). Initial inputs,
 * and inputs that once failed, are in corpus/NAME/. tests/fuzz/run gives it random inputs, replay.c
 * those of its corpus.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz);

/* Checks a property that must hold for every input. */
#define FUZZ_CHECK(c)            \
	do {                     \
		if (!(c))        \
			abort(); \
	} while (0)

#endif
