// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/strtab.h"
#include "pprof/builder_private.h"

#define PROFILE_SZ_MAX INT32_MAX /* the largest message of protobuf */
#define PAGE_SZ	       4096

/* Returns an array of pointers to the messages of the entries, in order, for the caller to free. If
 * out of memory, returns NULL and sets b->err. */
#define COLLECT(b, entries, type, cnt)                                                 \
	({                                                                             \
		__typeof__((b)->entries) e_, next_;                                    \
		type **array_ = calloc(HASH_COUNT((b)->entries) + 1, sizeof(*array_)); \
		size_t i_ = 0;                                                         \
		if (!array_)                                                           \
			(b)->err = -ENOMEM;                                            \
		HASH_ITER (hh, (b)->entries, e_, next_) {                              \
			if (array_)                                                    \
				array_[i_++] = &e_->pb;                                \
		}                                                                      \
		*(cnt) = i_;                                                           \
		array_;                                                                \
	})

/* Sets the range of each mapping to the sampled addresses, rounded to whole pages. */
static void builder_set_ranges(struct builder *b)
{
	struct mapping_entry *m, *next;

	HASH_ITER (hh, b->mappings, m, next) {
		uint64_t start = m->low & ~(uint64_t)(PAGE_SZ - 1);
		uint64_t limit = (m->high | (PAGE_SZ - 1)) + 1;

		if (m->low > m->high) /* in no stack */
			continue;
		m->pb.memory_start = start;
		m->pb.memory_limit = limit ? limit : UINT64_MAX;
		m->pb.file_offset =
			m->key.has_bias && start >= m->key.bias ? start - m->key.bias : 0;
	}
}

enum origin_kind { ORIGIN_NO_FILE, ORIGIN_LIBRARY, ORIGIN_PROGRAM }; /* rising in rank */

/* [jit], [vdso] and [kernel] are no files. Frames of a script or a class have the address 0. */
static enum origin_kind origin_kind(const struct builder *b, const struct mapping_entry *m)
{
	const char *module = strtab__str(b->strings, m->key.module, NULL);
	const char *so = strstr(module, ".so");
	bool is_script = m->low == 0 && m->high == 0;

	if (!module[0] || module[0] == '[' || is_script)
		return ORIGIN_NO_FILE;
	return so && (so[3] == '\0' || so[3] == '.') ? ORIGIN_LIBRARY : ORIGIN_PROGRAM;
}

/* The program has no frame in stacks that begin in a library, such as those of Java's threads. */
static void builder_add_missing_program(struct builder *b)
{
	struct mapping_entry *m, *next;

	HASH_ITER (hh, b->mappings, m, next) {
		if (origin_kind(b, m) == ORIGIN_PROGRAM)
			return;
	}
	builder__add_program(b);
}

struct builder_candidate {
	enum origin_kind kind;
	uint64_t weight; /* sum over the samples with this origin */
};

/* Returns the origin of a sample: the program nearest to the root of its stack. Returns NULL if
 * there is none. */
static struct builder_candidate *builder_origin(const Perftools__Profiles__Profile *p,
						const Perftools__Profiles__Sample *s,
						struct builder_candidate *candidates)
{
	for (size_t i = s->n_location_id; i-- > 0;) {
		const Perftools__Profiles__Location *l = p->location[s->location_id[i] - 1];

		if (candidates[l->mapping_id - 1].kind == ORIGIN_PROGRAM)
			return &candidates[l->mapping_id - 1];
	}
	return NULL;
}

static size_t builder_heaviest(const struct builder_candidate *candidates, size_t cnt)
{
	size_t best = 0;

	for (size_t i = 1; i < cnt; i++) {
		const struct builder_candidate *c = &candidates[i], *than = &candidates[best];

		if (c->kind > than->kind || (c->kind == than->kind && c->weight > than->weight))
			best = i;
	}
	return best;
}

/* Moves the main program to the front, because pprof takes the first mapping for it. The main
 * program is the origin with the highest sum of the last value. */
static void builder_move_program_first(struct builder *b, Perftools__Profiles__Profile *p)
{
	struct builder_candidate *candidates = calloc(p->n_mapping + 1, sizeof(*candidates));
	Perftools__Profiles__Mapping *program;
	struct mapping_entry *m, *next;
	size_t best;

	if (!candidates || b->err) {
		b->err = b->err ? b->err : -ENOMEM;
		free(candidates);
		return;
	}
	HASH_ITER (hh, b->mappings, m, next)
		candidates[m->pb.id - 1].kind = origin_kind(b, m);
	for (size_t i = 0; i < p->n_sample; i++) {
		struct builder_candidate *c = builder_origin(p, p->sample[i], candidates);
		int64_t value = p->sample[i]->value[BUILDER_VALUE_CNT - 1];

		if (c && value > 0)
			c->weight += (uint64_t)value;
	}
	best = builder_heaviest(candidates, p->n_mapping);
	free(candidates);
	if (best == 0)
		return;
	program = p->mapping[best];
	p->mapping[best] = p->mapping[0];
	p->mapping[0] = program;
}

