// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8_layout.h"

#include <errno.h>

#define OFFSET_MAX 4096
#define FRAME_MAX  256 /* bytes below a frame pointer */

#define SMI_SHIFT 32

/* Versions change encodings that no constant describes, so newer ones would be read wrongly. */
#define MAJOR_MAX 14

struct constant {
	const char *symbol;
	enum v8_at at;
};

/*
 * Names of later versions follow those of earlier ones (tools/gen-postmortem-metadata.py). The
 * first one must be there.
 */
#define CONSTANTS(X)                                                                            \
	X("class_Map__instance_type__uint16_t", V8_MAP_TYPE)                                    \
	X("off_fp_context_or_frame_type", V8_FP_CONTEXT)                                        \
	X("off_fp_function", V8_FP_FUNCTION)                                                    \
	X("off_fp_bytecode_array", V8_FP_BYTECODE)                                              \
	X("off_fp_bytecode_offset", V8_FP_OFFSET)                                               \
	X("class_JSFunction__shared__SharedFunctionInfo", V8_FUNCTION_SHARED)                   \
	X("class_SharedFunctionInfo__function_data__Object", V8_SHARED_DATA)                    \
	X("class_SharedFunctionInfo__name_or_scope_info__Object", V8_SHARED_NAME)               \
	X("class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", V8_SHARED_NAME)       \
	X("class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_",             \
	  V8_SHARED_NAME)                                                                       \
	X("class_SharedFunctionInfo__script_or_debug_info__HeapObject", V8_SHARED_SCRIPT)       \
	X("class_SharedFunctionInfo__script__Tagged_HeapObject_", V8_SHARED_SCRIPT)             \
	X("class_Script__name__Object", V8_SCRIPT_NAME)                                         \
	X("class_Script__source__Object", V8_SCRIPT_SOURCE)                                     \
	X("scopeinfo_idx_first_vars", V8_SCOPE_FIRST)                                           \
	X("scopeinfo_idx_ncontextlocals", V8_SCOPE_LOCALS)                                      \
	X("class_String__length__int32_t", V8_STRING_CNT)                                       \
	X("class_FixedArrayBase__length__SMI", V8_ARRAY_CNT)                                    \
	X("class_FixedArray__data__uintptr_t", V8_ARRAY_DATA)                                   \
	X("class_BytecodeArray__length__SMI", V8_BYTECODE_CNT)                                  \
	X("class_BytecodeArray__data__uintptr_t", V8_BYTECODE_DATA)                             \
	X("class_InstructionStream__instruction_start__uintptr_t", V8_STREAM_DATA)              \
	X("class_Code__instruction_stream__Tagged_InstructionStream_", V8_CODE_STREAM)          \
	X("class_Code__instruction_start__uintptr_t", V8_CODE_START)                            \
	X("class_Code__instruction_start__Address", V8_CODE_START)                              \
	X("class_Code__flags__uint32_t", V8_CODE_FLAGS)                                         \
	X("class_Code__instruction_size__int", V8_CODE_SZ)                                      \
	X("class_Code__deoptimization_data__FixedArray", V8_CODE_DEOPT)                         \
	X("class_Code__source_position_table__ByteArray", V8_CODE_POSITIONS)                    \
	X("DeoptimizationDataLiteralArrayIndex", V8_DEOPT_LITERALS)                             \
	X("DeoptimizationDataSharedFunctionInfoIndex", V8_DEOPT_SHARED)                         \
	X("DeoptimizationDataWrappedSharedFunctionInfoIndex", V8_DEOPT_SHARED)                  \
	X("DeoptimizationDataInliningPositionsIndex", V8_DEOPT_INLINED)                         \
	X("class_SharedFunctionInfoWrapper__shared_info__Tagged_SharedFunctionInfo_",           \
	  V8_WRAPPER_SHARED)                                                                    \
	X("type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", V8_TYPE_SHARED)                 \
	X("type_SharedFunctionInfoWrapper__SHARED_FUNCTION_INFO_WRAPPER_TYPE", V8_TYPE_WRAPPER) \
	X("type_Script__SCRIPT_TYPE", V8_TYPE_SCRIPT)                                           \
	X("type_ScopeInfo__SCOPE_INFO_TYPE", V8_TYPE_SCOPE)                                     \
	X("type_BytecodeArray__BYTECODE_ARRAY_TYPE", V8_TYPE_BYTECODE)                          \
	X("type_Code__CODE_TYPE", V8_TYPE_CODE)                                                 \
	X("type_InstructionStream__INSTRUCTION_STREAM_TYPE", V8_TYPE_STREAM)                    \
	X("CodeKindBaseline", V8_KIND_BASELINE)

/* What the rows of this runtime rely on. */
#define EXPECTED(X)                      \
	X("TaggedSize", 8)               \
	X("HeapObjectTag", 1)            \
	X("SmiTagMask", 1)               \
	X("SmiShiftSize", SMI_SHIFT - 1) \
	X("FirstNonstringType", 128)     \
	X("StringRepresentationMask", 7) \
	X("StringEncodingMask", 8)       \
	X("OneByteStringTag", 8)         \
	X("ConsStringTag", 1)            \
	X("ExternalStringTag", 2)        \
	X("SlicedStringTag", 3)          \
	X("ThinStringTag", 5)            \
	X("CodeKindFieldMask", 15)

static const struct constant constants[] = {
#define X(name, index) { "v8dbg_" name, index },
	CONSTANTS(X)
#undef X
};

static const int32_t expected[] = {
#define X(name, value) value,
	EXPECTED(X)
#undef X
};

