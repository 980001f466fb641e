// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/hotspot_layout.h"

#include <errno.h>
#include <string.h>

/* The tables' entries (runtime/vmStructs.hpp), the same since JDK 7. */
struct jvm_field {
	uint64_t type, name, type_name; /* texts; type 0: the end */
	uint32_t is_static, pad;
	uint64_t off;	/* in an object */
	uint64_t where; /* of a static one */
};

struct jvm_type {
	uint64_t name, super; /* texts; name 0: the end */
	uint32_t flags[3], pad;
	uint64_t sz;
};

struct jvm_constant {
	uint64_t name; /* text; 0: the end */
	uint32_t value, pad;
};

#define FIELDS_MAX 8192
#define TEXT_SZ	   64
#define OFFSET_MAX (1u << 16)
#define HEAPS_MAX  8

enum hotspot_layout_symbol { SYMBOL_FIELDS, SYMBOL_TYPES, SYMBOL_CONSTANTS };

struct wanted_field {
	const char *type, *name;
	enum hotspot_at at;
};

/* Fields that differ between versions have a row per version. A later row with the same .at adds
 * to it. */
static const struct wanted_field fields[] = {
	{ "CodeHeap", "_memory", JVM_HEAP_MEMORY },
	{ "CodeHeap", "_segmap", JVM_HEAP_MAP },
	{ "CodeHeap", "_log2_segment_size", JVM_HEAP_SHIFT },
	{ "VirtualSpace", "_low", JVM_SPACE_LOW },
	{ "VirtualSpace", "_high_boundary", JVM_SPACE_END },
	{ "HeapBlock::Header", "_length", JVM_BLOCK_LENGTH },
	{ "HeapBlock::Header", "_used", JVM_BLOCK_USED },
	{ "GenericGrowableArray", "_len", JVM_ARRAY_CNT },
	{ "GrowableArrayBase", "_len", JVM_ARRAY_CNT },
	{ "GrowableArray<int>", "_data", JVM_ARRAY_DATA },
	{ "CodeBlob", "_name", JVM_BLOB_NAME },
	{ "CodeBlob", "_size", JVM_BLOB_SZ },
	{ "CodeBlob", "_frame_complete_offset", JVM_BLOB_COMPLETE },
	{ "CodeBlob", "_frame_size", JVM_BLOB_FRAME },
	{ "CodeBlob", "_data_offset", JVM_BLOB_DATA },
	{ "CodeBlob", "_code_offset", JVM_BLOB_CODE },
	{ "CodeBlob", "_code_begin", JVM_BLOB_BEGIN },
	{ "CodeBlob", "_mutable_data", JVM_BLOB_EXTRA },
	{ "CodeBlob", "_relocation_size", JVM_BLOB_RELOCS },
	{ "CodeBlob", "_mutable_data_size", JVM_BLOB_EXTRA_SZ },
	{ "CompiledMethod", "_method", JVM_NMETHOD_METHOD },
	{ "nmethod", "_method", JVM_NMETHOD_METHOD },
	{ "nmethod", "_compile_id", JVM_NMETHOD_ID },
	{ "nmethod", "_orig_pc_offset", JVM_NMETHOD_ORIG_PC },
	{ "nmethod", "_stub_offset", JVM_NMETHOD_STUBS },
	{ "nmethod", "_metadata_offset", JVM_NMETHOD_METADATA },
	{ "nmethod", "_scopes_pcs_offset", JVM_NMETHOD_PCS },
	{ "nmethod", "_dependencies_offset", JVM_NMETHOD_PCS_END },
	{ "CompiledMethod", "_scopes_data_begin", JVM_NMETHOD_SCOPES_AT },
	{ "nmethod", "_scopes_data_offset", JVM_NMETHOD_SCOPES },
	{ "nmethod", "_immutable_data", JVM_NMETHOD_FIXED },
	{ "nmethod", "_immutable_data_size", JVM_NMETHOD_FIXED_SZ },
	{ "Method", "_constMethod", JVM_METHOD_CONST },
	{ "ConstMethod", "_constants", JVM_CONST_CONSTANTS },
	{ "ConstMethod", "_flags", JVM_CONST_FLAGS },
	{ "ConstMethod", "_flags._flags", JVM_CONST_FLAGS },
	{ "ConstMethod", "_code_size", JVM_CONST_CODE_SZ },
	{ "ConstMethod", "_name_index", JVM_CONST_NAME },
	{ "ConstMethod", "_constMethod_size", JVM_CONST_WORDS },
	{ "ConstantPool", "_pool_holder", JVM_POOL_HOLDER },
	{ "ConstantPool", "_source_file_name_index", JVM_POOL_FILE },
	{ "ConstantPool", "_length", JVM_POOL_CNT },
	{ "InstanceKlass", "_source_file_name_index", JVM_CLASS_FILE },
	{ "Klass", "_name", JVM_CLASS_NAME },
	{ "Symbol", "_length", JVM_SYMBOL_SZ },
	{ "Symbol", "_body", JVM_SYMBOL_TEXT },
	{ "Symbol", "_body[0]", JVM_SYMBOL_TEXT },
};

