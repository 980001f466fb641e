/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a process with V8, in a file without a name: offsets in it are addresses. Constants
 * are those of V8 12.4, but for the offsets of fields, which the constants say.
 */
#ifndef UNIT_FAKEV8_H
#define UNIT_FAKEV8_H

#include "lib/fakememory.h"
#include "runtime/v8.h"

#define FAKE_SZ	       0x80000
#define FAKE_CONSTANTS 0x1000
#define FAKE_SIZES     0x3000  /* of bytecodes: three rows of FAKE_KINDS */
#define FAKE_MAPS      0x20000 /* one for each instance type, 64 bytes apart */
#define FAKE_STREAM    0x40000 /* optimised code, its instructions 0x100 behind */
#define FAKE_BASELINE  0x42000
#define FAKE_CODE      0x50000
#define FAKE_DEOPT     0x50400
#define FAKE_LITERALS  0x50600
#define FAKE_INLINED   0x50800
#define FAKE_POSITIONS 0x50a00
#define FAKE_BASE_CODE 0x50c00
#define FAKE_BASE_PCS  0x50e00
#define FAKE_FUNCTION  0x60000 /* JSFunction of outer() */
#define FAKE_OUTER     0x60100 /* SharedFunctionInfo */
#define FAKE_INNER     0x60200
#define FAKE_FEEDBACK  0x60300
#define FAKE_SCOPE     0x60400 /* ScopeInfo of outer(), then of the other one */
#define FAKE_SCOPE_2   0x60600
#define FAKE_SCRIPT    0x60800
#define FAKE_SOURCE    0x61000
#define FAKE_STRINGS   0x62000 /* 256 bytes each */
#define FAKE_BYTECODE  0x63000 /* of outer() */
#define FAKE_TABLE     0x63800 /* its source positions */
#define FAKE_KINDS     203
#define FAKE_CODE_SZ   0x400
#define FAKE_DATA      64 /* offset of the bytecode in its array */

/* outer() is in lines 2 to 5 of the source, what it calls in line 1. */
#define FAKE_TEXT "(() => 1);\nfunction outer() {\n  a();\n  b();\n}\n"

enum fake_type {
	FAKE_TYPE_STRING = 0x28, /* sequential, of one byte */
	FAKE_TYPE_CONS = 0x29,
	FAKE_TYPE_THIN = 0x2d,
	FAKE_TYPE_SCRIPT = 167,
	FAKE_TYPE_BYTECODE = 205,
	FAKE_TYPE_CODE = 206,
	FAKE_TYPE_STREAM = 210,
	FAKE_TYPE_BYTES = 212,
	FAKE_TYPE_SCOPE = 272,
	FAKE_TYPE_SHARED = 274,
	FAKE_TYPE_FUNCTION = 500,
};

/* A reference to the object at an address, and a small number. */
#define OBJECT(at) ((uint64_t)(at) + 1)
#define SMI(n)	   ((uint64_t)(uint32_t)(n) << 32)

static inline void fake__object(int fd, uint64_t at, enum fake_type type)
{
	fake__word(fd, at, OBJECT(FAKE_MAPS + 64 * type));
	fake__u32(fd, FAKE_MAPS + 64 * type + 12, type);
}

/* Fields of 8 bytes, from the one behind the map on. */
#define FAKE_OBJECT(fd, at, type, ...)                           \
	do {                                                     \
		const uint64_t fields[] = { __VA_ARGS__ };       \
		fake__object(fd, at, type);                      \
		fake__put(fd, (at) + 8, fields, sizeof(fields)); \
	} while (0)

struct fake_constant {
	const char *name;
	int32_t value;
};

static const struct fake_constant fake_constants[] = {
	{ "class_Map__instance_type__uint16_t", 12 },
	{ "off_fp_context_or_frame_type", -8 },
	{ "off_fp_function", -16 },
	{ "off_fp_bytecode_array", -32 },
	{ "off_fp_bytecode_offset", -40 },
	{ "class_JSFunction__shared__SharedFunctionInfo", 32 },
	{ "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", 16 },
	{ "class_SharedFunctionInfo__script__Tagged_HeapObject_", 24 },
	{ "class_Script__name__Object", 16 },
	{ "class_Script__source__Object", 8 },
	{ "scopeinfo_idx_first_vars", 3 },
	{ "scopeinfo_idx_ncontextlocals", 2 },
	{ "class_String__length__int32_t", 12 },
	{ "class_FixedArrayBase__length__SMI", 8 },
	{ "class_FixedArray__data__uintptr_t", 16 },
	{ "class_BytecodeArray__length__SMI", 8 },
	{ "class_BytecodeArray__data__uintptr_t", FAKE_DATA },
	{ "class_InstructionStream__instruction_start__uintptr_t", 0x100 },
	{ "class_Code__instruction_stream__Tagged_InstructionStream_", 32 },
	{ "class_Code__instruction_start__Address", 40 },
	{ "class_Code__flags__uint32_t", 48 },
	{ "class_Code__instruction_size__int", 52 },
	{ "DeoptimizationDataLiteralArrayIndex", 2 },
	{ "DeoptimizationDataSharedFunctionInfoIndex", 6 },
	{ "DeoptimizationDataInliningPositionsIndex", 7 },
	{ "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", FAKE_TYPE_SHARED },
	{ "type_Script__SCRIPT_TYPE", FAKE_TYPE_SCRIPT },
	{ "type_ScopeInfo__SCOPE_INFO_TYPE", FAKE_TYPE_SCOPE },
	{ "type_BytecodeArray__BYTECODE_ARRAY_TYPE", FAKE_TYPE_BYTECODE },
	{ "type_Code__CODE_TYPE", FAKE_TYPE_CODE },
	{ "type_InstructionStream__INSTRUCTION_STREAM_TYPE", FAKE_TYPE_STREAM },
	{ "CodeKindBaseline", 10 },
	{ "TaggedSize", 8 },
	{ "HeapObjectTag", 1 },
	{ "SmiTagMask", 1 },
	{ "SmiShiftSize", 31 },
	{ "FirstNonstringType", 128 },
	{ "StringRepresentationMask", 7 },
	{ "StringEncodingMask", 8 },
	{ "OneByteStringTag", 8 },
	{ "ConsStringTag", 1 },
	{ "ExternalStringTag", 2 },
	{ "SlicedStringTag", 3 },
	{ "ThinStringTag", 5 },
	{ "CodeKindFieldMask", 15 },
};

