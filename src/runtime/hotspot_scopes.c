// SPDX-License-Identifier: GPL-2.0-or-later
/* Debug information of nmethods: which methods each place of the code is in (code/debugInfo.hpp).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/hotspot.h"

#define DATA_MAX  (4u << 20) /* bytes of each table */
#define DEPTH_MAX 512	     /* inlined calls in one another */

/* PcDesc (code/pcDesc.hpp), the same in all versions. */
struct pc_desc {
	int32_t off, scope;
	uint32_t others[2];
};

/* A table that is copied from the process. */
struct part {
	uint64_t at;
	size_t sz;
	uint8_t *bytes;
};

struct scopes_reader {
	struct remote *remote;
	const struct runtime_layout *layout;
	struct code_blob *blob;
	struct part places, data, metadata;
	uint32_t *known;     /* scope at an offset of .data, and 1; 0: not decoded yet */
	uint32_t *functions; /* by index of .metadata: index in .read, and 1 */
	struct script_function *read;
	size_t read_cnt, read_cap, scope_cap;
	uint64_t own_method;
};

/* ---- where the tables are -----------------------------------------------------------------------
 */

static struct part between(uint64_t start, uint64_t end)
{
	bool ok = end > start && end - start <= DATA_MAX;

	return (struct part){ .at = start, .sz = ok ? end - start : 0 };
}

static uint64_t u32_of(const struct scopes_reader *s, enum hotspot_at at)
{
	return hotspot__u32(s->remote, s->layout, s->blob->header, at);
}

static uint64_t word_of(const struct scopes_reader *s, enum hotspot_at at)
{
	return hotspot__word(s->remote, s->layout, s->blob->header, at);
}

/* From JDK 25 on, this data follows the relocations, outside the code cache. */
static struct part find_metadata(const struct scopes_reader *s, uint64_t scopes)
{
	uint64_t extra = word_of(s, JVM_BLOB_EXTRA);

	if (s->layout->at[JVM_NMETHOD_METADATA] != JVM_NONE)
		return between(s->blob->header + u32_of(s, JVM_NMETHOD_METADATA), scopes);
	return between(extra + u32_of(s, JVM_BLOB_RELOCS), extra + u32_of(s, JVM_BLOB_EXTRA_SZ));
}

static void find_parts(struct scopes_reader *s)
{
	uint64_t fixed = word_of(s, JVM_NMETHOD_FIXED), base = fixed ? fixed : s->blob->header;
	uint64_t pcs = base + u32_of(s, JVM_NMETHOD_PCS),
		 scopes = word_of(s, JVM_NMETHOD_SCOPES_AT);

	if (!scopes)
		scopes = base + u32_of(s, JVM_NMETHOD_SCOPES);
	if (fixed) {
		s->places = between(pcs, scopes);
		s->data = between(scopes, base + u32_of(s, JVM_NMETHOD_FIXED_SZ));
	} else {
		s->places = between(pcs, base + u32_of(s, JVM_NMETHOD_PCS_END));
		s->data = between(scopes, pcs);
	}
	s->metadata = find_metadata(s, scopes);
}

static bool read_part(const struct scopes_reader *s, struct part *p)
{
	p->bytes = malloc(p->sz + 1);
	return p->bytes && (!p->sz || remote__read(s->remote, p->at, p->bytes, p->sz));
}

/* ---- functions ----------------------------------------------------------------------------------
 */

/* Returns the index of the function, or CODE_NOWHERE. */
static uint32_t read_function(struct scopes_reader *s, uint64_t method)
{
	struct script_function *room =
		array__room(s->read, s->read_cnt, &s->read_cap, sizeof(*room));
	struct script_function *f;

	if (!room)
		return CODE_NOWHERE;
	s->read = room;
	f = &room[s->read_cnt];
	*f = (struct script_function){ 0 };
	if (hotspot__read_method(s->remote, s->layout, method, f) == 0)
		return (uint32_t)s->read_cnt++;
	script_function__free(f);
	return CODE_NOWHERE;
}

/* Index 0 is none; so is the code's own function in a scope without one. */
static uint32_t function_at(struct scopes_reader *s, uint32_t idx)
{
	uint64_t method;

	if (!idx)
		return 0;
	if (idx > s->metadata.sz / sizeof(method))
		return CODE_NOWHERE;
	if (!s->functions[idx - 1]) {
		memcpy(&method, s->metadata.bytes + (idx - 1) * sizeof(method), sizeof(method));
		s->functions[idx - 1] = method == s->own_method ? 1 : read_function(s, method) + 1;
	}
	return s->functions[idx - 1] - 1;
}

/* ---- scopes -------------------------------------------------------------------------------------
 */

/* A scope as it is written: its caller's offset, its method, and the place in it. */
struct written {
	uint32_t at, caller, method, bci;
};

