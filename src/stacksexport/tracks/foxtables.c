// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/tracks/foxtables.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/jsonbuf.h"
#include "base/strtab.h"

#define CATEGORY(name, color) \
	"{\"name\":\"" name "\",\"color\":\"" color "\",\"subcategories\":[\"Other\"]}"

const char fox_categories[] =
	"[" CATEGORY("Other", "grey") "," CATEGORY("User", "yellow") "," CATEGORY(
		"Kernel",
		"orange") "," CATEGORY("JIT", "green") "," CATEGORY("Blocked",
								    "blue") "," CATEGORY("Runnable",
											 "red") "]";

int fox_tables__init(struct fox_tables *t, struct builder *b)
{
	uint32_t cnt = HASH_COUNT(b->locations);

	*t = (struct fox_tables){ .builder = b };
	if (builder_index__init(&t->index, b) != 0)
		return -ENOMEM;
	t->first_frame = calloc((size_t)cnt + 1, sizeof(*t->first_frame));
	if (!t->first_frame)
		return -ENOMEM;
	for (uint32_t id = 1; id <= cnt; id++) {
		t->first_frame[id] = t->frame_cnt;
		t->frame_cnt += (uint32_t)t->index.locations[id]->pb.n_line;
	}
	return b->err;
}

void fox_tables__free(struct fox_tables *t)
{
	builder_index__free(&t->index);
	keymap__free(&t->labels);
	keymap__free(&t->known);
	trie__free(&t->stacks);
	free(t->known_nodes);
	free(t->first_frame);
	*t = (struct fox_tables){ 0 };
}

uint32_t fox_tables__string(struct fox_tables *t, const char *s, size_t sz)
{
	uint32_t id = sz ? strtab__id(t->builder->strings, s, sz) : 0;

	if (sz && !id)
		t->err = -ENOMEM;
	return id;
}

static uint32_t tables_child(struct fox_tables *t, uint32_t parent, uint32_t frame)
{
	uint32_t node = trie__child(&t->stacks, parent, frame);

	if (node != KEYMAP_NONE)
		return node;
	t->err = -ENOMEM;
	return TRIE_ROOT;
}

/* Adds the frames of a stack from the root on, and of a location the outermost function first. */
static uint32_t tables_add_stack(struct fox_tables *t, uint64_t key)
{
	const struct kept_stack *kept;
	uint32_t node = TRIE_ROOT;

	HASH_FIND(hh, t->builder->kept, &key, sizeof(key), kept);
	for (size_t i = kept ? kept->cnt : 0; i-- > 0 && !t->err;) {
		uint64_t id = kept->location_ids[i];

		for (uint32_t line = 0; line < t->index.locations[id]->pb.n_line; line++)
			node = tables_child(t, node, t->first_frame[id] + line);
	}
	return node;
}

uint32_t fox_tables__stack(struct fox_tables *t, uint64_t key)
{
	bool is_new;
	uint32_t at = keymap__add(&t->known, key, 0, &is_new), *nodes;

	if (at == KEYMAP_NONE) {
		t->err = -ENOMEM;
		return TRIE_ROOT;
	}
	if (!is_new)
		return t->known_nodes[at];
	nodes = array__room(t->known_nodes, at, &t->known_cap, sizeof(*nodes));
	if (!nodes) {
		t->err = -ENOMEM;
		return TRIE_ROOT;
	}
	t->known_nodes = nodes;
	nodes[at] = tables_add_stack(t, key);
	return nodes[at];
}

uint32_t fox_tables__label(struct fox_tables *t, uint32_t node, uint32_t name,
			   enum fox_category category)
{
	bool is_new;
	uint32_t label = keymap__add(&t->labels, name, category, &is_new);

	if (label == KEYMAP_NONE)
		t->err = -ENOMEM;
	return t->err ? TRIE_ROOT : tables_child(t, node, t->frame_cnt + label);
}

void fox_tables__append_row(struct buf *out, uint32_t node)
{
	if (node == TRIE_ROOT)
		buf__str(out, "null");
	else
		jsonbuf__int(out, (int64_t)node - 1);
}

/* ---- writing -------------------------------------------------------------------------------- */

/* A frame, as the columns of frameTable need it. */
struct fox_frame {
	uint32_t name, file, module, build_id; /* strings; 0: none */
	int64_t address;		       /* in its file; -1: unknown */
	int64_t line;			       /* 0: unknown */
	uint32_t depth;			       /* 0: the function of the file; else inlined */
	enum fox_category category;
};

