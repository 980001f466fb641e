// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/codemap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/hashindex.h"
#include "base/search.h"
#include "base/seed.h"
#include "base/strtab.h"

#define PAGE_BITS 12
#define PAGE_SZ	  (1u << PAGE_BITS)
/* Bytes. A JIT's largest blob is its interpreter, about 100 KB. */
#define FUNCTION_MAX (16u << 20)
#define ENTRIES_MAX  (1u << 19) /* a large Java program has 100,000 */
#define PAGES_MAX    (1u << 19)
#define VERSIONS_MAX (1u << 20)
#define NAMES_MAX    (32u << 20) /* bytes */
#define FRAMES_MAX   (32u << 20)
#define PIECES_MIN   4
#define NONE	     UINT32_MAX

struct codemap_entry {
	uint64_t start, end, time_ns;	/* times ascend */
	uint32_t name;			/* in names */
	uint32_t frames_off, frames_sz; /* in frames */
};

/*
 * The entries of a piece of a page over time, each with the previous ones: a skip list that only
 * grows at its end. Pieces share its start if one was cut in two (E. W. Myers, An applicative
 * random-access stack, 1983).
 */
struct version {
	uint32_t entry;
	uint32_t before, skip; /* earlier versions; the first one refers to itself */
	uint32_t depth;	       /* number of earlier versions */
};

/* Extends to the next piece, or to the page's end. */
struct piece {
	uint32_t off;  /* in the page */
	uint32_t last; /* version; NONE: there never was code */
};

struct codemap_page {
	uint64_t number;
	struct piece *pieces; /* ascending, the first at 0 */
	uint32_t cnt, cap;
};

struct codemap {
	struct codemap_entry *entries;
	size_t cnt, cap;
	struct version *versions;
	size_t version_cnt, version_cap;
	struct codemap_page *pages;
	size_t page_cnt, page_cap, piece_cap;
	struct hashindex index; /* of pages by their number */
	struct strtab *names;
	struct buf frames;
	uint32_t reused;
};

struct codemap *codemap__new(void)
{
	struct codemap *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->names = strtab__new();
	if (m->names)
		return m;
	codemap__free(m);
	return errno = ENOMEM, NULL;
}

void codemap__free(struct codemap *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->page_cnt; i++)
		free(m->pages[i].pieces);
	strtab__free(m->names);
	buf__free(&m->frames);
	hashindex__free(&m->index);
	free(m->pages);
	free(m->versions);
	free(m->entries);
	free(m);
}

/* ---- pages and their pieces ---------------------------------------------------------------------
 */

/* Returns NULL if there is no code in the page. */
static struct codemap_page *codemap_find_page(const struct codemap *m, uint64_t number)
{
	uint32_t at = HASHINDEX_FIND(&m->index, seed__mix(number), i, m->pages[i].number == number);

	return at == HASHINDEX_NONE ? NULL : &m->pages[at];
}

static int codemap_reserve_pieces(struct codemap *m, struct codemap_page *p, uint32_t cnt)
{
	uint32_t cap = p->cap ? p->cap : PIECES_MIN;
	struct piece *pieces;

	while (cap < cnt)
		cap *= 2;
	if (cap == p->cap)
		return 0;
	pieces = reallocarray(p->pieces, cap, sizeof(*pieces));
	if (!pieces)
		return -ENOMEM;
	m->piece_cap += cap - p->cap;
	p->pieces = pieces;
	p->cap = cap;
	return 0;
}

/* Returns NULL if out of memory. */
static struct codemap_page *codemap_add_page(struct codemap *m, uint64_t number)
{
	struct codemap_page *pages =
		array__room(m->pages, m->page_cnt, &m->page_cap, sizeof(*pages));
	struct codemap_page page = { .number = number, .cnt = 1 };

	if (!pages)
		return NULL;
	m->pages = pages;
	if (codemap_reserve_pieces(m, &page, 1) != 0)
		return NULL;
	page.pieces[0] = (struct piece){ 0, NONE };
	if (hashindex__add(&m->index, seed__mix(number), (uint32_t)m->page_cnt) != 0) {
		m->piece_cap -= page.cap;
		free(page.pieces);
		return NULL;
	}
	pages[m->page_cnt] = page;
	return &pages[m->page_cnt++];
}

