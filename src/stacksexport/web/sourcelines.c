// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers api/source: the lines or instructions of one function, with their cost. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "stacksexport/web/answers.h"
#include "stacksexport/web/disassembly.h"
#include "stacksexport/web/jsonout.h"
#include "stacksexport/web/placecosts.h"

#define SOURCE_MAX   (8u << 20) /* bytes of a source file */
#define CONTEXT	     15		/* lines before the first and after the last with a cost */
#define FUNCTION_MAX 65536	/* bytes of instructions */
#define LAST_INSN    16		/* bytes of the longest instruction */

/* A line with its cost. Leaves out costs of places without a line. */
struct source_line {
	int number;
	int64_t self, total;
};

struct source_view {
	struct place_costs costs;
	char *file; /* with most of the cost; NULL: unknown */
	struct source_line *lines;
	size_t line_cnt, line_cap;
	struct frame_text path, build_id;
	int64_t recorded_ns; /* when the recording begins, unix time */
};

/* ---- lines ---------------------------------------------------------------------------------- */

struct sourcelines_line {
	char *file;
	int number;
};

static void sourcelines_take_line(const struct line *line, void *arg)
{
	struct sourcelines_line *found = arg;

	if (line->file && !found->file) {
		found->file = strdup(line->file);
		found->number = line->line;
	}
}

static struct source_line *sourcelines_line_at(struct source_view *s, int number)
{
	struct source_line *lines;

	for (size_t i = 0; i < s->line_cnt; i++)
		if (s->lines[i].number == number)
			return &s->lines[i];
	lines = array__room(s->lines, s->line_cnt, &s->line_cap, sizeof(*lines));
	if (!lines)
		return NULL;
	s->lines = lines;
	lines[s->line_cnt] = (struct source_line){ .number = number };
	return &lines[s->line_cnt++];
}

/* Prefers the line of the recording: interpreted functions and those of Go have one. */
static struct sourcelines_line line_of(const struct place_cost *cost, const struct stackset *stacks,
				       struct lines *lines)
{
	struct sourcelines_line found = { .number = cost->line };

	if (cost->line)
		found.file = strdup(stackset__text(stacks, cost->file).s);
	else if (lines)
		lines__at(lines, (struct line_query){ cost->place, false }, sourcelines_take_line,
			  &found);
	return found;
}

/* Uses the file of the first place: except for inlined code, a function is in one file. */
static void sourcelines_add_place(struct source_view *s, struct sourcelines_line found,
				  const struct place_cost *cost)
{
	struct source_line *line = NULL;

	if (found.file && !s->file) {
		s->file = found.file;
		found.file = NULL;
		line = sourcelines_line_at(s, found.number);
	} else if (found.file && strcmp(found.file, s->file) == 0) {
		line = sourcelines_line_at(s, found.number);
	}
	free(found.file);
	if (line) {
		line->self = trie__add(line->self, cost->self);
		line->total = trie__add(line->total, cost->total);
	}
}

static int sourcelines_compare_lines(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void sourcelines_find_lines(struct source_view *s, struct model *m)
{
	struct lines *lines = binaries__lines(m->binaries, s->path.s, s->build_id.s);

	for (uint32_t i = 0; i < s->costs.places.cnt; i++) {
		const struct place_cost *cost = &s->costs.costs[i];

		sourcelines_add_place(s, line_of(cost, m->stacks, lines), cost);
	}
	if (s->line_cnt)
		qsort(s->lines, s->line_cnt, sizeof(*s->lines), sourcelines_compare_lines);
}

/* A file as it is now. */
struct source_text {
	char *s; /* NULL: it cannot be read */
	size_t sz;
	int64_t changed_ns; /* unix time */
};

/* Reads only regular files of a bounded size, because a debug file may name any path. */
static struct source_text sourcelines_read_source(const char *path)
{
	int fd = path && path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
					: -1;
	struct source_text text = { 0 };
	struct stat st;
	ssize_t got = -1;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= SOURCE_MAX)
		text.s = malloc((size_t)st.st_size + 1);
	if (text.s) {
		got = read(fd, text.s, (size_t)st.st_size);
		text.changed_ns = st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	}
	if (fd >= 0)
		close(fd);
	if (got < 0) {
		free(text.s);
		return (struct source_text){ 0 };
	}
	text.sz = (size_t)got;
	return text;
}