static const struct wanted_field types[] = {
	{ "HeapBlock", NULL, JVM_BLOCK_SZ },
	{ "ConstMethod", NULL, JVM_CONST_SZ },
	{ "ConstantPool", NULL, JVM_POOL_SZ },
};

static const struct wanted_field constants[] = {
	{ NULL, "ConstMethod::_has_linenumber_table", JVM_CONST_HAS_LINES },
	{ NULL, "ConstMethodFlags::_misc_has_linenumber_table", JVM_CONST_HAS_LINES },
};

/* Fields that some versions do not have. */
static const enum hotspot_at optional[] = {
	JVM_BLOB_CODE,	    JVM_BLOB_BEGIN,	  JVM_BLOB_EXTRA,	JVM_BLOB_RELOCS,
	JVM_BLOB_EXTRA_SZ,  JVM_NMETHOD_METADATA, JVM_NMETHOD_PCS_END,	JVM_NMETHOD_SCOPES_AT,
	JVM_NMETHOD_SCOPES, JVM_NMETHOD_FIXED,	  JVM_NMETHOD_FIXED_SZ, JVM_CONST_HAS_LINES,
	JVM_POOL_FILE,	    JVM_CLASS_FILE,
};

#define ARRAY_CNT(a) (sizeof(a) / sizeof(*(a)))

/* Addresses of static fields. */
struct statics {
	uint64_t heaps, heap, version;
};

static void hotspot_layout_keep(struct runtime_layout *l, enum hotspot_at at, uint64_t v)
{
	l->at[at] = v < OFFSET_MAX ? (uint32_t)v : OFFSET_MAX;
}

static void hotspot_layout_take_field(struct remote *r, const struct jvm_field *f, const char *type,
				      struct runtime_layout *l)
{
	char name[TEXT_SZ] = "";

	for (size_t i = 0; i < ARRAY_CNT(fields); i++) {
		if (strcmp(fields[i].type, type) != 0)
			continue;
		if (!*name)
			remote__text(r, f->name, name, sizeof(name));
		if (strcmp(fields[i].name, name) == 0 && !f->is_static)
			hotspot_layout_keep(l, fields[i].at, f->off);
	}
}

static void hotspot_take_static(struct remote *r, const struct jvm_field *f, const char *type,
				struct statics *s)
{
	if (!f->is_static)
		return;
	if (strcmp(type, "CodeCache") == 0 && remote__is_text(r, f->name, "_heaps"))
		s->heaps = f->where;
	if (strcmp(type, "CodeCache") == 0 && remote__is_text(r, f->name, "_heap"))
		s->heap = f->where;
	if (strcmp(type, "Abstract_VM_Version") == 0 &&
	    remote__is_text(r, f->name, "_vm_major_version"))
		s->version = f->where;
}

