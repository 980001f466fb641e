// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a profile as a request of OTLP (opentelemetry-proto, profiles v1development, as of 1.11:
 * Sample.values is field 4; it was field 2 before 1.10). ProfilesData and
 * ExportProfilesServiceRequest have the same fields, so the file is both. Entry 0 of each table is
 * empty, so the builder's ids, which count from 1, are the places in the tables.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/strtab.h"
#include "base/writeall.h"
#include "pprof/builder_index.h"

#define BUILD_ID_KEY "process.executable.build_id.gnu"
#define OTLP_ID_SZ   16

/* What is written of a sample. Pyroscope takes CPU time as samples/count with a period, and off-CPU
 * time as off_cpu/nanoseconds without one. */
struct otlp_value {
	size_t idx; /* of the values of a sample */
	uint32_t type, unit;
	bool has_period;
};

struct otlp {
	struct builder *builder;
	struct builder_index index;
	struct buf dictionary, profile;
	uint32_t attribute_cnt; /* so far */
	uint32_t build_id_key;
	int err;
};

enum otlp_wire { OTLP_VARINT = 0, OTLP_FIXED64 = 1, OTLP_BYTES = 2 };

static void otlp_tag(struct buf *out, unsigned field, enum otlp_wire wire)
{
	buf__uleb(out, field << 3 | wire);
}

/* A number; 0 is the default and is left out. */
static void otlp_number(struct buf *out, unsigned field, uint64_t value)
{
	if (!value)
		return;
	otlp_tag(out, field, OTLP_VARINT);
	buf__uleb(out, value);
}

static void otlp_bytes(struct buf *out, unsigned field, const void *data, size_t sz)
{
	otlp_tag(out, field, OTLP_BYTES);
	buf__uleb(out, sz);
	if (sz)
		buf__append(out, data, sz);
}

static void otlp_text(struct buf *out, unsigned field, const char *text)
{
	otlp_bytes(out, field, text, strlen(text));
}

/* Appends a message and frees it. */
static void otlp_message(struct buf *out, unsigned field, struct buf *message)
{
	if (buf__err(message))
		out->err = buf__err(message);
	else
		otlp_bytes(out, field, message->data, message->sz);
	buf__free(message);
}

static uint32_t otlp_intern(struct otlp *o, const char *text)
{
	uint32_t id = strtab__id(o->builder->strings, text, strlen(text));

	if (!id)
		o->err = -ENOMEM;
	return id;
}

static struct otlp_value otlp_choose_value(struct otlp *o)
{
	const struct builder *b = o->builder;
	const char *last = strtab__str(b->strings, b->types[BUILDER_VALUE_CNT - 1], NULL);
	struct otlp_value v = { BUILDER_VALUE_CNT - 1, b->types[BUILDER_VALUE_CNT - 1],
				b->units[BUILDER_VALUE_CNT - 1], false };

	if (b->period_ns)
		v = (struct otlp_value){ 0, otlp_intern(o, "samples"), otlp_intern(o, "count"),
					 true };
	else if (strncmp(last, "offcpu", strlen("offcpu")) == 0)
		v.type = otlp_intern(o, "off_cpu");
	return v;
}

/* ---- the tables ----------------------------------------------------------------------------- */

/* Appends an attribute with the build ID. Returns its place in the table. */
static uint32_t otlp_add_build_id(struct otlp *o, uint32_t build_id)
{
	struct buf attribute = { 0 }, value = { 0 };

	otlp_text(&value, 1, strtab__str(o->builder->strings, build_id, NULL));
	otlp_number(&attribute, 1, o->build_id_key);
	otlp_message(&attribute, 2, &value);
	otlp_message(&o->dictionary, 6, &attribute);
	return o->attribute_cnt++;
}

static void builder_otlp_add_mappings(struct otlp *o)
{
	for (size_t i = 1; i <= HASH_COUNT(o->builder->mappings); i++) {
		const struct mapping_entry *m = o->index.mappings[i];
		struct buf message = { 0 }, attributes = { 0 };

		otlp_number(&message, 4, (uint64_t)m->pb.filename);
		if (m->key.build_id) {
			buf__uleb(&attributes, otlp_add_build_id(o, m->key.build_id));
			otlp_message(&message, 5, &attributes);
		}
		otlp_message(&o->dictionary, 1, &message);
	}
}

static void builder_otlp_add_locations(struct otlp *o)
{
	for (size_t i = 1; i <= HASH_COUNT(o->builder->locations); i++) {
		const Perftools__Profiles__Location *l = &o->index.locations[i]->pb;
		struct buf message = { 0 };

		otlp_number(&message, 1, l->mapping_id);
		otlp_number(&message, 2, l->address);
		for (size_t j = 0; j < l->n_line; j++) {
			struct buf line = { 0 };

			otlp_number(&line, 1, l->line[j]->function_id);
			otlp_number(&line, 2, (uint64_t)l->line[j]->line);
			otlp_message(&message, 3, &line);
		}
		otlp_message(&o->dictionary, 2, &message);
	}
}

static void builder_otlp_add_functions(struct otlp *o)
{
	for (size_t i = 1; i <= HASH_COUNT(o->builder->functions); i++) {
		const Perftools__Profiles__Function *f = &o->index.functions[i]->pb;
		struct buf message = { 0 };

		otlp_number(&message, 1, (uint64_t)f->name);
		otlp_number(&message, 2, (uint64_t)f->system_name);
		otlp_number(&message, 3, (uint64_t)f->filename);
		otlp_number(&message, 4, (uint64_t)f->start_line);
		otlp_message(&o->dictionary, 3, &message);
	}
}

