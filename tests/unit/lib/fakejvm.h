/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a process with HotSpot, in a file without a name: offsets in it are addresses. The
 * offsets of fields are of no version: the tables say them.
 */
#ifndef UNIT_FAKEJVM_H
#define UNIT_FAKEJVM_H

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/hotspot.h"

#define JVM_SZ	      0x400000
#define JVM_SYMBOLS   0x1000 /* gHotSpotVMStructs, …Types, …IntConstants */
#define JVM_FIELDS    0x2000
#define JVM_TYPES     0x6000
#define JVM_CONSTANTS 0x7000
#define JVM_TEXTS     0x8000
#define JVM_HEAPS     0x10000
#define JVM_VERSION   0x10008
#define JVM_ARRAY     0x10100
#define JVM_HEAP      0x10200
#define JVM_MAP	      0x20000
#define JVM_CODE      0x100000 /* the heap; segments of 128 bytes */
#define JVM_CODE_END  0x200000
#define JVM_NMETHOD   (JVM_CODE + 16)
#define JVM_STUB      (JVM_CODE + 0x4000 + 16)
#define JVM_INTERP    (JVM_CODE + 0x8000 + 16)
#define JVM_BLOBS_SZ  0x4000 /* each */
#define JVM_BEGIN     0x200  /* of the code in each */
#define JVM_METHOD    0x200000
#define JVM_INLINED   0x201000
#define JVM_CLASS     0x202000
#define JVM_POOL      0x203000
#define JVM_ID	      77

static inline void jvm__put(int fd, uint64_t at, const void *data, size_t sz)
{
	(void)!pwrite(fd, data, sz, (off_t)at);
}

static inline void jvm__word(int fd, uint64_t at, uint64_t word)
{
	jvm__put(fd, at, &word, sizeof(word));
}

static inline void jvm__u32(int fd, uint64_t at, uint32_t v)
{
	jvm__put(fd, at, &v, sizeof(v));
}

static inline void jvm__u16(int fd, uint64_t at, uint16_t v)
{
	jvm__put(fd, at, &v, sizeof(v));
}

/* Where a text goes: each has a place of 64 bytes. */
static inline uint64_t jvm__text(int fd, const char *text)
{
	static unsigned next;
	uint64_t at = JVM_TEXTS + next++ % 256 * 64;

	jvm__put(fd, at, text, strlen(text) + 1);
	return at;
}

struct jvm_field_row {
	const char *type, *name;
	uint64_t off, where; /* where: of a static field */
};

static const struct jvm_field_row jvm_fields[] = {
	{ "CodeCache", "_heaps", 0, JVM_HEAPS },
	{ "Abstract_VM_Version", "_vm_major_version", 0, JVM_VERSION },
	{ "CodeHeap", "_memory", 8, 0 },
	{ "CodeHeap", "_segmap", 72, 0 },
	{ "CodeHeap", "_log2_segment_size", 136, 0 },
	{ "VirtualSpace", "_low", 16, 0 },
	{ "VirtualSpace", "_high_boundary", 8, 0 },
	{ "HeapBlock::Header", "_length", 0, 0 },
	{ "HeapBlock::Header", "_used", 8, 0 },
	{ "GrowableArrayBase", "_len", 0, 0 },
	{ "GrowableArray<int>", "_data", 8, 0 },
	{ "CodeBlob", "_name", 0, 0 },
	{ "CodeBlob", "_size", 8, 0 },
	{ "CodeBlob", "_frame_complete_offset", 12, 0 },
	{ "CodeBlob", "_frame_size", 16, 0 },
	{ "CodeBlob", "_data_offset", 20, 0 },
	{ "CodeBlob", "_code_begin", 24, 0 },
	{ "CompiledMethod", "_method", 32, 0 },
	{ "CompiledMethod", "_scopes_data_begin", 40, 0 },
	{ "nmethod", "_compile_id", 48, 0 },
	{ "nmethod", "_orig_pc_offset", 52, 0 },
	{ "nmethod", "_stub_offset", 56, 0 },
	{ "nmethod", "_metadata_offset", 60, 0 },
	{ "nmethod", "_scopes_pcs_offset", 64, 0 },
	{ "nmethod", "_dependencies_offset", 68, 0 },
	{ "Method", "_constMethod", 8, 0 },
	{ "ConstMethod", "_constants", 8, 0 },
	{ "ConstMethod", "_flags", 16, 0 },
	{ "ConstMethod", "_code_size", 20, 0 },
	{ "ConstMethod", "_name_index", 22, 0 },
	{ "ConstMethod", "_constMethod_size", 24, 0 },
	{ "ConstantPool", "_pool_holder", 8, 0 },
	{ "ConstantPool", "_source_file_name_index", 16, 0 },
	{ "ConstantPool", "_length", 20, 0 },
	{ "Klass", "_name", 24, 0 },
	{ "Symbol", "_length", 4, 0 },
	{ "Symbol", "_body", 6, 0 },
};

