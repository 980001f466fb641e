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
struct hotspot_scopes_part {
	uint64_t at;
	size_t sz;
	uint8_t *bytes;
};

struct hotspot_scopes_reader {
	struct remote *remote;
	const struct runtime_layout *layout;
	struct code_blob *blob;
	struct hotspot_scopes_part places, data, metadata;
	uint32_t *known;     /* scope at an offset of .data, and 1; 0: not decoded yet */
	uint32_t *functions; /* by index of .metadata: index in .read, and 1 */
	struct script_function *read;
	size_t read_cnt, read_cap, scope_cap;
	uint64_t own_method;
};

/* ---- where the tables are -----------------------------------------------------------------------
 */

static struct hotspot_scopes_part hotspot_scopes_between(uint64_t start, uint64_t end)
{
	bool ok = end > start && end - start <= DATA_MAX;

	return (struct hotspot_scopes_part){ .at = start, .sz = ok ? end - start : 0 };
}

static uint64_t hotspot_scopes_u32_of(const struct hotspot_scopes_reader *s, enum hotspot_at at)
{
	return hotspot__u32(s->remote, s->layout, s->blob->header, at);
}

static uint64_t hotspot_scopes_word_of(const struct hotspot_scopes_reader *s, enum hotspot_at at)
{
	return hotspot__word(s->remote, s->layout, s->blob->header, at);
}

/* From JDK 25 on, this data follows the relocations, outside the code cache. */
static struct hotspot_scopes_part hotspot_find_metadata(const struct hotspot_scopes_reader *s,
							uint64_t scopes)
{
	uint64_t extra = hotspot_scopes_word_of(s, JVM_BLOB_EXTRA);

	if (s->layout->at[JVM_NMETHOD_METADATA] != JVM_NONE)
		return hotspot_scopes_between(
			s->blob->header + hotspot_scopes_u32_of(s, JVM_NMETHOD_METADATA), scopes);
	return hotspot_scopes_between(extra + hotspot_scopes_u32_of(s, JVM_BLOB_RELOCS),
				      extra + hotspot_scopes_u32_of(s, JVM_BLOB_EXTRA_SZ));
}

static void hotspot_scopes_find_parts(struct hotspot_scopes_reader *s)
{
	uint64_t fixed = hotspot_scopes_word_of(s, JVM_NMETHOD_FIXED),
		 base = fixed ? fixed : s->blob->header;
	uint64_t pcs = base + hotspot_scopes_u32_of(s, JVM_NMETHOD_PCS),
		 scopes = hotspot_scopes_word_of(s, JVM_NMETHOD_SCOPES_AT);

	if (!scopes)
		scopes = base + hotspot_scopes_u32_of(s, JVM_NMETHOD_SCOPES);
	if (fixed) {
		s->places = hotspot_scopes_between(pcs, scopes);
		s->data = hotspot_scopes_between(
			scopes, base + hotspot_scopes_u32_of(s, JVM_NMETHOD_FIXED_SZ));
	} else {
		s->places = hotspot_scopes_between(
			pcs, base + hotspot_scopes_u32_of(s, JVM_NMETHOD_PCS_END));
		s->data = hotspot_scopes_between(scopes, pcs);
	}
	s->metadata = hotspot_find_metadata(s, scopes);
}

static bool hotspot_scopes_read_part(const struct hotspot_scopes_reader *s,
				     struct hotspot_scopes_part *p)
{
	p->bytes = malloc(p->sz + 1);
	return p->bytes && (!p->sz || remote__read(s->remote, p->at, p->bytes, p->sz));
}

/* ---- functions ----------------------------------------------------------------------------------
 */

/* Returns the index of the function, or CODE_NOWHERE. */
static uint32_t hotspot_scopes_read_function(struct hotspot_scopes_reader *s, uint64_t method)
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
static uint32_t hotspot_scopes_function_at(struct hotspot_scopes_reader *s, uint32_t idx)
{
	uint64_t method;

	if (!idx)
		return 0;
	if (idx > s->metadata.sz / sizeof(method))
		return CODE_NOWHERE;
	if (!s->functions[idx - 1]) {
		memcpy(&method, s->metadata.bytes + (idx - 1) * sizeof(method), sizeof(method));
		s->functions[idx - 1] =
			method == s->own_method ? 1 : hotspot_scopes_read_function(s, method) + 1;
	}
	return s->functions[idx - 1] - 1;
}

