/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where V8 has its fields, as the constants for post-mortem debuggers in each binary say. */
#ifndef RUNTIME_V8_LAYOUT_H
#define RUNTIME_V8_LAYOUT_H

#include "runtime/runtime.h"

#define V8_NONE UINT32_MAX /* this version has no such field */

/* Indexes in runtime_layout.at: offsets of fields, from the object's start, and constants. */
enum v8_at {
	V8_MAP_TYPE,
	V8_FP_CONTEXT, /* from the frame pointer; negative */
	V8_FP_FUNCTION,
	V8_FP_BYTECODE,
	V8_FP_OFFSET,
	V8_FUNCTION_SHARED, /* in JSFunction */
	V8_SHARED_DATA,	    /* in SharedFunctionInfo: its bytecode, or baseline code */
	V8_SHARED_NAME,
	V8_SHARED_SCRIPT,
	V8_SCRIPT_NAME,
	V8_SCRIPT_SOURCE,
	V8_SCOPE_FIRST,	 /* in ScopeInfo: index of the first variable */
	V8_SCOPE_LOCALS, /* … of the number of variables */
	V8_STRING_CNT,
	V8_ARRAY_CNT, /* of all arrays */
	V8_ARRAY_DATA,
	V8_BYTECODE_CNT,
	V8_BYTECODE_DATA,
	V8_STREAM_DATA, /* in InstructionStream, from V8 11 on */
	V8_CODE_STREAM, /* in Code: its InstructionStream */
	V8_CODE_START,	/* its instructions, or their address */
	V8_CODE_FLAGS,
	V8_CODE_SZ,
	V8_CODE_DEOPT,	   /* DeoptimizationData; of baseline code: the bytecode */
	V8_CODE_POSITIONS, /* source positions; of baseline code: distances between bytecodes */
	V8_DEOPT_LITERALS, /* indexes in DeoptimizationData */
	V8_DEOPT_SHARED,
	V8_DEOPT_INLINED,
	V8_WRAPPER_SHARED, /* in SharedFunctionInfoWrapper, from V8 13 on */
	V8_TYPE_SHARED,
	V8_TYPE_WRAPPER,
	V8_TYPE_SCRIPT,
	V8_TYPE_SCOPE,
	V8_TYPE_BYTECODE,
	V8_TYPE_CODE,
	V8_TYPE_STREAM,
	V8_KIND_BASELINE,
	V8_BYTECODES, /* kinds of bytecode in the table of their sizes at runtime_layout.heaps */
	V8_CNT
};

_Static_assert(V8_CNT <= RUNTIME_OFFSETS, "there is room for all");

/* For the row: the symbols that are looked up, in this order. */
extern const char *const v8_symbols[];

/* For `locate` of struct runtime. */
int v8__read_layout(struct remote *, const uint64_t *symbols, struct runtime_layout *);

/* Returns the address at an offset from a frame pointer. */
static inline uint64_t v8__in_frame(const struct runtime_layout *l, uint64_t fp, enum v8_at at)
{
	return fp + (uint64_t)(int32_t)l->at[at];
}

#endif