#define JVM_CONST_METHOD_SZ 48
#define JVM_POOL_HEADER_SZ  64

static inline void jvm__tables(int fd)
{
	static const struct {
		const char *name;
		uint64_t sz;
	} sizes[] = { { "HeapBlock", 16 },
		      { "ConstMethod", JVM_CONST_METHOD_SZ },
		      { "ConstantPool", JVM_POOL_HEADER_SZ } };

	jvm__word(fd, JVM_SYMBOLS, JVM_FIELDS);
	jvm__word(fd, JVM_SYMBOLS + 8, JVM_TYPES);
	jvm__word(fd, JVM_SYMBOLS + 16, JVM_CONSTANTS);
	for (size_t i = 0; i < sizeof(jvm_fields) / sizeof(*jvm_fields); i++) {
		const struct jvm_field_row *f = &jvm_fields[i];
		uint64_t row[] = { jvm__text(fd, f->type),
				   jvm__text(fd, f->name),
				   0,
				   f->where != 0,
				   f->off,
				   f->where };

		jvm__put(fd, JVM_FIELDS + i * sizeof(row), row, sizeof(row));
	}
	for (size_t i = 0; i < 3; i++) {
		uint64_t row[] = { jvm__text(fd, sizes[i].name), 0, 0, 0, sizes[i].sz };

		jvm__put(fd, JVM_TYPES + i * sizeof(row), row, sizeof(row));
	}
	jvm__word(fd, JVM_CONSTANTS, jvm__text(fd, "ConstMethod::_has_linenumber_table"));
	jvm__word(fd, JVM_CONSTANTS + 8, 1);
	jvm__u32(fd, JVM_VERSION, 17);
}

/* A blob that fills the segments from its block on: the map says how far back that is. */
static inline void jvm__blob(int fd, uint64_t blob, const char *name, uint32_t frame_words)
{
	uint64_t block = blob - 16, segment = (block - JVM_CODE) / 128;

	for (uint64_t i = 0; i < JVM_BLOBS_SZ / 128; i++) {
		uint8_t back = i < 100 ? (uint8_t)i : 100; /* in two hops */

		jvm__put(fd, JVM_MAP + segment + i, &back, 1);
	}
	jvm__word(fd, block, JVM_BLOBS_SZ / 128);
	jvm__word(fd, block + 8, 1);
	jvm__word(fd, blob, jvm__text(fd, name));
	jvm__u32(fd, blob + 8, JVM_BLOBS_SZ - 16);
	jvm__u32(fd, blob + 12, 12);
	jvm__u32(fd, blob + 16, frame_words);
	jvm__u32(fd, blob + 20, JVM_BEGIN + 0x1000);
	jvm__word(fd, blob + 24, blob + JVM_BEGIN);
}

static inline void jvm__heap(int fd)
{
	uint8_t free[(JVM_CODE_END - JVM_CODE) / 128];

	memset(free, 0xff, sizeof(free));
	jvm__put(fd, JVM_MAP, free, sizeof(free));
	jvm__word(fd, JVM_HEAPS, JVM_ARRAY);
	jvm__u32(fd, JVM_ARRAY, 1);
	jvm__word(fd, JVM_ARRAY + 8, JVM_ARRAY + 16);
	jvm__word(fd, JVM_ARRAY + 16, JVM_HEAP);
	jvm__word(fd, JVM_HEAP + 8 + 8, JVM_CODE_END);
	jvm__word(fd, JVM_HEAP + 8 + 16, JVM_CODE);
	jvm__word(fd, JVM_HEAP + 72 + 16, JVM_MAP);
	jvm__u32(fd, JVM_HEAP + 136, 7);
}

static inline void jvm__symbol(int fd, unsigned idx, const char *text)
{
	uint64_t at = JVM_POOL + 0x800 + idx * 64;

	jvm__u16(fd, at + 4, (uint16_t)strlen(text));
	jvm__put(fd, at + 6, text, strlen(text));
	jvm__word(fd, JVM_POOL + JVM_POOL_HEADER_SZ + 8 * idx, at);
}