/* Appends one line of the answer; `name` is its number, or its offset in the function. */
struct shown_line {
	const char *name;
	struct frame_text text;
	int64_t self, total;
};

static void sourcelines_show_line(const struct shown_line *l, struct buf *out)
{
	json_out__open(out, '{');
	json_out__key_text(out, "n", l->name);
	json_out__key(out, "text");
	json_out__text(out, l->text.s, l->text.sz);
	json_out__key_int(out, "self", l->self);
	json_out__key_int(out, "total", l->total);
	json_out__close(out, '}');
}

static void sourcelines_show_numbered(const struct source_view *s, int number,
				      struct frame_text text, struct buf *out)
{
	char name[16];
	struct shown_line line = { .name = name, .text = text };

	for (size_t i = 0; i < s->line_cnt; i++)
		if (s->lines[i].number == number) {
			line.self = s->lines[i].self;
			line.total = s->lines[i].total;
		}
	snprintf(name, sizeof(name), "%d", number);
	sourcelines_show_line(&line, out);
}

static void sourcelines_show_lines(const struct source_view *s, const struct source_text *text,
				   struct buf *out)
{
	int first = s->lines[0].number - CONTEXT, number = 1;
	int last = s->lines[s->line_cnt - 1].number + CONTEXT;
	const char *at = text->s, *end = at + text->sz;

	json_out__key(out, "lines");
	json_out__open(out, '[');
	for (; at < end && number <= last; number++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t line_sz = newline ? (size_t)(newline - at) : (size_t)(end - at);

		if (number >= first)
			sourcelines_show_numbered(s, number, (struct frame_text){ at, line_sz },
						  out);
		at += line_sz + 1;
	}
	json_out__close(out, ']');
}

static void sourcelines_show_source(const struct source_view *s, const struct source_text *text,
				    struct buf *out)
{
	json_out__key_text(out, "kind", "source");
	json_out__key_text(out, "file", s->file);
	json_out__key_text(out, "note",
			   text->changed_ns < s->recorded_ns
				   ? NULL
				   : "changed after the recording began: lines may not match");
	sourcelines_show_lines(s, text, out);
}

/* ---- instructions --------------------------------------------------------------------------- */

/* Sums up the costs of the places in [begin, end): the place of a caller is inside its call. */
static void sourcelines_add_costs(const struct source_view *s, uint64_t begin, uint64_t end,
				  struct shown_line *line)
{
	for (uint32_t i = 0; i < s->costs.places.cnt; i++) {
		const struct place_cost *c = &s->costs.costs[i];

		if (c->place < begin || c->place >= end)
			continue;
		line->self = trie__add(line->self, c->self);
		line->total = trie__add(line->total, c->total);
	}
}

static void sourcelines_show_instructions(const struct source_view *s, const struct buf *text,
					  struct buf *out)
{
	const char *at = (const char *)text->data, *end = at + text->sz;
	struct instruction now, next;
	bool more = instruction__next(&now, &at, end);

	json_out__key(out, "lines");
	json_out__open(out, '[');
	while (more) {
		char name[32];
		struct shown_line line = { name, { now.text, now.sz }, 0, 0 };

		more = instruction__next(&next, &at, end);
		snprintf(name, sizeof(name), "+0x%" PRIx64, now.address - s->costs.start);
		sourcelines_add_costs(s, now.address, more ? next.address : now.address + LAST_INSN,
				      &line);
		sourcelines_show_line(&line, out);
		now = next;
	}
	json_out__close(out, ']');
}

/* Disassembles from the start of the function to its last place that is on a stack. */
static struct disassembly_range sourcelines_range_of(const struct source_view *s)
{
	struct disassembly_range r = { s->path.s, s->costs.start, s->costs.start + 1 };