/* What is written: the tables, and the rows that several frames share. */
struct fox_writing {
	struct fox_tables *t;
	struct piecefile *file;
	struct buf *out;
	struct fox_frame *frames;
	uint32_t frame_cnt;
	struct keymap functions; /* (name and source file, module) */
	uint32_t *function_of;	 /* by the number of a frame */
	struct keymap modules;	 /* (module, build ID): rows of resourceTable and of libs */
	struct keymap sources;	 /* (source file, 0) */
};

static enum fox_category foxtables_category_of(const char *module)
{
	if (strcmp(module, "[jit]") == 0 || strcmp(module, "[anon]") == 0)
		return FOX_JIT;
	return *module == '[' && strcmp(module, "[vdso]") != 0 ? FOX_KERNEL : FOX_USER;
}

static void foxtables_fill_location(struct fox_writing *w, uint32_t id)
{
	const Perftools__Profiles__Location *l = &w->t->index.locations[id]->pb;
	const struct mapping_key *m = &w->t->index.mappings[l->mapping_id]->key;
	const char *module = strtab__str(w->t->builder->strings, m->module, NULL);

	for (uint32_t i = 0; i < l->n_line; i++) {
		const Perftools__Profiles__Line *line = l->line[l->n_line - 1 - i];
		const struct function_key *f = &w->t->index.functions[line->function_id]->key;

		w->frames[w->t->first_frame[id] + i] = (struct fox_frame){
			.name = f->name,
			.file = f->file,
			.module = m->module,
			.build_id = m->build_id,
			.address = *module == '/' && l->address <= INT64_MAX ? (int64_t)l->address
									     : -1,
			.line = line->line,
			.depth = i,
			.category = foxtables_category_of(module),
		};
	}
}

static void foxtables_fill_frames(struct fox_writing *w)
{
	for (uint32_t id = 1; id <= HASH_COUNT(w->t->builder->locations); id++)
		foxtables_fill_location(w, id);
	for (uint32_t i = 0; i < w->t->labels.cnt; i++)
		w->frames[w->t->frame_cnt + i] = (struct fox_frame){
			.name = (uint32_t)w->t->labels.keys[i].a,
			.address = -1,
			.category = (enum fox_category)w->t->labels.keys[i].b,
		};
}

static void foxtables_number_functions(struct fox_writing *w)
{
	for (uint32_t i = 0; i < w->frame_cnt; i++) {
		const struct fox_frame *f = &w->frames[i];
		uint32_t module = 0;
		bool is_new;

		if (f->module)
			module = keymap__add(&w->modules, f->module, f->build_id, &is_new) + 1;
		if (f->file && keymap__add(&w->sources, f->file, 0, &is_new) == KEYMAP_NONE)
			w->t->err = -ENOMEM;
		w->function_of[i] = keymap__add(&w->functions, (uint64_t)f->name << 32 | f->file,
						module, &is_new);
		if (w->function_of[i] == KEYMAP_NONE)
			w->t->err = -ENOMEM;
	}
}

/* Writes an array of `cnt` elements: "name":[…], */
static void foxtables_write_column(struct fox_writing *w, const char *name, uint32_t cnt,
				   void (*element)(struct fox_writing *, uint32_t i))
{
	buf__printf(w->out, "\"%s\":[", name);
	for (uint32_t i = 0; i < cnt; i++) {
		if (i)
			buf__u8(w->out, ',');
		element(w, i);
		piecefile__flush(w->file);
	}
	buf__str(w->out, "],\n");
}

static void foxtables_number_or(struct buf *out, bool there, int64_t n, const char *other)
{
	if (there)
		jsonbuf__int(out, n);
	else
		buf__str(out, other);
}

static void foxtables_element_null(struct fox_writing *w, uint32_t i)
{
	(void)i;
	buf__str(w->out, "null");
}

static void foxtables_element_zero(struct fox_writing *w, uint32_t i)
{
	(void)i;
	buf__u8(w->out, '0');
}

static void foxtables_element_one(struct fox_writing *w, uint32_t i)
{
	(void)i;
	buf__u8(w->out, '1');
}

static void foxtables_element_false(struct fox_writing *w, uint32_t i)
{
	(void)i;
	buf__str(w->out, "false");
}

static void foxtables_frame_address(struct fox_writing *w, uint32_t i)
{
	jsonbuf__int(w->out, w->frames[i].address);
}

