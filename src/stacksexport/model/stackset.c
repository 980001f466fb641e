// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/model/stackset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/strtab.h"
#include "stacksexport/model/waittraits.h"

/* The place of a stack's frames in stackset.sequence. */
struct stack_span {
	uint32_t begin, cnt;
};

/* Entry i of an array belongs to key i of the map beside it. */
struct stackset {
	struct binaries *binaries;
	struct strtab *strings;
	struct keymap symbol_keys; /* (name, path), build ID: what frames of one function share */
	struct keymap frame_keys;  /* index of symbol_keys, place */
	struct model_frame *frames;
	size_t frame_cap;
	struct keymap function_keys; /* name, module */
	struct function *functions;
	size_t function_cap;
	struct keymap stack_keys; /* ID */
	struct stack_span *stacks;
	size_t stack_cap;
	uint32_t *sequence;			    /* frames of all stacks */
	size_t sequence_cnt, sequence_cap, pending; /* pending: where the stack being read begins */
	int err;
};

struct stackset *stackset__new(struct binaries *binaries)
{
	struct stackset *s = calloc(1, sizeof(*s));

	if (s) {
		s->binaries = binaries;
		s->strings = strtab__new();
	}
	if (s && s->strings)
		return s;
	stackset__free(s);
	errno = ENOMEM;
	return NULL;
}

void stackset__free(struct stackset *s)
{
	if (!s)
		return;
	strtab__free(s->strings);
	keymap__free(&s->symbol_keys);
	keymap__free(&s->frame_keys);
	keymap__free(&s->function_keys);
	keymap__free(&s->stack_keys);
	free(s->frames);
	free(s->functions);
	free(s->stacks);
	free(s->sequence);
	free(s);
}

static uint32_t stackset_intern(struct stackset *s, struct frame_text text)
{
	uint32_t id = text.sz ? strtab__id(s->strings, text.s, text.sz) : 0;

	if (text.sz && !id)
		s->err = -ENOMEM;
	return id;
}

static uint64_t stackset_id_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

static bool stackset_text_is(struct frame_text t, const char *s)
{
	return t.sz == strlen(s) && memcmp(t.s, s, t.sz) == 0;
}

static bool stackset_text_begins(struct frame_text t, const char *s)
{
	return t.sz >= strlen(s) && memcmp(t.s, s, strlen(s)) == 0;
}

/* ---- functions ------------------------------------------------------------------------------ */

static struct frame_text stackset_base_name(struct frame_text path)
{
	const char *slash = path.sz ? memrchr(path.s, '/', path.sz) : NULL;
	size_t skip = slash ? (size_t)(slash + 1 - path.s) : 0;

	return (struct frame_text){ path.s + skip, path.sz - skip };
}

/* Modules in brackets that do not belong to the kernel. */
static const struct {
	const char *module;
	enum frame_kind kind;
} bracketed[] = {
	{ "[vdso]", FRAME_USER },   { "[vsyscall]", FRAME_USER }, { "[jit]", FRAME_JIT },
	{ "[anon]", FRAME_JIT },    { "[heap]", FRAME_JIT },	  { "[stack]", FRAME_JIT },
	{ "[label]", FRAME_LABEL }, { "[python]", FRAME_USER },	  { "[java]", FRAME_USER },
	{ "[ruby]", FRAME_USER },   { "[php]", FRAME_USER },	  { "[javascript]", FRAME_USER },
};

/* Programs and libraries that interpret or compile other programs' code. */
static const char *const interpreters[] = {
	"python",  "libpython", "libjvm.so", "perl", "libperl", "ruby",
	"libruby", "node",	"php",	     "lua",  "libnode", "libcoreclr.so",
};

static enum frame_kind stackset_kind_of(struct frame_text module)
{
	bool is_script = module.sz > 3 && memcmp(module.s + module.sz - 3, ".py", 3) == 0;

	for (size_t i = 0; i < sizeof(bracketed) / sizeof(*bracketed); i++)
		if (stackset_text_is(module, bracketed[i].module))
			return bracketed[i].kind;
	if (module.sz > 2 && module.s[0] == '[' && module.s[module.sz - 1] == ']')
		return FRAME_KERNEL;
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(*interpreters) && !is_script; i++)
		if (stackset_text_begins(module, interpreters[i]))
			return FRAME_INTERPRETER;
	return FRAME_USER;
}

static bool stackset_is_library(struct frame_text module)
{
	return module.sz > 3 && memmem(module.s, module.sz, ".so", 3) != NULL;
}

uint32_t stackset__add_function(struct stackset *s, struct frame_text name,
				struct frame_text module, enum frame_kind kind)
{
	uint32_t name_id = stackset_intern(s, name), module_id = stackset_intern(s, module);
	struct function *functions = array__room(s->functions, s->function_keys.cnt,
						 &s->function_cap, sizeof(*s->functions));
	uint32_t index = KEYMAP_NONE;
	bool is_new = false;

	if (functions) {
		s->functions = functions;
		index = keymap__add(&s->function_keys, stackset_id_pair(name_id, module_id), kind,
				    &is_new);
	}
	if (index == KEYMAP_NONE)
		s->err = -ENOMEM;
	if (is_new)
		functions[index] =
			(struct function){ name_id, module_id, kind, stackset_is_library(module),
					   wait_traits__of(name, module) };
	return index;
}