/* Returns NULL if there is no room. */
static struct codemap_page *codemap_get_page(struct codemap *m, uint64_t number)
{
	struct codemap_page *p = codemap_find_page(m, number);

	if (!p && m->page_cnt == PAGES_MAX)
		return errno = E2BIG, NULL;
	if (!p)
		p = codemap_add_page(m, number);
	return p ? p : (errno = ENOMEM, NULL);
}

/* Returns the index of the piece with `off`. */
static uint32_t codemap_find_piece(const struct codemap_page *p, uint32_t off)
{
	return (uint32_t)SEARCH_COUNT(p->pieces, p->cnt, piece, piece->off <= off) - 1;
}

/* Splits a piece and returns the index of the one that begins at `off`. There must be room. No
 * piece begins at the page's end. */
static uint32_t codemap_cut(struct codemap_page *p, uint32_t off)
{
	uint32_t at = codemap_find_piece(p, off);

	if (p->pieces[at].off == off)
		return at;
	if (off == PAGE_SZ)
		return p->cnt;
	at++;
	memmove(&p->pieces[at + 1], &p->pieces[at], (p->cnt - at) * sizeof(*p->pieces));
	p->pieces[at] = (struct piece){ off, p->pieces[at - 1].last };
	p->cnt++;
	return at;
}

/* ---- versions -----------------------------------------------------------------------------------
 */

/* Adds a version after `before`. There must be room. */
static uint32_t codemap_add_version(struct codemap *m, uint32_t entry, uint32_t before)
{
	uint32_t at = (uint32_t)m->version_cnt++;
	struct version *v = &m->versions[at];
	const struct version *b, *s;

	*v = (struct version){ entry, at, at, 0 };
	if (before == NONE)
		return at;
	b = &m->versions[before];
	s = &m->versions[b->skip];
	v->before = before;
	v->depth = b->depth + 1;
	v->skip = b->depth - s->depth == s->depth - m->versions[s->skip].depth ? s->skip : before;
	return at;
}

static int codemap_reserve_version(struct codemap *m)
{
	struct version *versions;

	if (m->version_cnt == VERSIONS_MAX)
		return -E2BIG;
	versions = array__room(m->versions, m->version_cnt, &m->version_cap, sizeof(*versions));
	if (!versions)
		return -ENOMEM;
	m->versions = versions;
	return 0;
}

/* Returns whether another function is already there. */
static bool codemap_is_other(const struct codemap *m, const struct piece *p,
			     const struct codemap_entry *e)
{
	const struct codemap_entry *old;

	if (p->last == NONE)
		return false;
	old = &m->entries[m->versions[p->last].entry];
	return old->start != e->start || old->name != e->name;
}

/* Adds the part of the entry from `off` to `end` of the page. */
static int codemap_add_to_page(struct codemap *m, struct codemap_page *p, uint32_t off,
			       uint32_t end)
{
	uint32_t from, to;
	bool other = false;

	if (codemap_reserve_pieces(m, p, p->cnt + 2) != 0)
		return -ENOMEM;
	from = codemap_cut(p, off);
	to = codemap_cut(p, end);
	for (uint32_t i = from; i < to; i++) {
		int err = codemap_reserve_version(m);

		if (err)
			return err;
		other |= codemap_is_other(m, &p->pieces[i], &m->entries[m->cnt]);
		p->pieces[i].last = codemap_add_version(m, (uint32_t)m->cnt, p->pieces[i].last);
	}
	m->reused += other;
	return 0;
}

static int codemap_add_to_pages(struct codemap *m, const struct codemap_entry *e)
{
	int err = 0;

	for (uint64_t at = e->start; at < e->end && err == 0;) {
		uint64_t page_end = (at | (PAGE_SZ - 1)) + 1;
		uint64_t end = page_end && page_end < e->end ? page_end : e->end;
		struct codemap_page *p = codemap_get_page(m, at >> PAGE_BITS);

		err = p ? codemap_add_to_page(m, p, at % PAGE_SZ,
					      (uint32_t)(end - at) + at % PAGE_SZ)
			: -errno;
		at = end;
	}
	return err;
}