static void foxtables_frame_depth(struct fox_writing *w, uint32_t i)
{
	jsonbuf__int(w->out, w->frames[i].depth);
}

static void foxtables_frame_category(struct fox_writing *w, uint32_t i)
{
	jsonbuf__int(w->out, w->frames[i].category);
}

static void foxtables_frame_function(struct fox_writing *w, uint32_t i)
{
	jsonbuf__int(w->out, w->function_of[i]);
}

static void foxtables_frame_line(struct fox_writing *w, uint32_t i)
{
	foxtables_number_or(w->out, w->frames[i].line > 0, w->frames[i].line, "null");
}

static void foxtables_function_name(struct fox_writing *w, uint32_t i)
{
	jsonbuf__int(w->out, (int64_t)(w->functions.keys[i].a >> 32));
}

static void foxtables_function_resource(struct fox_writing *w, uint32_t i)
{
	jsonbuf__int(w->out, (int64_t)w->functions.keys[i].b - 1);
}

static void foxtables_function_source(struct fox_writing *w, uint32_t i)
{
	uint32_t file = (uint32_t)w->functions.keys[i].a;

	foxtables_number_or(w->out, file, file ? keymap__find(&w->sources, file, 0) : 0, "null");
}

static void foxtables_module_name(struct fox_writing *w, uint32_t i)
{
	const char *path =
		strtab__str(w->t->builder->strings, (uint32_t)w->modules.keys[i].a, NULL);
	const char *slash = strrchr(path, '/');
	const char *name = slash && slash[1] ? slash + 1 : path;

	jsonbuf__int(w->out, fox_tables__string(w->t, name, strlen(name)));
}

static void foxtables_module_lib(struct fox_writing *w, uint32_t i)
{
	jsonbuf__int(w->out, i);
}

static void foxtables_stack_frame(struct fox_writing *w, uint32_t i)
{
	jsonbuf__int(w->out, trie__function(&w->t->stacks, i + 1));
}

static void foxtables_stack_prefix(struct fox_writing *w, uint32_t i)
{
	fox_tables__append_row(w->out, trie__parent(&w->t->stacks, i + 1));
}

static void foxtables_source_name(struct fox_writing *w, uint32_t i)
{
	jsonbuf__int(w->out, (int64_t)w->sources.keys[i].a);
}

static void foxtables_string_text(struct fox_writing *w, uint32_t i)
{
	size_t sz;
	const char *s = strtab__str(w->t->builder->strings, i, &sz);

	jsonbuf__str(w->out, s, sz);
}

struct fox_column {
	const char *name;
	void (*element)(struct fox_writing *, uint32_t i);
};

#define FOX_COLUMN_MAX 12

static const struct fox_table {
	const char *name;
	struct fox_column columns[FOX_COLUMN_MAX]; /* up to one without a name */
} tables[] = {
	{ "stackTable",
	  { { "frame", foxtables_stack_frame }, { "prefix", foxtables_stack_prefix } } },
	{ "frameTable",
	  { { "address", foxtables_frame_address },
	    { "inlineDepth", foxtables_frame_depth },
	    { "category", foxtables_frame_category },
	    { "subcategory", foxtables_element_zero },
	    { "func", foxtables_frame_function },
	    { "nativeSymbol", foxtables_element_null },
	    { "innerWindowID", foxtables_element_zero },
	    { "line", foxtables_frame_line },
	    { "column", foxtables_element_null },
	    { "originalLocation", foxtables_element_null } } },
	{ "funcTable",
	  { { "name", foxtables_function_name },
	    { "isJS", foxtables_element_false },
	    { "relevantForJS", foxtables_element_false },
	    { "resource", foxtables_function_resource },
	    { "source", foxtables_function_source },
	    { "lineNumber", foxtables_element_null },
	    { "columnNumber", foxtables_element_null },
	    { "originalLocation", foxtables_element_null } } },
	{ "resourceTable",
	  { { "lib", foxtables_module_lib },
	    { "name", foxtables_module_name },
	    { "host", foxtables_element_null },
	    { "type", foxtables_element_one } } },
	{ "nativeSymbols",
	  { { "libIndex", foxtables_element_null },
	    { "address", foxtables_element_null },
	    { "name", foxtables_element_null },
	    { "functionSize", foxtables_element_null } } },
	{ "sources",
	  { { "id", foxtables_element_null },
	    { "filename", foxtables_source_name },
	    { "startLine", foxtables_element_one },
	    { "startColumn", foxtables_element_one },
	    { "sourceMapURL", foxtables_element_null },
	    { "content", foxtables_element_null } } },
	{ "sourceLocationTable",
	  { { "source", foxtables_element_null },
	    { "line", foxtables_element_null },
	    { "column", foxtables_element_null } } },
};

