/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source lines of a stackset's frames, with the functions that were inlined there. Each frame
 * is looked up once. */
#ifndef STACKSEXPORT_MODEL_FRAMELINES_H
#define STACKSEXPORT_MODEL_FRAMELINES_H

#include "stacksexport/model/stackset.h"

/* Zeroed is empty. Entry i of `spans` belongs to key i. */
struct framelines {
	struct keymap known; /* frames */
	struct frameline_span {
		uint32_t begin, cnt;
	} * spans;
	size_t span_cap;
	uint32_t *functions;
	size_t function_cnt, function_cap;
};

void framelines__free(struct framelines *);

/*
 * Returns the functions of a frame, innermost first, each named "FUNCTION FILE:LINE"; the frame's
 * own function if there is no debug information. Adds functions to the stackset. Returns NULL if
 * out of memory.
 */
const uint32_t *framelines__of(struct framelines *, struct stackset *, uint32_t frame, size_t *cnt);

#endif
