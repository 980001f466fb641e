// SPDX-License-Identifier: GPL-2.0-or-later
#include "pprof/builder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/strtab.h"
#include "pprof/builder_private.h"
#include "base/utf8.h"

static uint32_t builder_intern(struct builder *b, const char *s, size_t sz)
{
	uint32_t id;

	if (!sz)
		return 0;
	buf__reset(&b->scratch);
	utf8__sanitize(&b->scratch, s, sz);
	id = buf__err(&b->scratch) ? 0 : strtab__id(b->strings, b->scratch.data, b->scratch.sz);
	if (!id)
		b->err = -ENOMEM;
	return id;
}

static uint32_t builder_intern_str(struct builder *b, const char *s)
{
	return builder_intern(b, s ? s : "", s ? strlen(s) : 0);
}

static const char *const byte_names[] = { "amount", "growth", "bandwidth", "bytes" };
static const char *const time_names[] = { "duration", "time", "_ns" };

static bool builder_ends_with_any(const char *s, size_t sz, const char *const *ends, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		size_t end = strlen(ends[i]);

		if (sz >= end && strncasecmp(s + sz - end, ends[i], end) == 0)
			return true;
	}
	return false;
}

const char *builder__unit(const char *name)
{
	size_t sz = strlen(name);

	while (sz && name[sz - 1] == ')') /* sum(duration) */
		sz--;
	if (builder_ends_with_any(name, sz, time_names, sizeof(time_names) / sizeof(time_names[0])))
		return "nanoseconds";
	if (builder_ends_with_any(name, sz, byte_names, sizeof(byte_names) / sizeof(byte_names[0])))
		return "bytes";
	return "count";
}

struct builder *builder__new(const struct builder_options *options)
{
	struct builder *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->options = *options;
	b->strings = strtab__new();
	if (!b->strings) {
		builder__free(b);
		return NULL;
	}
	for (size_t i = 0; i < BUILDER_VALUE_CNT; i++) {
		b->types[i] = builder_intern_str(b, options->value_names[i]);
		b->units[i] = builder_intern_str(b, builder__unit(options->value_names[i]));
	}
	return b;
}

static void location__free(struct location_entry *l)
{
	if (l->pb.line)
		free(l->pb.line[0]);
	free(l->pb.line);
	free(l);
}

void builder__free(struct builder *b)
{
	struct mapping_entry *m, *m_next;
	struct function_entry *f, *f_next;
	struct location_entry *l, *l_next;
	struct sample_entry *s, *s_next;

	if (!b)
		return;
	HASH_ITER (hh, b->mappings, m, m_next) {
		HASH_DEL(b->mappings, m);
		free(m);
	}
	HASH_ITER (hh, b->functions, f, f_next) {
		HASH_DEL(b->functions, f);
		free(f);
	}
	HASH_ITER (hh, b->locations, l, l_next) {
		HASH_DEL(b->locations, l);
		location__free(l);
	}
	HASH_ITER (hh, b->samples, s, s_next) {
		HASH_DEL(b->samples, s);
		free(s);
	}
	builder__free_kept(b);
	strtab__free(b->strings);
	buf__free(&b->scratch);
	buf__free(&b->stack);
	buf__free(&b->lines);
	buf__free(&b->comments);
	free(b);
}

/* Python's `<module>` and Ruby's `block in <main>`: pprof would take what is in the brackets for
 * template arguments of C++, and remove it, unless there is no system name. */
static bool builder_is_bracketed(const char *name)
{
	return *name == '<' || strstr(name, " in <");
}

