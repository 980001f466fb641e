// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/svg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "stacksexport/web/metricsums.h"

#define WIDTH	    1200.0
#define MARGIN	    10.0
#define ROW_HEIGHT  17.0
#define HEAD	    36.0
#define CHAR_WIDTH  6.6 /* of the font, at 11 pixels */
#define LEAST	    0.3 /* narrower frames are not drawn */
#define NAME_MAX_SZ 1000

/* One picture, with the position of each kept node. */
struct svg {
	const struct flame *flame;
	const struct metric_shape *shape;
	double *left, *next; /* next: where its next child begins */
	unsigned *depth, depth_max;
	struct buf *out;
};

/* By enum frame_kind; the same colours as on the page. */
static const char *const kind_colors[] = { "#f0a35e", "#e06c5f", "#8fbf6a",
					   "#b8bcc4", "#6fa8dc", "#f2c46d" };

/* Appends text escaped for XML, without characters that XML cannot contain. */
static void svg_text(struct buf *out, const char *s, size_t sz)
{
	struct buf clean = { 0 };

	utf8__sanitize_printable(&clean, s, sz);
	for (size_t i = 0; i < clean.sz; i++) {
		char c = (char)clean.data[i];

		if (c == '&')
			buf__str(out, "&amp;");
		else if (c == '<')
			buf__str(out, "&lt;");
		else if (c == '>')
			buf__str(out, "&gt;");
		else
			buf__u8(out, (uint8_t)c);
	}
	buf__free(&clean);
}

static struct frame_text svg_name_of(const struct svg *s, uint32_t node, enum frame_kind *kind)
{
	static const struct frame_text all = { "all", 3 };
	const struct function *f;
	struct frame_text name;

	*kind = FRAME_LABEL;
	if (node == TRIE_ROOT)
		return all;
	f = stackset__function(s->shape->model->stacks, trie__function(s->flame->trie, node));
	name = stackset__text(s->shape->model->stacks, f->name);
	*kind = f->kind;
	if (name.sz > NAME_MAX_SZ)
		name.sz = NAME_MAX_SZ;
	return name;
}

static double svg_width_of(const struct svg *s, uint32_t node)
{
	double all = (double)s->flame->total[TRIE_ROOT];

	return all > 0 ? (WIDTH - 2 * MARGIN) * (double)s->flame->total[node] / all : 0;
}

/* Callers come first. */
static void svg_place(struct svg *s, uint32_t i)
{
	uint32_t node = s->flame->kept[i];

	s->left[i] = MARGIN;
	if (node != TRIE_ROOT) {
		uint32_t parent = s->flame->place[trie__parent(s->flame->trie, node)];

		s->left[i] = s->next[parent];
		s->next[parent] += svg_width_of(s, node);
		s->depth[i] = s->depth[parent] + 1;
	}
	s->next[i] = s->left[i];
	if (s->depth[i] > s->depth_max && svg_width_of(s, node) >= LEAST)
		s->depth_max = s->depth[i];
}

/* Appends as much of the name as fits. */
static void svg_label(const struct svg *s, uint32_t i, struct frame_text name, double y)
{
	struct buf clean = { 0 };
	size_t room = (size_t)((svg_width_of(s, s->flame->kept[i]) - 4) / CHAR_WIDTH);

	utf8__sanitize_printable(&clean, name.s, name.sz);
	if (room >= 3 && !buf__err(&clean) && clean.sz) {
		bool cut = utf8__cnt((const char *)clean.data, clean.sz) > room;
		size_t sz =
			cut ? utf8__prefix((const char *)clean.data, clean.sz, room - 1) : clean.sz;

		buf__printf(s->out, "<text x=\"%.1f\" y=\"%.1f\">", s->left[i] + 3, y + 12.5);
		svg_text(s->out, (const char *)clean.data, sz);
		buf__str(s->out, cut ? "…</text>" : "</text>");
	}
	buf__free(&clean);
}

static void svg_frame(const struct svg *s, uint32_t i)
{
	uint32_t node = s->flame->kept[i];
	double width = svg_width_of(s, node), all = (double)s->flame->total[TRIE_ROOT];
	double y = HEAD + ROW_HEIGHT * (s->depth_max - s->depth[i]);
	enum frame_kind kind;
	struct frame_text name = svg_name_of(s, node, &kind);

	if (width < LEAST)
		return;
	buf__str(s->out, "<g><title>");
	svg_text(s->out, name.s, name.sz);
	buf__printf(s->out, " (%" PRId64 " %s, %.2f %%)</title>", s->flame->total[node],
		    s->shape->metric->unit, 100 * (double)s->flame->total[node] / all);
	buf__printf(s->out,
		    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>",
		    s->left[i], y, width, ROW_HEIGHT - 1, kind_colors[kind]);
	svg_label(s, i, name, y);
	buf__str(s->out, "</g>\n");
}

static void svg_draw(struct svg *s)
{
	double height;

	for (uint32_t i = 0; i < s->flame->kept_cnt; i++)
		svg_place(s, i);
	height = HEAD + ROW_HEIGHT * (s->depth_max + 1) + MARGIN;
	buf__printf(s->out,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		    "viewBox=\"0 0 %.0f %.0f\" font-family=\"monospace\" font-size=\"11\">\n"
		    "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		    "<text x=\"%.0f\" y=\"22\" font-size=\"14\">%s</text>\n",
		    WIDTH, height, WIDTH, height, MARGIN, s->shape->metric->label);
	for (uint32_t i = 0; i < s->flame->kept_cnt && s->flame->total[TRIE_ROOT] > 0; i++)
		svg_frame(s, i);
	buf__str(s->out, "</svg>\n");
}

int svg__show(const struct flame *f, const struct metric_shape *shape, struct buf *out)
{
	struct svg s = { .flame = f, .shape = shape, .out = out };
	int err = -ENOMEM;

	s.left = calloc(f->kept_cnt, sizeof(*s.left));
	s.next = calloc(f->kept_cnt, sizeof(*s.next));
	s.depth = calloc(f->kept_cnt, sizeof(*s.depth));
	if (s.left && s.next && s.depth) {
		svg_draw(&s);
		err = buf__err(out);
	}
	free(s.left);
	free(s.next);
	free(s.depth);
	return err;
}
