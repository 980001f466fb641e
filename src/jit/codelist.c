// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/codelist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

#define ENTRIES_MAX 65536
#define TEXT_MAX    (4u << 20) /* bytes of names, and of frames; the last ones may exceed it */
#define ENTRY_SZ    sizeof(struct code_entry)
#define LINE_MIN    6 /* bytes of the shortest line of a perf map; records are longer */
#define ERRNO_MAX   4095

void code_list__free(struct code_list *l)
{
	if (!l->block) {
		buf__free(&l->entries);
		buf__free(&l->names);
		buf__free(&l->frames);
	}
	free(l->block);
	*l = (struct code_list){ 0 };
}

/* ---- making a list ------------------------------------------------------------------------------
 */

void code_list__add(struct code_list *l, const struct code *c)
{
	const struct code_entry e = { .start = c->start,
				      .sz = c->sz,
				      .time_ns = c->time_ns,
				      .name = (uint32_t)l->names.sz,
				      .frames_off = (uint32_t)l->frames.sz,
				      .frames_sz = (uint32_t)c->frames_sz };

	buf__append(&l->names, c->name, strlen(c->name) + 1);
	if (c->frames_sz)
		buf__append(&l->frames, c->frames, c->frames_sz);
	buf__append(&l->entries, &e, ENTRY_SZ);
}

void code_list__move(struct code_list *l, uint64_t from, const struct code *c)
{
	const struct code_entry e = {
		.start = c->start, .sz = c->sz, .time_ns = c->time_ns, .from = from, .moved = 1
	};

	buf__append(&l->entries, &e, ENTRY_SZ);
}

size_t code_list__cnt(const struct code_list *l)
{
	return l->entries.sz / ENTRY_SZ;
}

bool code_list__is_full(const struct code_list *l)
{
	return code_list__cnt(l) >= ENTRIES_MAX || l->names.sz >= TEXT_MAX ||
	       l->frames.sz >= TEXT_MAX;
}

int code_list__err(const struct code_list *l)
{
	return buf__err(&l->entries) || buf__err(&l->names) || buf__err(&l->frames) ? -ENOMEM : 0;
}

/* ---- the map ------------------------------------------------------------------------------------
 */

/* Returns false if no function at that address is known. */
static bool codelist_entry_moved(const struct code_entry *e, const struct codemap *m,
				 struct code *c)
{
	if (!codemap__find(m, e->from, e->time_ns, c) || c->start != e->from)
		return false;
	c->frames_sz = 0; /* they are relative to the old address */
	return true;
}

static int codelist_entry_apply(const struct code_list *l, const struct code_entry *e,
				struct codemap *m)
{
	struct code c = { .name = e->moved ? NULL : (const char *)l->names.data + e->name,
			  .frames = e->frames_sz ? l->frames.data + e->frames_off : NULL,
			  .frames_sz = e->frames_sz };
	int err;

	if (e->moved && !codelist_entry_moved(e, m, &c))
		return 0;
	c.start = e->start;
	c.sz = e->sz;
	c.time_ns = e->time_ns;
	err = codemap__add(m, &c);
	return err == -EINVAL ? 0 : err; /* stubs may be empty */
}

int code_list__apply(const struct code_list *l, size_t begin, size_t end, struct codemap *m,
		     bool *overflowed)
{
	const struct code_entry *entries = (const void *)l->entries.data;

	for (size_t i = begin; i < end; i++) {
		int err = codelist_entry_apply(l, &entries[i], m);

		if (err == -E2BIG && overflowed) {
			*overflowed = true;
			err = codemap__keep_newest(m) ? -E2BIG
						      : codelist_entry_apply(l, &entries[i], m);
		}
		if (err)
			return err;
	}
	return 0;
}

/* ---- blocks -------------------------------------------------------------------------------------
 */

void *code_block__of(const struct code_list *l, const struct code_progress *at, int err, size_t *sz)
{
	const struct code_result r = { .at = *at,
				       .err = err,
				       .entries_sz = (uint32_t)l->entries.sz,
				       .names_sz = (uint32_t)l->names.sz,
				       .frames_sz = (uint32_t)l->frames.sz };
	struct buf b = { 0 };

	buf__append(&b, &r, sizeof(r));
	buf__append(&b, l->entries.data, l->entries.sz);
	buf__append(&b, l->names.data, l->names.sz);
	buf__append(&b, l->frames.data, l->frames.sz);
	if (buf__err(&b)) {
		buf__free(&b);
		return errno = ENOMEM, NULL;
	}
	*sz = b.sz;
	return b.data;
}

/* A part of a block. */
static struct buf codelist_block_part(const void *at, size_t sz)
{
	return (struct buf){ .data = (uint8_t *)at, .sz = sz, .cap = sz };
}

static struct code_list codelist_block_list(const struct code_result *r)
{
	struct code_list l = { .entries = codelist_block_part(r + 1, r->entries_sz) };

	l.names = codelist_block_part(l.entries.data + r->entries_sz, r->names_sz);
	l.frames = codelist_block_part(l.names.data + r->names_sz, r->frames_sz);
	return l;
}

static bool codelist_entry_is_sound(const struct code_list *l, const struct code_entry *e)
{
	const char *name = (const char *)l->names.data + e->name;

	if (e->moved)
		return e->moved == 1 && e->frames_sz == 0;
	/* the last byte of all names is a NUL */
	return e->name < l->names.sz && strnlen(name, SYMBOL_NAME_MAX) < SYMBOL_NAME_MAX &&
	       e->frames_off <= l->frames.sz && e->frames_sz <= l->frames.sz - e->frames_off;
}

static bool codelist_entries_are_sound(const struct code_list *l)
{
	const struct code_entry *entries = (const void *)l->entries.data;

	for (size_t i = 0; i < code_list__cnt(l); i++)
		if (!codelist_entry_is_sound(l, &entries[i]))
			return false;
	return true;
}

/* The file bounds the number of functions, so a wrong answer cannot keep the program busy. */
bool code_block__is_sound(const void *block, size_t sz, uint64_t from, uint64_t end)
{
	const struct code_result *r = block;
	struct code_list l;

	if (sz < sizeof(*r) || sz > CODE_BLOCK_MAX ||
	    sz != sizeof(*r) + (uint64_t)r->entries_sz + r->names_sz + r->frames_sz)
		return false;
	if (r->err > 0 || r->err < -ERRNO_MAX || r->at.off < from || r->at.off > end ||
	    r->entries_sz % ENTRY_SZ)
		return false;
	l = codelist_block_list(r);
	if (code_list__cnt(&l) > (r->at.off - from) / LINE_MIN)
		return false;
	if (l.names.sz && l.names.data[l.names.sz - 1] != '\0')
		return false;
	return codelist_entries_are_sound(&l);
}

struct code_list code_list__of_block(void *block)
{
	struct code_list l = codelist_block_list(block);

	l.block = block;
	return l;
}