/* Entry 0 of each table, before the others: mappings, locations, functions, links, attributes and
 * stacks. The strings have it already. */
static void otlp_add_empty_entries(struct otlp *o)
{
	static const unsigned tables[] = { 1, 2, 3, 4, 6, 7 };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		otlp_bytes(&o->dictionary, tables[i], NULL, 0);
	o->attribute_cnt = 1;
}

static void otlp_add_strings(struct otlp *o)
{
	for (size_t i = 0; i < strtab__cnt(o->builder->strings); i++)
		otlp_text(&o->dictionary, 5, strtab__str(o->builder->strings, (uint32_t)i, NULL));
}

/* ---- samples -------------------------------------------------------------------------------- */

/* Each sample has a stack of its own: entry 1, 2 … of the table. */
static void builder_otlp_add_samples(struct otlp *o, const struct otlp_value *v)
{
	struct sample_entry *s, *next;
	uint32_t stack = 1;

	HASH_ITER (hh, o->builder->samples, s, next) {
		struct buf indices = { 0 }, message = { 0 }, values = { 0 };

		if (!s->values[v->idx])
			continue;
		for (size_t i = 0; i < s->pb.n_location_id; i++)
			buf__uleb(&indices, s->location_ids[i]);
		otlp_message(&message, 1, &indices);
		otlp_message(&o->dictionary, 7, &message);
		otlp_number(&message, 1, stack++);
		buf__uleb(&values, (uint64_t)s->values[v->idx]);
		otlp_message(&message, 4, &values);
		otlp_message(&o->profile, 2, &message);
	}
}

static void otlp_add_type(struct buf *out, unsigned field, uint32_t type, uint32_t unit)
{
	struct buf message = { 0 };

	otlp_number(&message, 1, type);
	otlp_number(&message, 2, unit);
	otlp_message(out, field, &message);
}

static void builder_otlp_add_profile(struct otlp *o)
{
	const struct builder *b = o->builder;
	struct otlp_value v = otlp_choose_value(o);
	uint8_t id[OTLP_ID_SZ];

	otlp_add_type(&o->profile, 1, v.type, v.unit);
	builder_otlp_add_samples(o, &v);
	otlp_tag(&o->profile, 3, OTLP_FIXED64);
	buf__u64(&o->profile, (uint64_t)b->start_ns);
	otlp_number(&o->profile, 4, (uint64_t)b->wall_ns);
	if (v.has_period) {
		otlp_add_type(&o->profile, 5, b->period_type, b->period_unit);
		otlp_number(&o->profile, 6, (uint64_t)b->period_ns);
	}
	if (getrandom(id, sizeof(id), 0) == sizeof(id))
		otlp_bytes(&o->profile, 7, id, sizeof(id));
}

/* service.name, by which receivers group profiles, is the command, or "system". */
static void builder_otlp_add_resource(struct otlp *o, struct buf *out)
{
	const char *program = o->builder->options.program;
	struct buf value = { 0 }, attribute = { 0 }, resource = { 0 };

	otlp_text(&value, 1, program ? program : "system");
	otlp_text(&attribute, 1, "service.name");
	otlp_message(&attribute, 2, &value);
	otlp_message(&resource, 1, &attribute);
	otlp_message(out, 1, &resource);
}

static void otlp_add_scope(struct buf *out)
{
	struct buf scope = { 0 };

	otlp_text(&scope, 1, "stacksexport");
	otlp_text(&scope, 2, STACKS_VERSION);
	otlp_message(out, 1, &scope);
}

static struct buf otlp_request(struct otlp *o)
{
	struct buf request = { 0 }, resource = { 0 }, scope = { 0 };

	otlp_add_empty_entries(o);
	o->build_id_key = otlp_intern(o, BUILD_ID_KEY);
	builder_otlp_add_mappings(o);
	builder_otlp_add_locations(o);
	builder_otlp_add_functions(o);
	builder_otlp_add_profile(o);
	otlp_add_strings(o);
	otlp_add_scope(&scope);
	otlp_message(&scope, 2, &o->profile);
	builder_otlp_add_resource(o, &resource);
	otlp_message(&resource, 2, &scope);
	otlp_message(&request, 1, &resource);
	otlp_message(&request, 2, &o->dictionary);
	return request;
}

static int builder_otlp_write_request(const struct buf *request, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : write_all(fd, request->data, request->sz);

	if (fd >= 0 && close(fd) != 0 && !err)
		err = -errno;
	return err;
}

int builder__write_otlp(struct builder *b, const char *path)
{
	struct otlp o = { .builder = b };
	struct buf request = { 0 };

	o.err = builder_index__init(&o.index, b);
	o.err = b->err ? b->err : o.err;
	if (!o.err)
		request = otlp_request(&o);
	if (!o.err)
		o.err = buf__err(&request);
	if (!o.err)
		o.err = request.sz > INT32_MAX ? -EFBIG
					       : builder_otlp_write_request(&request, path);
	builder_index__free(&o.index);
	buf__free(&o.dictionary);
	buf__free(&o.profile);
	buf__free(&request);
	return o.err;
}