static uint64_t builder_function_id(struct builder *b, uint32_t name, uint32_t file)
{
	struct function_key key = { name, file };
	struct function_entry *f;

	HASH_FIND(hh, b->functions, &key, sizeof(key), f);
	if (f)
		return f->pb.id;
	f = calloc(1, sizeof(*f));
	if (!f)
		goto nomem;
	f->key = key;
	perftools__profiles__function__init(&f->pb);
	f->pb.id = HASH_COUNT(b->functions) + 1;
	f->pb.name = name;
	f->pb.system_name = builder_is_bracketed(strtab__str(b->strings, name, NULL)) ? 0 : name;
	f->pb.filename = file;
	HASH_ADD(hh, b->functions, key, sizeof(f->key), f);
	if (HASH_ADDED(f))
		return f->pb.id;
	free(f);
nomem:
	b->err = -ENOMEM;
	return 0;
}

/* Sets has_functions: the builder names every location, so pprof need not symbolize. */
static void mapping__init(struct builder *b, struct mapping_entry *m)
{
	const char *module = strtab__str(b->strings, m->key.module, NULL);
	const char *build_id = strtab__str(b->strings, m->key.build_id, NULL);

	perftools__profiles__mapping__init(&m->pb);
	m->pb.id = HASH_COUNT(b->mappings) + 1;
	m->pb.filename = m->key.module;
	m->pb.build_id = m->key.build_id;
	m->pb.has_functions = true;
	m->low = UINT64_MAX;
	m->lines = binaries__lines(b->options.binaries, module, build_id);
	m->pb.has_filenames = m->pb.has_line_numbers = m->lines != NULL;
	m->pb.has_inline_frames = m->lines && b->options.inlines;
}

static struct mapping_entry *mapping__get(struct builder *b, const struct mapping_key *key)
{
	struct mapping_entry *m;

	HASH_FIND(hh, b->mappings, key, sizeof(*key), m);
	if (m)
		return m;
	m = calloc(1, sizeof(*m));
	if (!m)
		goto nomem;
	m->key = *key;
	mapping__init(b, m);
	HASH_ADD(hh, b->mappings, key, sizeof(m->key), m);
	if (HASH_ADDED(m))
		return m;
	free(m);
nomem:
	b->err = -ENOMEM;
	return NULL;
}

void builder__add_program(struct builder *b)
{
	const struct mapping_key key = { .module = builder_intern_str(b, b->options.program) };

	if (key.module)
		mapping__get(b, &key);
}

/* A source line of a function that does not have its final name yet. */
struct found_line {
	uint32_t name, file;
	int line, column;
};

static void builder_add_line(const struct line *line, void *arg)
{
	struct builder *b = arg;
	struct found_line found = { .line = line->line, .column = line->column };

	found.name = builder_intern_str(b, line->function);
	found.file = builder_intern_str(b, line->file);
	buf__append(&b->lines, &found, sizeof(found));
}

/* Returns the name in the recording, else the name from the debug lines, else module+0xaddress. */
static uint32_t builder_frame_name(struct builder *b, const struct named_frame *f,
				   uint32_t from_lines)
{
	struct buf name = { 0 };
	uint32_t id;

	if (!f->name.sz && from_lines)
		return from_lines;
	b->unnamed += !f->name.sz;
	named_frame__append(&name, f);
	id = buf__err(&name) ? 0 : builder_intern(b, (const char *)name.data, name.sz);
	buf__free(&name);
	return id;
}

/* Appends the offset of the frame to the name if options.offsets is set. All lines of a location
 * get the same offset. */
static uint32_t builder_append_offset(struct builder *b, uint32_t name, uint64_t offset)
{
	struct buf text = { 0 };
	char suffix[32];
	const char *s;
	size_t sz;
	uint32_t id;

	if (!b->options.offsets)
		return name;
	s = strtab__str(b->strings, name, &sz);
	snprintf(suffix, sizeof(suffix), "-%" PRIx64, offset);
	buf__append(&text, s, sz);
	buf__append(&text, suffix, strlen(suffix));
	id = buf__err(&text) ? 0 : builder_intern(b, (const char *)text.data, text.sz);
	buf__free(&text);
	return id;
}

