// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacks/rowframes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stacks/labels.h"

#define KNOWN_BITS 13 /* 640 KB; a short recording touches a few tens of KB */

/* A place in a file with a build ID, for processes that map the file under the same name; or in the
 * kernel, with origin 0. */
struct rowframes_known {
	uint64_t origin, place;
	uint32_t generation; /* of the recording: IDs of strings are valid in one batch */
	uint32_t module, mark;
	struct row_frame row;
};

struct row_frames {
	struct recording *recording;
	struct symbolizer *symbolizer;
	struct kallsyms *kernel;
	struct build_id kernel_build_id;
	/* the module of the last frame; its caller usually has the same */
	const char *module; /* the batch's copy */
	uint32_t module_id, module_generation;
	struct rowframes_known known[1 << KNOWN_BITS];
};

struct row_frames *row_frames__new(struct recording *recording, struct symbolizer *symbolizer)
{
	struct row_frames *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->recording = recording;
	r->symbolizer = symbolizer;
	r->kernel_build_id = kernel__build_id();
	return r;
}

void row_frames__free(struct row_frames *r)
{
	free(r);
}

void row_frames__set_kernel(struct row_frames *r, struct kallsyms *kernel)
{
	r->kernel = kernel;
}

/* ---- where --------------------------------------------------------------------------------------
 */

struct location location__of(const struct frame *f)
{
	struct location l = { .map = f->map, .place = frame__place(f) };

	if (!l.map)
		return l;
	l.file_off = l.place - l.map->start + l.map->pgoff;
	l.has_vaddr = l.map->file && elf_file__vaddr(l.map->file, l.file_off, &l.vaddr);
	return l;
}

bool location__is_anonymous(const struct location *l)
{
	return !l->map || l->map->kind == MAPPING_ANON || l->map->kind == MAPPING_UPROBES;
}

static const char *rowframes_mapping_module(const struct mapping *m)
{
	static const char *const special[] = {
		[MAPPING_ANON] = "[anon]",
		[MAPPING_VDSO] = "[vdso]",
		[MAPPING_VSYSCALL] = "[vsyscall]",
		[MAPPING_UPROBES] = "[uprobes]",
	};

	if (!m)
		return "[unknown]";
	return m->kind == MAPPING_FILE ? m->path : special[m->kind];
}

const char *location__module(const struct location *l)
{
	return rowframes_mapping_module(l->map);
}

/* ---- strings ------------------------------------------------------------------------------------
 */

static uint32_t rowframes_intern(struct row_frames *r, const char *str)
{
	return recording__string(r->recording, str, strlen(str));
}

static uint32_t rowframes_intern_module(struct row_frames *r, const char *name)
{
	uint32_t generation = recording__generation(r->recording);

	if (r->module_generation == generation && strcmp(r->module, name) == 0)
		return r->module_id;
	r->module_id = rowframes_intern(r, name);
	r->module = recording__str(r->recording, r->module_id, NULL);
	r->module_generation = generation;
	return r->module_id;
}

#define INTERPRETER_MARK "interpreter"
#define INLINED_MARK	 "go_inlined"

static uint32_t rowframes_intern_mark(struct row_frames *r, const struct frame *f)
{
	bool guessed = f->source == FRAME_BY_STITCH; /* stitching is the more important mark */
	const char *mark = f->flags & FRAME_INTERPRETER && !guessed ? INTERPRETER_MARK
								    : frame_source__mark(f->source);

	return mark ? rowframes_intern(r, mark) : 0;
}