static void hotspot_layout_read_fields(struct remote *r, uint64_t table, struct runtime_layout *l,
				       struct statics *s)
{
	char type[TEXT_SZ] = "";
	uint64_t last = 0;
	struct jvm_field f;

	for (size_t i = 0; i < FIELDS_MAX; i++, table += sizeof(f)) {
		if (!remote__read(r, table, &f, sizeof(f)) || !f.type)
			return;
		if (f.type != last)
			remote__text(r, f.type, type, sizeof(type));
		last = f.type;
		hotspot_layout_take_field(r, &f, type, l);
		hotspot_take_static(r, &f, type, s);
	}
}

static void hotspot_layout_read_types(struct remote *r, uint64_t table, struct runtime_layout *l)
{
	char name[TEXT_SZ];
	struct jvm_type t;

	for (size_t i = 0; i < FIELDS_MAX; i++, table += sizeof(t)) {
		if (!remote__read(r, table, &t, sizeof(t)) || !t.name)
			return;
		remote__text(r, t.name, name, sizeof(name));
		for (size_t n = 0; n < ARRAY_CNT(types); n++)
			if (strcmp(types[n].type, name) == 0)
				hotspot_layout_keep(l, types[n].at, t.sz);
	}
}

static void hotspot_read_constants(struct remote *r, uint64_t table, struct runtime_layout *l)
{
	struct jvm_constant c;
	char name[TEXT_SZ];

	for (size_t i = 0; i < FIELDS_MAX; i++, table += sizeof(c)) {
		if (!remote__read(r, table, &c, sizeof(c)) || !c.name)
			return;
		remote__text(r, c.name, name, sizeof(name));
		for (size_t n = 0; n < ARRAY_CNT(constants); n++)
			if (strcmp(constants[n].name, name) == 0)
				hotspot_layout_keep(l, constants[n].at, c.value);
	}
}

static bool hotspot_layout_may_lack(size_t at)
{
	for (size_t i = 0; i < ARRAY_CNT(optional); i++)
		if (optional[i] == at)
			return true;
	return false;
}

/* Offsets come from the process. */
static bool hotspot_layout_is_sane(const struct runtime_layout *l)
{
	for (size_t i = 0; i < JVM_CNT; i++)
		if (l->at[i] >= OFFSET_MAX && !(l->at[i] == JVM_NONE && hotspot_layout_may_lack(i)))
			return false;
	return l->at[JVM_BLOB_CODE] != JVM_NONE || l->at[JVM_BLOB_BEGIN] != JVM_NONE;
}

int hotspot__read_layout(struct remote *r, const uint64_t *symbols, struct runtime_layout *l)
{
	struct statics s = { 0 };

	for (size_t i = 0; i < JVM_CNT; i++)
		l->at[i] = JVM_NONE;
	hotspot_layout_read_fields(r, remote__u64(r, symbols[SYMBOL_FIELDS]), l, &s);
	hotspot_layout_read_types(
		r, symbols[SYMBOL_TYPES] ? remote__u64(r, symbols[SYMBOL_TYPES]) : 0, l);
	hotspot_read_constants(
		r, symbols[SYMBOL_CONSTANTS] ? remote__u64(r, symbols[SYMBOL_CONSTANTS]) : 0, l);
	l->version = s.version ? remote__u32(r, s.version) : 0;
	if (s.heap) /* its VM has another number: 25 */
		l->version = JVM_ONE_HEAP;
	if (r->err)
		return -EAGAIN;
	l->heaps = s.heap ? s.heap : s.heaps;
	if (!l->heaps || !hotspot_layout_is_sane(l))
		return -ENOTSUP;
	return remote__u64(r, l->heaps) ? 0 : -EAGAIN;
}
