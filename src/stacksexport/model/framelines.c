// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/model/framelines.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"

/* The frame that is being looked up. */
struct framelines_search {
	struct framelines *lines;
	struct stackset *stacks;
	struct function own; /* of the frame */
	bool failed;
};

void framelines__free(struct framelines *l)
{
	keymap__free(&l->known);
	free(l->spans);
	free(l->functions);
	*l = (struct framelines){ 0 };
}

static void framelines_search_append(struct framelines_search *f, uint32_t function)
{
	struct framelines *l = f->lines;
	uint32_t *functions =
		array__room(l->functions, l->function_cnt, &l->function_cap, sizeof(*functions));

	if (functions)
		l->functions = functions;
	if (functions && function != KEYMAP_NONE)
		functions[l->function_cnt++] = function;
	else
		f->failed = true;
}

static void framelines_append_place(struct buf *text, const struct line *line)
{
	const char *slash = line->file ? strrchr(line->file, '/') : NULL;

	if (line->file)
		buf__printf(text, " %s:%d", slash ? slash + 1 : line->file, line->line);
}

static void framelines_search_take(const struct line *line, void *arg)
{
	struct framelines_search *f = arg;
	struct frame_text own = stackset__text(f->stacks, f->own.name), name = { 0 };
	struct frame_text module = stackset__text(f->stacks, f->own.module);
	struct buf text = { 0 };

	if (line->function)
		buf__str(&text, line->function);
	else
		buf__append(&text, own.s, own.sz);
	framelines_append_place(&text, line);
	name = (struct frame_text){ (const char *)text.data, text.sz };
	if (buf__err(&text))
		f->failed = true;
	else
		framelines_search_append(
			f, stackset__add_function(f->stacks, name, module, f->own.kind));
	buf__free(&text);
}

static void framelines_search_run(struct framelines_search *f, uint32_t frame)
{
	const struct model_frame *at = stackset__frame_at(f->stacks, frame);
	struct line_query query = { at->address + at->offset, true };
	const char *path = stackset__text(f->stacks, at->path).s;
	const struct line own = { .file = at->file ? stackset__text(f->stacks, at->file).s : path,
				  .line = at->line };
	struct lines *lines;
	uint32_t function = at->function;

	if (at->line) {
		framelines_search_take(&own, f);
		return;
	}
	lines = binaries__lines(stackset__binaries(f->stacks), path,
				stackset__text(f->stacks, at->build_id).s);
	if (!lines || lines__at(lines, query, framelines_search_take, f) != 0)
		framelines_search_append(f, function);
}

const uint32_t *framelines__of(struct framelines *l, struct stackset *s, uint32_t frame,
			       size_t *cnt)
{
	struct frameline_span *spans =
		array__room(l->spans, l->known.cnt, &l->span_cap, sizeof(*spans));
	bool is_new = false;
	uint32_t index = KEYMAP_NONE;

	*cnt = 0;
	if (spans) {
		l->spans = spans;
		index = keymap__add(&l->known, frame, 0, &is_new);
	}
	if (index == KEYMAP_NONE)
		return NULL;
	if (is_new) {
		struct framelines_search f = { .lines = l, .stacks = s };

		f.own = *stackset__function(s, stackset__frame_at(s, frame)->function);
		spans[index] = (struct frameline_span){ (uint32_t)l->function_cnt, 0 };
		framelines_search_run(&f, frame);
		spans[index].cnt = (uint32_t)l->function_cnt - spans[index].begin;
	}
	*cnt = spans[index].cnt;
	return *cnt ? &l->functions[spans[index].begin] : NULL;
}