/* Returns the address of a symbol's value, or 0: V8 12.4 has no such symbol. */
static inline uint64_t fake__symbol(int fd, size_t idx)
{
	const char *name = v8_symbols[idx];
	uint64_t at = FAKE_CONSTANTS + 8 * idx;

	for (size_t i = 0; i < sizeof(fake_constants) / sizeof(*fake_constants); i++)
		if (strncmp(name, "v8dbg_", 6) == 0 &&
		    strcmp(name + 6, fake_constants[i].name) == 0) {
			fake__u32(fd, at, (uint32_t)fake_constants[i].value);
			return at;
		}
	if (strstr(name, "kBytecodeSizes"))
		return FAKE_SIZES;
	if (!strstr(name, "major_E") && !strstr(name, "minor_E"))
		return 0;
	fake__u32(fd, at, strstr(name, "major_E") ? 12 : 4);
	return at;
}

static inline uint64_t fake__string(int fd, unsigned idx, const char *text)
{
	uint64_t at = FAKE_STRINGS + 256 * idx;

	fake__object(fd, at, FAKE_TYPE_STRING);
	fake__u32(fd, at + 12, (uint32_t)strlen(text));
	fake__put(fd, at + 16, text, strlen(text));
	return OBJECT(at);
}

static inline void fake__bytes(int fd, uint64_t at, const void *bytes, size_t sz)
{
	FAKE_OBJECT(fd, at, FAKE_TYPE_BYTES, SMI(sz));
	fake__put(fd, at + 16, bytes, sz);
}

/* Numbers of one byte. */
#define SIGNED(n) ((uint8_t)(2 * (n)))
/* A position in the source: none is 0. */
#define POSITION(at)   (((uint64_t)(at) + 1) << 1)
#define INLINED(at, i) (POSITION(at) | ((uint64_t)(i) + 1) << 31)

static inline void fake__functions(int fd)
{
	/* From bytecode 0 on at outer() (17), from 3 on at a() (32), from 6 on at b() (39). */
	static const uint8_t table[] = { SIGNED(0),  SIGNED(36), SIGNED(3),
					 SIGNED(30), SIGNED(3),	 SIGNED(14) };
	static const uint8_t bytecode[12] = { 10, 10, 10, 11, 0, 11, 10 };

	FAKE_OBJECT(fd, FAKE_FUNCTION, FAKE_TYPE_FUNCTION, 0, 0, 0, OBJECT(FAKE_OUTER));
	FAKE_OBJECT(fd, FAKE_OUTER, FAKE_TYPE_SHARED, OBJECT(FAKE_BYTECODE), OBJECT(FAKE_SCOPE),
		    OBJECT(FAKE_SCRIPT));
	FAKE_OBJECT(fd, FAKE_INNER, FAKE_TYPE_SHARED, SMI(0), OBJECT(FAKE_SCOPE_2),
		    OBJECT(FAKE_SCRIPT));
	FAKE_OBJECT(fd, FAKE_FEEDBACK, FAKE_TYPE_BYTES, SMI(3), SMI(1), OBJECT(FAKE_OUTER));
	FAKE_OBJECT(fd, FAKE_SCOPE, FAKE_TYPE_SCOPE, SMI(7), SMI(0), SMI(1),
		    fake__string(fd, 0, "x"), SMI(0), fake__string(fd, 1, "outer"), SMI(-1), SMI(0),
		    SMI(25), SMI(45));
	FAKE_OBJECT(fd, FAKE_SCOPE_2, FAKE_TYPE_SCOPE, SMI(7), SMI(0), SMI(0),
		    fake__string(fd, 2, ""), SMI(-1), SMI(0), SMI(1), SMI(8));
	FAKE_OBJECT(fd, FAKE_SCRIPT, FAKE_TYPE_SCRIPT, OBJECT(FAKE_SOURCE),
		    fake__string(fd, 3, "file:///app/main.mjs"));
	fake__object(fd, FAKE_SOURCE, FAKE_TYPE_STRING);
	fake__u32(fd, FAKE_SOURCE + 12, strlen(FAKE_TEXT));
	fake__put(fd, FAKE_SOURCE + 16, FAKE_TEXT, strlen(FAKE_TEXT));
	FAKE_OBJECT(fd, FAKE_BYTECODE, FAKE_TYPE_BYTECODE, SMI(sizeof(bytecode)), 0,
		    OBJECT(FAKE_TABLE));
	fake__put(fd, FAKE_BYTECODE + FAKE_DATA, bytecode, sizeof(bytecode));
	fake__bytes(fd, FAKE_TABLE, table, sizeof(table));
}