enum { TABLE_CNT = sizeof(tables) / sizeof(tables[0]) };

/* Appends the name by which servers of symbols know a file. It is the first 16 bytes of the build
 * ID as a GUID, and the age 0. The first three fields of a GUID are little-endian. */
static void foxtables_append_breakpad_id(struct buf *out, const char *build_id)
{
	static const uint8_t order[] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	bool there = strlen(build_id) >= 2 * sizeof(order);

	for (size_t i = 0; i < sizeof(order); i++)
		for (size_t digit = 0; digit < 2; digit++)
			buf__u8(out, there ? (uint8_t)toupper(
						     (unsigned char)build_id[2 * order[i] + digit])
					   : '0');
	buf__u8(out, '0');
}

/* Writes what the profiler shows of a file, and by which it would ask a server for symbols. */
static void foxtables_write_lib(struct fox_writing *w, uint32_t i)
{
	const struct keymap_key *m = &w->modules.keys[i];
	const char *path = strtab__str(w->t->builder->strings, (uint32_t)m->a, NULL);
	const char *build_id = strtab__str(w->t->builder->strings, (uint32_t)m->b, NULL);
	const char *slash = strrchr(path, '/');
	const char *name = slash && slash[1] ? slash + 1 : path;

	buf__str(w->out, i ? ",\n{\"arch\":null" : "{\"arch\":null");
	for (size_t k = 0; k < 4; k++) {
		static const char *const keys[] = { "name", "path", "debugName", "debugPath" };

		buf__printf(w->out, ",\"%s\":", keys[k]);
		jsonbuf__str(w->out, k & 1 ? path : name, strlen(k & 1 ? path : name));
	}
	buf__str(w->out, ",\"breakpadId\":\"");
	foxtables_append_breakpad_id(w->out, build_id);
	buf__str(w->out, "\",\"codeId\":");
	if (*build_id)
		jsonbuf__str(w->out, build_id, strlen(build_id));
	else
		buf__str(w->out, "null");
	buf__str(w->out, "}");
}

static void foxtables_write_all(struct fox_writing *w)
{
	struct fox_tables *t = w->t;
	const uint32_t cnts[TABLE_CNT] = {
		trie__cnt(&t->stacks) - 1,
		w->frame_cnt,
		w->functions.cnt,
		w->modules.cnt,
		0,
		w->sources.cnt,
	};

	buf__str(w->out, "\"libs\":[");
	for (uint32_t i = 0; i < w->modules.cnt; i++)
		foxtables_write_lib(w, i);
	buf__str(w->out, "],\n\"shared\":{\n");
	for (size_t i = 0; i < TABLE_CNT; i++) {
		buf__printf(w->out, "\"%s\":{", tables[i].name);
		for (const struct fox_column *c = tables[i].columns; c->name; c++)
			foxtables_write_column(w, c->name, cnts[i], c->element);
		buf__printf(w->out, "\"length\":%u},\n", cnts[i]);
	}
	foxtables_write_column(w, "stringArray", (uint32_t)strtab__cnt(t->builder->strings),
			       foxtables_string_text);
	w->out->sz -= strlen(",\n");
	buf__str(w->out, "}");
}

void fox_tables__write(struct fox_tables *t, struct piecefile *file)
{
	uint32_t cnt = t->frame_cnt + t->labels.cnt;
	struct fox_writing w = { .t = t,
				 .file = file,
				 .out = piecefile__out(file),
				 .frame_cnt = cnt,
				 .frames = calloc((size_t)cnt + 1, sizeof(*w.frames)),
				 .function_of = calloc((size_t)cnt + 1, sizeof(*w.function_of)) };

	if (w.frames && w.function_of) {
		foxtables_fill_frames(&w);
		foxtables_number_functions(&w);
		foxtables_write_all(&w);
	} else {
		t->err = -ENOMEM;
	}
	keymap__free(&w.functions);
	keymap__free(&w.modules);
	keymap__free(&w.sources);
	free(w.frames);
	free(w.function_of);
}