/* Sets the lines of the location from b->lines. Returns 0 or -ENOMEM. */
static int location__set_lines(struct builder *b, struct location_entry *l, uint64_t offset)
{
	const struct found_line *found = (const struct found_line *)b->lines.data;
	size_t cnt = b->lines.sz / sizeof(*found);
	Perftools__Profiles__Line *lines = calloc(cnt, sizeof(*lines));

	l->pb.line = calloc(cnt, sizeof(*l->pb.line));
	if (!lines || !l->pb.line || buf__err(&b->lines)) {
		free(lines);
		free(l->pb.line);
		l->pb.line = NULL;
		return -ENOMEM;
	}
	for (size_t i = 0; i < cnt; i++) {
		perftools__profiles__line__init(&lines[i]);
		lines[i].function_id = builder_function_id(
			b, builder_append_offset(b, found[i].name, offset), found[i].file);
		lines[i].line = found[i].line;
		lines[i].column = found[i].column;
		l->pb.line[i] = &lines[i];
	}
	l->pb.n_line = cnt;
	return 0;
}

/* Adds the line that the recording has. */
static void builder_add_own_line(struct builder *b, struct mapping_entry *m,
				 const struct named_frame *f)
{
	struct found_line own = { .line = f->line };

	own.file = f->file.sz ? builder_intern(b, f->file.s, f->file.sz)
			      : builder_intern(b, f->module.s, f->module.sz);
	m->pb.has_filenames = m->pb.has_line_numbers = true;
	buf__append(&b->lines, &own, sizeof(own));
}

/* Looks up the lines and names the last one, which is the physical function. Returns 0 or
 * -ENOMEM. */
static int location__symbolize(struct builder *b, struct location_entry *l, struct mapping_entry *m,
			       const struct named_frame *f)
{
	struct found_line *last, none = { 0 };
	struct named_frame located = *f;

	binaries__locate(b->options.binaries, &located);
	buf__reset(&b->lines);
	if (f->line)
		builder_add_own_line(b, m, f);
	else if (m->lines)
		lines__at(m->lines,
			  (struct line_query){ f->address + f->offset, b->options.inlines },
			  builder_add_line, b);
	if (!b->lines.sz)
		buf__append(&b->lines, &none, sizeof(none));
	if (buf__err(&b->lines))
		return -ENOMEM;
	last = (struct found_line *)(b->lines.data + b->lines.sz) - 1;
	last->name = builder_frame_name(b, &located, last->name);
	return location__set_lines(b, l, located.offset);
}

static struct location_entry *location__new(struct builder *b, const struct location_key *key,
					    struct mapping_entry *m, const struct named_frame *f)
{
	struct location_entry *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->key = *key;
	perftools__profiles__location__init(&l->pb);
	l->pb.id = HASH_COUNT(b->locations) + 1;
	l->pb.mapping_id = m->pb.id;
	l->pb.address = key->place;
	if (location__symbolize(b, l, m, f) == 0) {
		HASH_ADD(hh, b->locations, key, sizeof(l->key), l);
		if (HASH_ADDED(l))
			return l;
	}
	location__free(l);
	return NULL;
}

static uint64_t builder_location_id(struct builder *b, const struct named_frame *f)
{
	uint64_t place = f->address + f->offset;
	struct mapping_key map_key = { .module = builder_intern(b, f->module.s, f->module.sz),
				       .build_id = builder_intern(b, f->build_id.s, f->build_id.sz),
				       .has_bias = f->has_file_offset,
				       .bias = f->has_file_offset ? place - f->file_offset : 0 };
	struct location_key key = { .place = place, .offset = f->offset, .line = f->line };
	struct mapping_entry *m = mapping__get(b, &map_key);
	struct location_entry *l;

	if (!m)
		return 0;
	key.mapping = (uint32_t)m->pb.id;
	key.name = builder_intern(b, f->name.s, f->name.sz);
	m->low = place < m->low ? place : m->low;
	m->high = place > m->high ? place : m->high;
	HASH_FIND(hh, b->locations, &key, sizeof(key), l);
	if (!l)
		l = location__new(b, &key, m, f);
	if (!l)
		b->err = -ENOMEM;
	return l ? l->pb.id : 0;
}