static uint32_t rowframes_intern_build_id(struct row_frames *r, const struct build_id *id)
{
	static const char digits[] = "0123456789abcdef";
	char hex[2 * BUILD_ID_MAX];

	for (size_t i = 0; i < id->sz; i++) {
		hex[2 * i] = digits[id->bytes[i] >> 4];
		hex[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	return recording__string(r->recording, hex, 2 * (size_t)id->sz);
}

/* ---- what is known ------------------------------------------------------------------------------
 */

/* Returns the slot for a place, which may hold another place's row. */
static struct rowframes_known *rowframes_slot(struct row_frames *r, uint64_t origin, uint64_t place)
{
	return &r->known[(origin ^ place) * 0x9e3779b97f4a7c15u >> (64 - KNOWN_BITS)];
}

static bool rowframes_is_of(const struct row_frames *r, const struct rowframes_known *k,
			    const struct rowframes_known *wanted)
{
	return k->origin == wanted->origin && k->place == wanted->place &&
	       k->generation == recording__generation(r->recording) &&
	       k->module == wanted->module && k->mark == wanted->mark;
}

static void rowframes_remember(struct row_frames *r, const struct rowframes_known *k)
{
	struct rowframes_known *at = rowframes_slot(r, k->origin, k->place);

	*at = *k;
	at->generation = recording__generation(r->recording);
}

/* ---- user frames --------------------------------------------------------------------------------
 */

static void rowframes_describe(struct row_frames *r, const struct frame *f, bool jit,
			       struct stack_frame *out)
{
	struct location l = location__of(f);
	bool anonymous = location__is_anonymous(&l);
	struct row_frame *row = &out->row;

	*out = (struct stack_frame){ .vaddr = jit ? l.place : l.vaddr, .jit = jit };
	row->module = rowframes_intern_module(r, location__module(&l));
	row->offset = l.has_vaddr ? l.vaddr : anonymous ? l.place : l.file_off;
	row->mark = rowframes_intern_mark(r, f);
	if (l.has_vaddr)
		out->file = l.map->file;
	if (anonymous)
		return;
	row->build_id = rowframes_intern_build_id(r, l.map->file ? &l.map->file->build_id
								 : &l.map->build_id);
	row->has_file_offset = true;
	row->file_offset = l.file_off;
}

/* The offset in a file means nothing for code that was made at run time. */
static void rowframes_add_jit_name(struct row_frames *r, struct row_frame *row)
{
	row->module = rowframes_intern(r, JIT_MODULE);
	row->build_id = 0;
	row->has_file_offset = false;
	row->file_offset = 0;
}

static void rowframes_add_line(struct row_frames *r, const struct code_line *l,
			       struct row_frame *row)
{
	row->line = l->line <= INT32_MAX ? (int32_t)l->line : 0;
	row->file = row->line && l->file ? rowframes_intern(r, l->file) : 0;
}

static void rowframes_add_name(struct row_frames *r, struct stack_frame *f)
{
	if (!f->symbol.name)
		return;
	f->row.name = rowframes_intern(r, f->symbol.name);
	f->row.address = f->symbol.address;
	f->row.offset = f->vaddr - f->symbol.address;
	if (f->jit)
		rowframes_add_jit_name(r, &f->row);
}

/* Returns the number of functions that are inlined at the place of the frame. */
static size_t rowframes_find_lines(struct row_frames *r, const struct stack_frame *f,
				   struct code_lines *lines)
{
	bool found = f->file && !f->jit && f->symbol.name &&
		     symbolizer__lines(r->symbolizer, f->file, f->vaddr, lines);

	return found ? lines->cnt - 1 : 0;
}

void row_frames__name(struct row_frames *r, struct stack_frame *f)
{
	struct code_lines lines = { 0 };

	rowframes_add_name(r, f);
	f->has_inlined = rowframes_find_lines(r, f, &lines) > 0;
	if (lines.cnt)
		rowframes_add_line(r, &lines.v[lines.cnt - 1], &f->row);
	if (f->file && f->file->origin && !f->has_inlined)
		rowframes_remember(
			r, &(struct rowframes_known){ f->file->origin, f->row.file_offset, 0,
						      f->row.module, f->row.mark, f->row });
}

static bool rowframes_find_known(struct row_frames *r, const struct frame *f,
				 struct stack_frame *out)
{
	const struct mapping *m = f->map;
	struct rowframes_known wanted;
	const struct rowframes_known *k;

	if (!m || !m->file || !m->file->origin)
		return false;
	wanted = (struct rowframes_known){ .origin = m->file->origin,
					   .place = frame__place(f) - m->start + m->pgoff,
					   .module = rowframes_intern_module(
						   r, rowframes_mapping_module(m)),
					   .mark = rowframes_intern_mark(r, f) };
	k = rowframes_slot(r, wanted.origin, wanted.place);
	if (!rowframes_is_of(r, k, &wanted))
		return false;
	*out = (struct stack_frame){ .row = k->row };
	return true;
}

bool row_frames__user(struct row_frames *r, const struct frame *f, bool jit,
		      struct stack_frame *out)
{
	int err = -ENOENT;

	if (rowframes_find_known(r, f, out))
		return true;
	rowframes_describe(r, f, jit, out);
	if (out->file)
		err = symbolizer__symbol(r->symbolizer, out->file, out->vaddr, &out->symbol);
	if (err != -EAGAIN && !jit)
		row_frames__name(r, out);
	if (err == -EAGAIN || jit || out->has_inlined) {
		stack_frame__keep_file(out);
		return false;
	}
	out->file = NULL;
	return true;
}

size_t row_frames__inlined(struct row_frames *r, const struct stack_frame *f,
			   struct row_frame out[CODE_LINES_MAX])
{
	struct code_lines lines = { 0 };
	size_t cnt = f->has_inlined ? rowframes_find_lines(r, f, &lines) : 0;

	for (size_t i = 0; i < cnt; i++) {
		out[i] = f->row;
		out[i].name = lines.v[i].function ? rowframes_intern(r, lines.v[i].function) : 0;
		out[i].mark = rowframes_intern(r, INLINED_MARK);
		rowframes_add_line(r, &lines.v[i], &out[i]);
	}
	return cnt;
}

void row_frames__script(struct row_frames *r, const struct script_call *c, struct stack_frame *out)
{
	*out = (struct stack_frame){
		.row = { .name = c->script->name ? rowframes_intern(r, c->script->name) : 0,
			 .module = rowframes_intern_module(r, c->script->module),
			 .mark = rowframes_intern(r, c->mark),
			 .line = (int32_t)c->line }
	};
}

/* ---- kernel frames ------------------------------------------------------------------------------
 */

/* Returns false if no name is known yet. */
static bool rowframes_describe_kernel(struct row_frames *r, uint64_t place, struct row_frame *out)
{
	struct symbol symbol;

	*out = (struct row_frame){ .module = rowframes_intern(r, "[kernel]"), .offset = place };
	if (!r->kernel || !kallsyms__symbol(r->kernel, place, &symbol))
		return false;
	out->module = rowframes_intern(r, symbol.module);
	out->name = rowframes_intern(r, symbol.name);
	out->address = symbol.address;
	out->offset = place - symbol.address;
	if (strcmp(symbol.module, "[kernel]") == 0)
		out->build_id = rowframes_intern_build_id(r, &r->kernel_build_id);
	return true;
}

void row_frames__kernel(struct row_frames *r, uint64_t place, struct row_frame *out)
{
	struct rowframes_known wanted = { .place = place };
	const struct rowframes_known *k = rowframes_slot(r, 0, place);

	if (rowframes_is_of(r, k, &wanted)) {
		*out = k->row;
		return;
	}
	if (rowframes_describe_kernel(r, place, &wanted.row))
		rowframes_remember(r, &wanted);
	*out = wanted.row;
}