uint32_t stackset__find_function(const struct stackset *s, struct frame_text name,
				 struct frame_text module)
{
	for (uint32_t i = 0; i < s->function_keys.cnt; i++) {
		struct frame_text n = stackset__text(s, s->functions[i].name);
		struct frame_text m = stackset__text(s, s->functions[i].module);

		if (n.sz == name.sz && m.sz == module.sz && memcmp(n.s, name.s, n.sz) == 0 &&
		    memcmp(m.s, module.s, m.sz) == 0)
			return i;
	}
	return KEYMAP_NONE;
}

/* Returns the name that sql/stacks.sql gives: stackset_function_of(). */
static uint32_t stackset_function_of(struct stackset *s, const struct named_frame *f)
{
	struct frame_text module = stackset_base_name(f->module), name = f->name;
	struct named_frame located = *f;
	char text[32];

	if (!f->name.s) {
		binaries__locate(s->binaries, &located);
		name.s = text;
		name.sz = (size_t)snprintf(text, sizeof(text), "+0x%" PRIx64, located.address);
		if (!located.has_start)
			name = (struct frame_text){ "[no symbol]", strlen("[no symbol]") };
	}
	return stackset__add_function(s, name, module, stackset_kind_of(module));
}

/* ---- frames and stacks ---------------------------------------------------------------------- */

static uint32_t stackset_frame_index(struct stackset *s, const struct named_frame *f)
{
	uint32_t name = stackset_intern(s, f->name), path = stackset_intern(s, f->module);
	uint32_t build_id = stackset_intern(s, f->build_id);
	uint64_t place = f->address + f->offset;
	bool is_new;
	uint32_t symbol = keymap__add(&s->symbol_keys, stackset_id_pair(name, path),
				      stackset_id_pair(build_id, f->name.s != NULL), &is_new);
	struct model_frame *frames =
		array__room(s->frames, s->frame_keys.cnt, &s->frame_cap, sizeof(*s->frames));
	uint32_t index = KEYMAP_NONE;

	if (!frames)
		return KEYMAP_NONE;
	s->frames = frames;
	if (symbol != KEYMAP_NONE)
		index = keymap__add(&s->frame_keys, symbol, place ? place : (uint64_t)f->line,
				    &is_new); /* scripts have lines only */
	if (index != KEYMAP_NONE && is_new)
		frames[index] = (struct model_frame){ .function = stackset_function_of(s, f),
						      .path = path,
						      .build_id = build_id,
						      .address = f->address,
						      .offset = f->offset,
						      .file_offset = f->file_offset,
						      .has_file_offset = f->has_file_offset,
						      .file = stackset_intern(s, f->file),
						      .line = f->line };
	return index;
}

void stackset__frame(struct stackset *s, const struct named_frame *f)
{
	uint32_t *sequence =
		array__room(s->sequence, s->sequence_cnt, &s->sequence_cap, sizeof(*s->sequence));
	uint32_t index = sequence ? stackset_frame_index(s, f) : KEYMAP_NONE;

	if (sequence)
		s->sequence = sequence;
	if (index == KEYMAP_NONE)
		s->err = -ENOMEM;
	else
		sequence[s->sequence_cnt++] = index;
}

void stackset__stack(struct stackset *s, uint64_t id)
{
	size_t begin = s->pending;
	struct stack_span *stacks =
		array__room(s->stacks, s->stack_keys.cnt, &s->stack_cap, sizeof(*s->stacks));
	bool is_new = false;
	uint32_t index = KEYMAP_NONE;

	if (stacks) {
		s->stacks = stacks;
		index = keymap__add(&s->stack_keys, id, 0, &is_new);
	}
	if (index == KEYMAP_NONE || s->sequence_cnt > UINT32_MAX)
		s->err = -ENOMEM;
	else if (is_new)
		stacks[index] =
			(struct stack_span){ (uint32_t)begin, (uint32_t)(s->sequence_cnt - begin) };
	if (!is_new)
		s->sequence_cnt = begin;
	s->pending = s->sequence_cnt;
}

const uint32_t *stackset__find(const struct stackset *s, uint64_t id, size_t *cnt)
{
	uint32_t index = keymap__find(&s->stack_keys, id, 0);

	*cnt = index == KEYMAP_NONE ? 0 : s->stacks[index].cnt;
	return *cnt ? &s->sequence[s->stacks[index].begin] : NULL;
}

size_t stackset__cnt(const struct stackset *s)
{
	return s->stack_keys.cnt;
}

struct binaries *stackset__binaries(const struct stackset *s)
{
	return s->binaries;
}

const struct model_frame *stackset__frame_at(const struct stackset *s, uint32_t index)
{
	return &s->frames[index];
}

const struct function *stackset__function(const struct stackset *s, uint32_t index)
{
	return &s->functions[index];
}

size_t stackset__function_cnt(const struct stackset *s)
{
	return s->function_keys.cnt;
}

struct frame_text stackset__text(const struct stackset *s, uint32_t id)
{
	struct frame_text text;

	text.s = strtab__str(s->strings, id, &text.sz);
	return text;
}

int stackset__err(const struct stackset *s)
{
	return s->err;
}