static char **builder_collect_strings(struct builder *b, size_t *cnt)
{
	char **strings;

	*cnt = strtab__cnt(b->strings);
	strings = calloc(*cnt, sizeof(*strings));
	if (!strings) {
		b->err = -ENOMEM;
		*cnt = 0;
	}
	for (size_t i = 0; i < *cnt; i++)
		strings[i] = (char *)strtab__str(b->strings, (uint32_t)i, NULL);
	return strings;
}

/* Receives the message from protobuf-c in pieces and compresses them. */
struct gz_sink {
	ProtobufCBuffer base; /* first: protobuf-c knows only this */
	gzFile gz;
	int err;
};

static void gz_sink_append(ProtobufCBuffer *base, size_t sz, const uint8_t *data)
{
	struct gz_sink *sink = (struct gz_sink *)base;

	while (sz && !sink->err) {
		unsigned part = sz > 1u << 20 ? 1u << 20 : (unsigned)sz;

		errno = 0;
		if (gzwrite(sink->gz, data, part) != (int)part)
			sink->err = errno ? -errno : -EIO;
		data += part;
		sz -= part;
	}
}

static int builder_write_gz(const Perftools__Profiles__Profile *p, const char *path)
{
	struct gz_sink sink = { .base = { .append = gz_sink_append } };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	sink.gz = gzdopen(fd, "wb");
	if (!sink.gz) {
		close(fd);
		return -ENOMEM;
	}
	protobuf_c_message_pack_to_buffer(&p->base, &sink.base);
	errno = 0;
	if (gzclose(sink.gz) != Z_OK && !sink.err)
		sink.err = errno ? -errno : -EIO;
	return sink.err;
}

/* Completes the message and writes it. Returns 0, -EFBIG or -errno. */
static int builder_write_profile(struct builder *b, Perftools__Profiles__Profile *p,
				 const char *path)
{
	Perftools__Profiles__ValueType types[BUILDER_VALUE_CNT], *type_ptrs[BUILDER_VALUE_CNT];
	Perftools__Profiles__ValueType period = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;

	for (size_t i = 0; i < BUILDER_VALUE_CNT; i++) {
		perftools__profiles__value_type__init(&types[i]);
		types[i].type = b->types[i];
		types[i].unit = b->units[i];
		type_ptrs[i] = &types[i];
	}
	p->sample_type = type_ptrs;
	p->n_sample_type = BUILDER_VALUE_CNT;
	p->default_sample_type = b->types[BUILDER_VALUE_CNT - 1];
	p->time_nanos = b->start_ns;
	p->duration_nanos = b->wall_ns;
	period.type = b->period_type;
	period.unit = b->period_unit;
	if (b->period_ns) {
		p->period_type = &period;
		p->period = b->period_ns;
	}
	p->comment = (int64_t *)b->comments.data;
	p->n_comment = b->comments.sz / sizeof(int64_t);
	if (perftools__profiles__profile__get_packed_size(p) > PROFILE_SZ_MAX)
		return -EFBIG;
	return builder_write_gz(p, path);
}

int builder__write(struct builder *b, const char *path)
{
	Perftools__Profiles__Profile p = PERFTOOLS__PROFILES__PROFILE__INIT;
	int err;

	builder_add_missing_program(b);
	builder_set_ranges(b);
	p.sample = COLLECT(b, samples, Perftools__Profiles__Sample, &p.n_sample);
	p.mapping = COLLECT(b, mappings, Perftools__Profiles__Mapping, &p.n_mapping);
	p.location = COLLECT(b, locations, Perftools__Profiles__Location, &p.n_location);
	builder_move_program_first(b, &p);
	p.function = COLLECT(b, functions, Perftools__Profiles__Function, &p.n_function);
	p.string_table = builder_collect_strings(b, &p.n_string_table);
	err = b->err		       ? b->err
	      : buf__err(&b->comments) ? -ENOMEM
				       : builder_write_profile(b, &p, path);
	free(p.sample);
	free(p.mapping);
	free(p.location);
	free(p.function);
	free(p.string_table);
	return err;
}