#define CONSTANT_CNT (sizeof(constants) / sizeof(*constants))
#define EXPECTED_CNT (sizeof(expected) / sizeof(*expected))

/* After those of the tables. */
enum { SYMBOL_MAJOR = CONSTANT_CNT + EXPECTED_CNT, SYMBOL_MINOR, SYMBOL_SIZES, SYMBOL_CNT };

const char *const v8_symbols[] = {
#define X(name, index) "v8dbg_" name,
	CONSTANTS(X) EXPECTED(X)
#undef X
		[SYMBOL_MAJOR] = "_ZN2v88internal7Version6major_E",
	[SYMBOL_MINOR] = "_ZN2v88internal7Version6minor_E",
	[SYMBOL_SIZES] = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE",
	[SYMBOL_CNT] = NULL,
};

_Static_assert(SYMBOL_CNT <= RUNTIME_SYMBOLS, "there is room for all");

/*
 * Fields that the constants of a version lack. From V8 12 on the tables of Code come first; before,
 * they follow the relocations. V8 11 alone says nothing of its Code's instructions.
 */
static const struct {
	enum v8_at at;
	uint32_t before_11, v11, from_12;
} unsaid[] = {
	{ V8_SHARED_DATA, 8, 8, 8 },	      { V8_BYTECODE_CNT, 8, 8, 8 },
	{ V8_CODE_DEOPT, 16, 16, 8 },	      { V8_CODE_POSITIONS, 24, 24, 16 },
	{ V8_CODE_START, V8_NONE, 40, 40 },   { V8_CODE_FLAGS, V8_NONE, 48, V8_NONE },
	{ V8_CODE_SZ, V8_NONE, 56, V8_NONE }, { V8_CODE_STREAM, V8_NONE, 32, V8_NONE },
	{ V8_DEOPT_LITERALS, 2, 2, V8_NONE }, { V8_DEOPT_SHARED, 6, 6, V8_NONE },
	{ V8_DEOPT_INLINED, 7, 7, V8_NONE },
};

/* What some version lacks for good. */
static bool v8_layout_may_lack(size_t at)
{
	return at == V8_STREAM_DATA || at == V8_CODE_STREAM || at == V8_WRAPPER_SHARED ||
	       at == V8_TYPE_WRAPPER || at == V8_TYPE_STREAM;
}

static void v8_fill_unsaid(struct runtime_layout *l, uint32_t major)
{
	for (size_t i = 0; i < sizeof(unsaid) / sizeof(*unsaid); i++)
		if (l->at[unsaid[i].at] == V8_NONE)
			l->at[unsaid[i].at] = major < 11    ? unsaid[i].before_11
					      : major == 11 ? unsaid[i].v11
							    : unsaid[i].from_12;
}

/* The values come from the process. */
static bool v8_layout_is_sane(const struct runtime_layout *l)
{
	for (size_t i = 0; i < V8_BYTECODES; i++) {
		bool in_frame = i >= V8_FP_CONTEXT && i <= V8_FP_OFFSET;
		uint32_t v = in_frame ? -l->at[i] : l->at[i];

		if (l->at[i] == V8_NONE ? !v8_layout_may_lack(i)
					: v > (in_frame ? FRAME_MAX : OFFSET_MAX))
			return false;
	}
	return (l->at[V8_TYPE_STREAM] == V8_NONE) == (l->at[V8_STREAM_DATA] == V8_NONE) &&
	       l->at[V8_BYTECODE_DATA] >= 16;
}

static bool v8_is_as_expected(struct remote *r, const uint64_t *symbols)
{
	for (size_t i = 0; i < EXPECTED_CNT; i++) {
		uint64_t at = symbols[CONSTANT_CNT + i];

		if (!at || (int32_t)remote__u32(r, at) != expected[i])
			return false;
	}
	return true;
}

/* Kinds of bytecode, which differ by version (src/interpreter/bytecodes.h). */
static const struct {
	uint32_t major, minor, cnt;
} bytecode_kinds[] = { { 10, 2, 198 }, { 11, 3, 198 }, { 12, 4, 203 },
		       { 13, 6, 208 }, { 14, 1, 212 }, { 14, 6, 212 } };

static uint32_t v8_count_bytecodes(uint32_t major, uint32_t minor)
{
	for (size_t i = 0; i < sizeof(bytecode_kinds) / sizeof(*bytecode_kinds); i++)
		if (bytecode_kinds[i].major == major && bytecode_kinds[i].minor == minor)
			return bytecode_kinds[i].cnt;
	return 0;
}

int v8__read_layout(struct remote *r, const uint64_t *symbols, struct runtime_layout *l)
{
	uint32_t major = symbols[SYMBOL_MAJOR] ? remote__u32(r, symbols[SYMBOL_MAJOR]) : 0;
	uint32_t minor = symbols[SYMBOL_MINOR] ? remote__u32(r, symbols[SYMBOL_MINOR]) : 0;

	l->version = major << 16 | (minor & UINT16_MAX);
	for (size_t i = 0; i < V8_CNT; i++)
		l->at[i] = V8_NONE;
	for (size_t i = 0; i < CONSTANT_CNT; i++)
		if (symbols[i])
			l->at[constants[i].at] = remote__u32(r, symbols[i]);
	v8_fill_unsaid(l, major);
	l->heaps = symbols[SYMBOL_SIZES];
	l->at[V8_BYTECODES] = l->heaps ? v8_count_bytecodes(major, minor) : 0;
	if (r->err)
		return -EAGAIN;
	return major && major <= MAJOR_MAX && v8_is_as_expected(r, symbols) && v8_layout_is_sane(l)
		       ? 0
		       : -ENOTSUP;
}