	for (uint32_t i = 0; i < s->costs.places.cnt; i++)
		if (s->costs.costs[i].place >= r.end)
			r.end = s->costs.costs[i].place + 1;
	r.end += 4 * LAST_INSN;
	if (r.end - r.start > FUNCTION_MAX)
		r.end = r.start + FUNCTION_MAX;
	return r;
}

static bool sourcelines_is_same_file(const struct source_view *s)
{
	char build_id[BUILD_ID_HEX_SZ];

	return s->path.sz && s->path.s[0] == '/' && s->build_id.sz &&
	       binary__build_id(s->path.s, build_id) == 0 && strcmp(build_id, s->build_id.s) == 0;
}

static void sourcelines_show_none(const char *note, struct buf *out)
{
	json_out__key_text(out, "kind", "none");
	json_out__key_text(out, "file", NULL);
	json_out__key_text(out, "note", note);
	json_out__key(out, "lines");
	json_out__open(out, '[');
	json_out__close(out, ']');
}

static void sourcelines_show_disassembly(const struct source_view *s, struct buf *out)
{
	struct disassembly_range range = sourcelines_range_of(s);
	struct buf text = { 0 };
	int err = sourcelines_is_same_file(s) ? disassembly__read(&range, &text) : -ESTALE;

	if (err == -ESTALE) {
		sourcelines_show_none("The file of this function is not on this machine.", out);
	} else if (err || !text.sz) {
		sourcelines_show_none(err == -ENOENT
					      ? "objdump is not installed (package binutils)."
					      : "objdump cannot read the file.",
				      out);
	} else {
		json_out__key_text(out, "kind", "disassembly");
		json_out__key_text(out, "file", s->path.s);
		json_out__key_text(out, "note",
				   s->file ? "the source file is not on this machine"
					   : "there is no debug information");
		sourcelines_show_instructions(s, &text, out);
	}
	buf__free(&text);
}

/* ---- the request ---------------------------------------------------------------------------- */

/* Must hold the lock: files are looked up in the model. */
static int source_find(struct source_view *s, struct web_request *r, struct metric_rows *rows)
{
	struct model *m = &r->view->model;
	const char *name = query_params__find(&r->params, "name");
	const char *module = query_params__find(&r->params, "module");
	uint32_t function = stackset__find_function(
		m->stacks, (struct frame_text){ name, name ? strlen(name) : 0 },
		(struct frame_text){ module, module ? strlen(module) : 0 });
	int err = place_costs__sum(&s->costs, m, function, rows);

	if (err || !s->costs.places.cnt)
		return err;
	s->path = stackset__text(m->stacks, s->costs.path);
	s->build_id = stackset__text(m->stacks, s->costs.build_id);
	sourcelines_find_lines(s, m);
	return 0;
}

static void source_show(const struct source_view *s, struct buf *out)
{
	struct source_text text = sourcelines_read_source(s->line_cnt ? s->file : NULL);

	json_out__open(out, '{');
	if (!s->costs.places.cnt)
		sourcelines_show_none("No stack of the selection has this function.", out);
	else if (text.s)
		sourcelines_show_source(s, &text, out);
	else
		sourcelines_show_disassembly(s, out);
	json_out__close(out, '}');
	free(text.s);
}

int source__answer(struct web_request *r, struct answer *a)
{
	const struct metric *m = metric__of(r, a);
	struct metric_rows rows = { 0 };
	struct source_view s = { .recorded_ns = r->source->begins_ns - r->source->after_ns };
	int err;

	query_params__set(&r->params, "root", "");
	err = m ? metric__read(r, m, &rows, a) : -EINVAL;
	if (!err)
		err = view__await_stacks(r, a);
	if (!err) {
		pthread_mutex_lock(&r->view->model.lock);
		err = source_find(&s, r, &rows);
		pthread_mutex_unlock(&r->view->model.lock);
	}
	if (!err)
		source_show(&s, &a->json);
	place_costs__free(&s.costs);
	free(s.lines);
	free(s.file);
	metric_rows__free(&rows);
	return err;
}
