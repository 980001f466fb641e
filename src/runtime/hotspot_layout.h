/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The positions of HotSpot's fields, from libjvm's own tables (gHotSpotVMStructs). */
#ifndef RUNTIME_HOTSPOT_LAYOUT_H
#define RUNTIME_HOTSPOT_LAYOUT_H

#include "runtime/runtime.h"

#define JVM_NONE     UINT32_MAX /* this version has no such field */
#define JVM_ONE_HEAP 8		/* JDK 8 has one code heap, not a list of heaps */

/* Indexes in runtime_layout.at: offsets of fields, sizes of types, and constants. */
enum hotspot_at {
	JVM_HEAP_MEMORY, /* CodeHeap: a VirtualSpace */
	JVM_HEAP_MAP,
	JVM_HEAP_SHIFT,
	JVM_SPACE_LOW,	  /* VirtualSpace */
	JVM_SPACE_END,	  /* of what is reserved */
	JVM_BLOCK_LENGTH, /* HeapBlock, before each blob; in segments */
	JVM_BLOCK_USED,
	JVM_BLOCK_SZ,
	JVM_ARRAY_CNT, /* GrowableArray */
	JVM_ARRAY_DATA,
	JVM_BLOB_NAME, /* CodeBlob */
	JVM_BLOB_SZ,
	JVM_BLOB_COMPLETE,
	JVM_BLOB_FRAME,
	JVM_BLOB_DATA,	 /* offset of the end of the code */
	JVM_BLOB_CODE,	 /* offset of the code; or: */
	JVM_BLOB_BEGIN,	 /* address of the code */
	JVM_BLOB_EXTRA,	 /* address of data elsewhere, from JDK 25 on */
	JVM_BLOB_RELOCS, /* bytes of it before the metadata */
	JVM_BLOB_EXTRA_SZ,
	JVM_NMETHOD_METHOD,
	JVM_NMETHOD_ID,
	JVM_NMETHOD_ORIG_PC,
	JVM_NMETHOD_STUBS,
	JVM_NMETHOD_METADATA,
	JVM_NMETHOD_PCS,
	JVM_NMETHOD_PCS_END,
	JVM_NMETHOD_SCOPES_AT, /* address of the scopes; or: */
	JVM_NMETHOD_SCOPES,    /* their offset */
	JVM_NMETHOD_FIXED,     /* address of data elsewhere, from JDK 23 on */
	JVM_NMETHOD_FIXED_SZ,
	JVM_METHOD_CONST,
	JVM_CONST_CONSTANTS, /* ConstMethod */
	JVM_CONST_FLAGS,
	JVM_CONST_CODE_SZ,
	JVM_CONST_NAME,
	JVM_CONST_WORDS,
	JVM_CONST_SZ,
	JVM_CONST_HAS_LINES, /* bit of the flags */
	JVM_POOL_HOLDER,     /* ConstantPool */
	JVM_POOL_FILE,	     /* of the source; or: */
	JVM_CLASS_FILE,	     /* in InstanceKlass */
	JVM_POOL_CNT,
	JVM_POOL_SZ,
	JVM_CLASS_NAME,
	JVM_SYMBOL_SZ,
	JVM_SYMBOL_TEXT,
	JVM_CNT
};

_Static_assert(JVM_CNT <= RUNTIME_OFFSETS, "there is room for all");

/* For `locate` of struct runtime. */
int hotspot__read_layout(struct remote *, const uint64_t *symbols, struct runtime_layout *);

static inline uint64_t hotspot__word(struct remote *r, const struct runtime_layout *l,
				     uint64_t object, enum hotspot_at at)
{
	return l->at[at] == JVM_NONE ? 0 : remote__u64(r, object + l->at[at]);
}

static inline uint32_t hotspot__u32(struct remote *r, const struct runtime_layout *l,
				    uint64_t object, enum hotspot_at at)
{
	return l->at[at] == JVM_NONE ? 0 : remote__u32(r, object + l->at[at]);
}

#endif