/* Ten bytes of bytecode: line 30 from 0 on, 31 from 4 on, 40 from 8 on. */
static inline void jvm__method(int fd, uint64_t method, unsigned name_idx)
{
	static const uint8_t lines[] = { 0xff, 0, 60, 4 << 3 | 1, 0xff, 8, 18, 0 };
	uint64_t constant = method + 0x100;

	jvm__word(fd, method + 8, constant);
	jvm__word(fd, constant + 8, JVM_POOL);
	jvm__u32(fd, constant + 16, 1);
	jvm__u16(fd, constant + 20, 10);
	jvm__u16(fd, constant + 22, (uint16_t)name_idx);
	jvm__u32(fd, constant + 24, 16);
	jvm__put(fd, constant + JVM_CONST_METHOD_SZ + 10, lines, sizeof(lines));
}

static inline void jvm__methods(int fd)
{
	jvm__word(fd, JVM_POOL + 8, JVM_CLASS);
	jvm__u16(fd, JVM_POOL + 16, 3);
	jvm__u32(fd, JVM_POOL + 20, 16);
	jvm__symbol(fd, 1, "run");
	jvm__symbol(fd, 2, "helper");
	jvm__symbol(fd, 3, "App.java");
	jvm__symbol(fd, 4, "org/app/App");
	jvm__word(fd, JVM_CLASS + 24, JVM_POOL + 0x800 + 4 * 64);
	jvm__method(fd, JVM_METHOD, 1);
	jvm__method(fd, JVM_INLINED, 2);
}

/* run(): at 0x20 in line 30, at 0x40 in helper(), line 31, which is inlined in line 40. */
static inline void jvm__nmethod(int fd)
{
	static const uint8_t scopes[] = { 0, 0, 1, 1, 0, 1, 9, 4, 2, 5 };
	static const int32_t pcs[][4] = { { -1, 0, 0, 0 },
					  { 0x20, 1, 0, 0 },
					  { 0x40, 7, 0, 0 },
					  { 0x60, 0, 0, 0 },
					  { 0x7fffffff, 0, 0, 0 } };
	/* push %rbp; sub $48,%rsp; …; add $48,%rsp; pop %rbp; ret */
	static const uint8_t entry[] = { 0x55, 0x48, 0x83, 0xec, 48 };
	static const uint8_t exit[] = { 0x48, 0x83, 0xc4, 48, 0x5d, 0xc3 };
	uint64_t at = JVM_NMETHOD;

	jvm__blob(fd, at, "nmethod", 8);
	jvm__word(fd, at + 32, JVM_METHOD);
	jvm__word(fd, at + 40, at + 0x2080);
	jvm__u32(fd, at + 48, JVM_ID);
	jvm__u32(fd, at + 52, 16);
	jvm__u32(fd, at + 56, JVM_BEGIN + 0x800);
	jvm__u32(fd, at + 60, 0x2070);
	jvm__u32(fd, at + 64, 0x2080 + sizeof(scopes));
	jvm__u32(fd, at + 68, 0x2080 + sizeof(scopes) + sizeof(pcs));
	jvm__word(fd, at + 0x2070, JVM_METHOD);
	jvm__word(fd, at + 0x2078, JVM_INLINED);
	jvm__put(fd, at + 0x2080, scopes, sizeof(scopes));
	jvm__put(fd, at + 0x2080 + sizeof(scopes), pcs, sizeof(pcs));
	jvm__put(fd, at + JVM_BEGIN, entry, sizeof(entry));
	jvm__put(fd, at + JVM_BEGIN + 0x100, exit, sizeof(exit));
}

static inline int jvm__new(void)
{
	int fd = memfd_create("fakejvm", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, JVM_SZ) != 0)
		return -1;
	jvm__tables(fd);
	jvm__heap(fd);
	jvm__methods(fd);
	jvm__nmethod(fd);
	jvm__blob(fd, JVM_STUB, "StubRoutines (1)", 0);
	jvm__blob(fd, JVM_INTERP, "Interpreter", 0);
	return fd;
}

static inline int jvm__layout(int fd, struct runtime_layout *l)
{
	static const uint64_t symbols[] = { JVM_SYMBOLS, JVM_SYMBOLS + 8, JVM_SYMBOLS + 16 };
	struct remote r = { .mem = fd, .left = 4 << 20 };
	struct capture_runtime c;

	*l = (struct runtime_layout){ .runtime = &hotspot };
	return runtime__locate(&r, symbols, l, &c);
}

#endif