/* Returns the last version that existed at that time, else the first one. */
static uint32_t codemap_version_at(const struct codemap *m, uint32_t at, uint64_t time_ns)
{
	const struct version *v = &m->versions[at];

	while (m->entries[v->entry].time_ns > time_ns && v->depth) {
		const struct version *skip = &m->versions[v->skip];

		v = m->entries[skip->entry].time_ns > time_ns ? skip : &m->versions[v->before];
	}
	return v->entry;
}

/* ---- functions ----------------------------------------------------------------------------------
 */

/* A function without call-frame information is walked by frame pointer, as when there is no more
 * room. */
static void codemap_keep_frames(struct codemap *m, const struct code *c, struct codemap_entry *e)
{
	if (!c->frames_sz || c->frames_sz > FRAMES_MAX - m->frames.sz)
		return;
	e->frames_off = (uint32_t)m->frames.sz;
	buf__append(&m->frames, c->frames, c->frames_sz);
	e->frames_sz = buf__err(&m->frames) ? 0 : (uint32_t)c->frames_sz;
}

int codemap__add(struct codemap *m, const struct code *c)
{
	struct codemap_entry *entries,
		e = { .start = c->start, .end = c->start + c->sz, .time_ns = c->time_ns };
	int err;

	if (c->sz == 0 || c->sz > FUNCTION_MAX || e.end < e.start || !c->name[0])
		return -EINVAL;
	if (m->cnt == ENTRIES_MAX || strtab__sz(m->names) > NAMES_MAX)
		return -E2BIG;
	entries = array__room(m->entries, m->cnt, &m->cap, sizeof(*entries));
	e.name = strtab__id(m->names, c->name, strlen(c->name));
	if (entries)
		m->entries = entries;
	if (!entries || !e.name)
		return -ENOMEM;
	if (m->cnt && e.time_ns < entries[m->cnt - 1].time_ns) /* written by another thread */
		e.time_ns = entries[m->cnt - 1].time_ns;
	codemap_keep_frames(m, c, &e);
	m->entries[m->cnt] = e;
	err = codemap_add_to_pages(m, &e);
	m->cnt++; /* also on failure, because versions may refer to it */
	return err;
}

static int codemap_copy_entry(struct codemap *to, const struct codemap *m,
			      const struct codemap_entry *e)
{
	return codemap__add(to,
			    &(struct code){
				    .start = e->start,
				    .sz = e->end - e->start,
				    .time_ns = e->time_ns,
				    .name = strtab__str(m->names, e->name, NULL),
				    .frames = e->frames_sz ? m->frames.data + e->frames_off : NULL,
				    .frames_sz = e->frames_sz,
			    });
}

int codemap__keep_newest(struct codemap *m)
{
	struct codemap *fresh = codemap__new(), old = *m;
	int err = fresh ? 0 : -ENOMEM;

	for (size_t i = m->cnt - m->cnt / 2; i < m->cnt && !err; i++)
		err = codemap_copy_entry(fresh, m, &m->entries[i]);
	if (!err) {
		fresh->reused = old.reused + 1;
		*m = *fresh;
		*fresh = old;
	}
	codemap__free(fresh);
	return err;
}

bool codemap__find(const struct codemap *m, uint64_t addr, uint64_t time_ns, struct code *c)
{
	const struct codemap_page *p = codemap_find_page(m, addr >> PAGE_BITS);
	const struct codemap_entry *e;
	uint32_t last = p ? p->pieces[codemap_find_piece(p, addr % PAGE_SZ)].last : NONE;

	if (last == NONE)
		return false;
	e = &m->entries[codemap_version_at(m, last, time_ns)];
	*c = (struct code){ .start = e->start,
			    .sz = e->end - e->start,
			    .time_ns = e->time_ns,
			    .name = strtab__str(m->names, e->name, NULL),
			    .frames = e->frames_sz ? m->frames.data + e->frames_off : NULL,
			    .frames_sz = e->frames_sz };
	return true;
}

size_t codemap__cnt(const struct codemap *m)
{
	return m->cnt;
}

size_t codemap__sz(const struct codemap *m)
{
	return m->cap * sizeof(*m->entries) + m->version_cap * sizeof(*m->versions) +
	       m->page_cap * sizeof(*m->pages) + hashindex__sz(&m->index) +
	       m->piece_cap * sizeof(struct piece) + strtab__sz(m->names) + m->frames.cap;
}

uint32_t codemap__reused(const struct codemap *m)
{
	return m->reused;
}