/* ---- scopes -------------------------------------------------------------------------------------
 */

/* A scope as it is written: its caller's offset, its method, and the place in it. */
struct written {
	uint32_t at, caller, method, bci;
};

static bool hotspot_scopes_decode(const struct hotspot_scopes_reader *s, uint32_t at,
				  struct written *out)
{
	struct hotspot_numbers n =
		hotspot_numbers__on(s->layout, s->data.bytes + at, s->data.sz - at);

	out->at = at;
	out->caller = hotspot_numbers__take(&n);
	out->method = hotspot_numbers__take(&n);
	out->bci = hotspot_numbers__take(&n) - 1;
	return !n.err && out->caller < at; /* a scope is written after its caller */
}

static void hotspot_scopes_set_line(const struct script_function *f, uint32_t bci,
				    struct code_scope *c)
{
	/* The method's entry has no place in its bytecode. */
	script_function__line(f, f->start + (bci < f->sz ? bci : 0), &c->line);
	c->line_in = c->line ? c->line - f->first_line + 1 : 0;
}

/* Returns the scope's index and 1, or 0. */
static uint32_t hotspot_scopes_add_scope(struct hotspot_scopes_reader *s, const struct written *w)
{
	struct code_blob *b = s->blob;
	struct code_scope *room =
		array__room(b->scopes, b->scope_cnt, &s->scope_cap, sizeof(*room));
	uint32_t function = w ? hotspot_scopes_function_at(s, w->method) : 0;

	if (!room)
		return 0;
	b->scopes = room;
	if (function == CODE_NOWHERE)
		return 0;
	room[b->scope_cnt] = (struct code_scope){ CODE_NOWHERE, function, 0, 0 };
	if (w && w->caller)
		room[b->scope_cnt].caller = s->known[w->caller] - 1;
	if (w)
		hotspot_scopes_set_line(&s->read[function], w->bci, &room[b->scope_cnt]);
	return (uint32_t)++b->scope_cnt;
}

/* Decodes a scope and those that it was inlined into. Returns its index, or CODE_NOWHERE. */
static uint32_t scope_at(struct hotspot_scopes_reader *s, uint32_t at)
{
	struct written chain[DEPTH_MAX];
	size_t depth = 0;

	if (at >= s->data.sz)
		return CODE_NOWHERE;
	for (uint32_t next = at; next && !s->known[next]; next = chain[depth++].caller)
		if (depth == DEPTH_MAX || !hotspot_scopes_decode(s, next, &chain[depth]))
			return CODE_NOWHERE;
	while (depth--) {
		s->known[chain[depth].at] = hotspot_scopes_add_scope(s, &chain[depth]);
		if (!s->known[chain[depth].at])
			return CODE_NOWHERE;
	}
	if (!s->known[at])
		s->known[at] = hotspot_scopes_add_scope(
			s, NULL); /* offset 0: nothing is known of the place */
	return s->known[at] - 1;
}

static int hotspot_scopes_read_places(struct hotspot_scopes_reader *s)
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
static int hotspot_scopes_keep_scripts(struct hotspot_scopes_reader *s)
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

static int hotspot_scopes_read_all(struct hotspot_scopes_reader *s)
{
	int err;

	s->own_method = hotspot_scopes_word_of(s, JVM_NMETHOD_METHOD);
	if (hotspot_scopes_read_function(s, s->own_method) != 0)
		return -EINVAL;
	if (s->blob->kind == CODE_COMPILED) {
		hotspot_scopes_find_parts(s);
		if (!hotspot_scopes_read_part(s, &s->places) ||
		    !hotspot_scopes_read_part(s, &s->data) ||
		    !hotspot_scopes_read_part(s, &s->metadata))
			return -EFAULT;
		s->known = calloc(s->data.sz + 1, sizeof(*s->known));
		s->functions = calloc(s->metadata.sz / 8 + 1, sizeof(*s->functions));
		err = s->known && s->functions ? hotspot_scopes_read_places(s) : -ENOMEM;
		if (err)
			return err;
	}
	return hotspot_scopes_keep_scripts(s);
}

int hotspot__read_scopes(struct remote *r, const struct runtime_layout *l, struct code_blob *b)
{
	struct hotspot_scopes_reader s = { .remote = r, .layout = l, .blob = b };
	int err = hotspot_scopes_read_all(&s);

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