static inline void fake__code(int fd, uint64_t stream, uint64_t code, const uint64_t tables[2])
{
	/* push %rbp; mov %rsp,%rbp; …; mov %rbp,%rsp; pop %rbp; ret */
	static const uint8_t entry[] = { 0x90, 0x90, 0x55, 0x48, 0x89, 0xe5 };
	static const uint8_t exit[] = { 0x48, 0x8b, 0xe5, 0x5d, 0xc3 };

	FAKE_OBJECT(fd, stream, FAKE_TYPE_STREAM, OBJECT(code));
	fake__put(fd, stream + 0x100, entry, sizeof(entry));
	fake__put(fd, stream + 0x300, exit, sizeof(exit));
	FAKE_OBJECT(fd, code, FAKE_TYPE_CODE, tables[0], tables[1], 0, OBJECT(stream),
		    stream + 0x100);
	fake__u32(fd, code + 48, stream == FAKE_STREAM ? 12 : 10);
	fake__u32(fd, code + 52, FAKE_CODE_SZ);
}

/* Appends an entry of a table of positions; both are distances. Returns its size. */
static inline size_t fake__entry(uint8_t *to, uint8_t off, uint64_t raw)
{
	size_t sz = 0;

	to[sz++] = SIGNED(off);
	for (raw *= 2; raw > 0x7f; raw >>= 7)
		to[sz++] = (uint8_t)(raw | 0x80);
	to[sz++] = (uint8_t)raw;
	return sz;
}

/* Optimised: from 0x10 on in line 3 of outer(), from 0x20 on in the function of line 1, which is
 * inlined in line 4. Baseline: the first bytecode up to 0x20, one each up to 0x28, 0x30, 0x50. */
static inline void fake__codes(int fd)
{
	const uint64_t inlined[] = { POSITION(39), 0 };
	static const uint8_t pcs[] = { 0x18, 8, 8, 8, 0x20 };
	uint8_t table[32], sizes[3 * FAKE_KINDS];
	size_t sz = fake__entry(table, 0x10, POSITION(32));

	sz += fake__entry(table + sz, 0x10, INLINED(7, 0) - POSITION(32));
	fake__bytes(fd, FAKE_POSITIONS, table, sz);
	fake__bytes(fd, FAKE_INLINED, inlined, sizeof(inlined));
	FAKE_OBJECT(fd, FAKE_LITERALS, FAKE_TYPE_BYTES, SMI(1), OBJECT(FAKE_INNER) | 2);
	FAKE_OBJECT(fd, FAKE_DEOPT, FAKE_TYPE_BYTES, SMI(8), 0, SMI(1), OBJECT(FAKE_LITERALS), 0, 0,
		    0, OBJECT(FAKE_OUTER), OBJECT(FAKE_INLINED));
	fake__code(fd, FAKE_STREAM, FAKE_CODE,
		   (const uint64_t[]){ OBJECT(FAKE_DEOPT), OBJECT(FAKE_POSITIONS) });
	fake__code(fd, FAKE_BASELINE, FAKE_BASE_CODE,
		   (const uint64_t[]){ OBJECT(FAKE_BYTECODE), OBJECT(FAKE_BASE_PCS) });
	fake__bytes(fd, FAKE_BASE_PCS, pcs, sizeof(pcs));
	memset(sizes, 1, sizeof(sizes));
	fake__put(fd, FAKE_SIZES, sizes, sizeof(sizes));
}

static inline int fake__new(void)
{
	int fd = fake__memory("fakev8", FAKE_SZ);

	if (fd < 0)
		return -1;
	fake__functions(fd);
	fake__codes(fd);
	return fd;
}

static inline int fake__layout(int fd, struct runtime_layout *l)
{
	uint64_t symbols[RUNTIME_SYMBOLS] = { 0 };
	struct remote r = { .mem = fd, .left = 4 << 20 };
	struct capture_runtime c;

	for (size_t i = 0; v8_symbols[i]; i++)
		symbols[i] = fake__symbol(fd, i);
	*l = (struct runtime_layout){ .runtime = &v8 };
	return runtime__locate(&r, symbols, l, &c);
}

#endif