static bool decode(const struct scopes_reader *s, uint32_t at, struct written *out)
{
	struct hotspot_numbers n =
		hotspot_numbers__on(s->layout, s->data.bytes + at, s->data.sz - at);

	out->at = at;
	out->caller = hotspot_numbers__take(&n);
	out->method = hotspot_numbers__take(&n);
	out->bci = hotspot_numbers__take(&n) - 1;
	return !n.err && out->caller < at; /* a scope is written after its caller */
}

static void set_line(const struct script_function *f, uint32_t bci, struct code_scope *c)
{
	/* The method's entry has no place in its bytecode. */
	script_function__line(f, f->start + (bci < f->sz ? bci : 0), &c->line);
	c->line_in = c->line ? c->line - f->first_line + 1 : 0;
}

/* Returns the scope's index and 1, or 0. */
static uint32_t add_scope(struct scopes_reader *s, const struct written *w)
{
	struct code_blob *b = s->blob;
	struct code_scope *room =
		array__room(b->scopes, b->scope_cnt, &s->scope_cap, sizeof(*room));
	uint32_t function = w ? function_at(s, w->method) : 0;

	if (!room)
		return 0;
	b->scopes = room;
	if (function == CODE_NOWHERE)
		return 0;
	room[b->scope_cnt] = (struct code_scope){ CODE_NOWHERE, function, 0, 0 };
	if (w && w->caller)
		room[b->scope_cnt].caller = s->known[w->caller] - 1;
	if (w)
		set_line(&s->read[function], w->bci, &room[b->scope_cnt]);
	return (uint32_t)++b->scope_cnt;
}

/* Decodes a scope and those that it was inlined into. Returns its index, or CODE_NOWHERE. */
static uint32_t scope_at(struct scopes_reader *s, uint32_t at)
{
	struct written chain[DEPTH_MAX];
	size_t depth = 0;

	if (at >= s->data.sz)
		return CODE_NOWHERE;
	for (uint32_t next = at; next && !s->known[next]; next = chain[depth++].caller)
		if (depth == DEPTH_MAX || !decode(s, next, &chain[depth]))
			return CODE_NOWHERE;
	while (depth--) {
		s->known[chain[depth].at] = add_scope(s, &chain[depth]);
		if (!s->known[chain[depth].at])
			return CODE_NOWHERE;
	}
	if (!s->known[at])
		s->known[at] = add_scope(s, NULL); /* offset 0: nothing is known of the place */
	return s->known[at] - 1;
}

static int read_places(struct scopes_reader *s)
{
	struct code_blob *b = s->blob;
	size_t cnt = s->places.sz / sizeof(struct pc_desc);

	b->places = calloc(cnt + 1, sizeof(*b->places));
	if (!b->places)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		struct pc_desc p;

		memcpy(&p, s->places.bytes + i * sizeof(p), sizeof(p));
		if (p.off < 0 || p.scope < 0 || (uint64_t)p.off > b->end - b->start)
			continue; /* the first and the last one */
		if (b->place_cnt && b->places[b->place_cnt - 1].off >= (uint32_t)p.off)
			return -EINVAL;
		b->places[b->place_cnt++] =
			(struct code_place){ (uint32_t)p.off, scope_at(s, (uint32_t)p.scope) };
	}
	return 0;
}

/* Keeps the names only: the lines are in the scopes. */
static int keep_scripts(struct scopes_reader *s)
{
	struct code_blob *b = s->blob;

	b->scripts = calloc(s->read_cnt + 1, sizeof(*b->scripts));
	if (!b->scripts)
		return -ENOMEM;
	for (; b->script_cnt < s->read_cnt; b->script_cnt++) {
		b->scripts[b->script_cnt] = s->read[b->script_cnt].script;
		s->read[b->script_cnt].script = (struct script){ 0 };
	}
	return 0;
}

static int read_all(struct scopes_reader *s)
{
	int err;

	s->own_method = word_of(s, JVM_NMETHOD_METHOD);
	if (read_function(s, s->own_method) != 0)
		return -EINVAL;
	if (s->blob->kind == CODE_COMPILED) {
		find_parts(s);
		if (!read_part(s, &s->places) || !read_part(s, &s->data) ||
		    !read_part(s, &s->metadata))
			return -EFAULT;
		s->known = calloc(s->data.sz + 1, sizeof(*s->known));
		s->functions = calloc(s->metadata.sz / 8 + 1, sizeof(*s->functions));
		err = s->known && s->functions ? read_places(s) : -ENOMEM;
		if (err)
			return err;
	}
	return keep_scripts(s);
}

int hotspot__read_scopes(struct remote *r, const struct runtime_layout *l, struct code_blob *b)
{
	struct scopes_reader s = { .remote = r, .layout = l, .blob = b };
	int err = read_all(&s);

	for (size_t i = 0; i < s.read_cnt; i++)
		script_function__free(&s.read[i]);
	free(s.read);
	free(s.known);
	free(s.functions);
	free(s.places.bytes);
	free(s.data.bytes);
	free(s.metadata.bytes);
	return err;
}