void builder__frame(struct builder *b, const struct named_frame *f)
{
	uint64_t id = b->err ? 0 : builder_location_id(b, f);

	buf__append(&b->stack, &id, sizeof(id));
}

/* Adds the location of samples without a stack. It has a name but no address. */
static void builder_add_no_stack(struct builder *b)
{
	static const char name[] = "[no stack]";
	struct named_frame f = { .name = { name, sizeof(name) - 1 },
				 .module = { name, sizeof(name) - 1 } };

	builder__frame(b, &f);
}

#define BASE_MARK 0 /* ends the key of a sample of the base; no location has this id */

static void sample__set_base(struct builder *b, struct sample_entry *s)
{
	s->pb.n_location_id--;
	s->pb.label = b->base_labels;
	s->pb.n_label = 1;
}

static struct sample_entry *sample__get(struct builder *b)
{
	struct sample_entry *s;

	HASH_FIND(hh, b->samples, b->stack.data, b->stack.sz, s);
	if (s)
		return s;
	s = calloc(1, sizeof(*s) + b->stack.sz);
	if (!s)
		return NULL;
	perftools__profiles__sample__init(&s->pb);
	memcpy(s->location_ids, b->stack.data, b->stack.sz);
	s->pb.location_id = s->location_ids;
	s->pb.n_location_id = b->stack.sz / sizeof(uint64_t);
	s->pb.value = s->values;
	s->pb.n_value = BUILDER_VALUE_CNT;
	if (b->of_base)
		sample__set_base(b, s);
	HASH_ADD_KEYPTR(hh, b->samples, s->location_ids, b->stack.sz, s);
	if (HASH_ADDED(s))
		return s;
	free(s);
	return NULL;
}

static int64_t builder_add_saturated(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

void builder__sample(struct builder *b, const int64_t values[BUILDER_VALUE_CNT])
{
	struct sample_entry *s = NULL;

	if (b->stack.sz)
		b->stacks = true;
	else
		builder_add_no_stack(b);
	if (b->of_base)
		buf__append(&b->stack, &(uint64_t){ BASE_MARK }, sizeof(uint64_t));
	if (!b->err && !buf__err(&b->stack))
		s = sample__get(b);
	if (!s)
		b->err = -ENOMEM;
	for (size_t i = 0; s && i < BUILDER_VALUE_CNT; i++)
		s->values[i] = builder_add_saturated(s->values[i], values[i]);
	buf__reset(&b->stack);
}

void builder__of_base(struct builder *b, bool of_base)
{
	b->of_base = of_base;
	perftools__profiles__label__init(&b->base_label);
	b->base_label.key = builder_intern_str(b, "pprof::base");
	b->base_label.str = builder_intern_str(b, "true");
	b->base_labels[0] = &b->base_label;
}

void builder__set_time(struct builder *b, int64_t start_ns, int64_t wall_ns, int64_t period_ns)
{
	b->start_ns = start_ns;
	b->wall_ns = wall_ns;
	b->period_ns = period_ns;
	b->period_type = builder_intern_str(b, "cpu");
	b->period_unit = builder_intern_str(b, "nanoseconds");
}

void builder__comment(struct builder *b, const char *text)
{
	int64_t id = builder_intern_str(b, text);

	buf__append(&b->comments, &id, sizeof(id));
}

void builder__stats(const struct builder *b, struct builder_stats *stats)
{
	stats->samples = HASH_COUNT(b->samples);
	stats->locations = HASH_COUNT(b->locations);
	stats->unnamed = b->unnamed;
	stats->stacks = b->stacks;
}
