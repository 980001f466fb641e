// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/codemap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/buf.h"
#include "base/strtab.h"

#define PAGE_BITS    12
#define FUNCTION_MAX (16u << 20) /* bytes; a JIT's largest blob is its interpreter, some 100 KB */
#define ENTRIES_MAX  (1u << 19)	 /* a large Java program has 100,000 */
#define LINKS_MAX    (1u << 21)
#define NAMES_MAX    (32u << 20) /* bytes */
#define FRAMES_MAX   (32u << 20)
#define STEPS_MAX    1024 /* looked at in one page: a forged one may have millions */
#define SLOTS_MIN    256
#define NONE	     UINT32_MAX

struct entry {
	uint64_t start, end, time_ns;
	uint32_t name;			/* in names */
	uint32_t frames_off, frames_sz; /* in frames */
};

/* The entries of a page, the last added first. */
struct link {
	uint32_t entry, next;
};

struct slot {
	uint64_t page;
	uint32_t first; /* link; NONE: the slot is free */
};

struct codemap {
	struct entry *entries;
	size_t cnt, cap;
	struct link *links;
	size_t link_cnt, link_cap;
	struct slot *slots; /* open addressing, a power of two, at most half full */
	size_t slot_mask, slot_cnt;
	struct strtab *names;
	struct buf frames;
	uint32_t reused;
};

static struct slot *new_slots(size_t cnt)
{
	struct slot *slots = malloc(cnt * sizeof(*slots));

	for (size_t i = 0; slots && i < cnt; i++)
		slots[i] = (struct slot){ 0, NONE };
	return slots;
}

struct codemap *codemap__new(void)
{
	struct codemap *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->slot_mask = SLOTS_MIN - 1;
	m->slots = new_slots(SLOTS_MIN);
	m->names = strtab__new();
	if (m->slots && m->names)
		return m;
	codemap__free(m);
	return errno = ENOMEM, NULL;
}

void codemap__free(struct codemap *m)
{
	if (!m)
		return;
	strtab__free(m->names);
	buf__free(&m->frames);
	free(m->slots);
	free(m->links);
	free(m->entries);
	free(m);
}

/* The page's slot, or the free one where it would be. */
static struct slot *find_slot(const struct codemap *m, uint64_t page)
{
	size_t i = (size_t)((page * 0x9e3779b97f4a7c15u) >> 20);

	while (m->slots[i & m->slot_mask].first != NONE && m->slots[i & m->slot_mask].page != page)
		i++;
	return &m->slots[i & m->slot_mask];
}

static int grow_slots(struct codemap *m)
{
	struct codemap bigger = { .slot_mask = 2 * m->slot_mask + 1 };

	bigger.slots = new_slots(bigger.slot_mask + 1);
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i <= m->slot_mask; i++)
		if (m->slots[i].first != NONE)
			*find_slot(&bigger, m->slots[i].page) = m->slots[i];
	free(m->slots);
	m->slots = bigger.slots;
	m->slot_mask = bigger.slot_mask;
	return 0;
}

/* Whether the newest that e overlaps is another function. */
static bool replaces(const struct codemap *m, const struct slot *s, const struct entry *e)
{
	uint32_t at = s->first;

	for (int steps = 0; at != NONE && steps < STEPS_MAX; steps++, at = m->links[at].next) {
		const struct entry *old = &m->entries[m->links[at].entry];

		if (old->start < e->end && e->start < old->end)
			return old->start != e->start || old->name != e->name;
	}
	return false;
}

static int add_link(struct codemap *m, uint64_t page, const struct entry *e)
{
	struct link *links = array__room(m->links, m->link_cnt, &m->link_cap, sizeof(*links));
	struct slot *s;

	if (!links)
		return -ENOMEM;
	m->links = links;
	if (m->link_cnt == LINKS_MAX)
		return -E2BIG;
	if (2 * m->slot_cnt > m->slot_mask && grow_slots(m) != 0)
		return -ENOMEM;
	s = find_slot(m, page);
	m->slot_cnt += s->first == NONE;
	m->reused += replaces(m, s, e);
	links[m->link_cnt] = (struct link){ (uint32_t)m->cnt, s->first };
	*s = (struct slot){ page, (uint32_t)m->link_cnt++ };
	return 0;
}

/* A function without them is walked by frame pointer, as when there is no more room. */
static void keep_frames(struct codemap *m, const struct code *c, struct entry *e)
{
	if (!c->frames_sz || c->frames_sz > FRAMES_MAX - m->frames.sz)
		return;
	e->frames_off = (uint32_t)m->frames.sz;
	buf__append(&m->frames, c->frames, c->frames_sz);
	e->frames_sz = buf__err(&m->frames) ? 0 : (uint32_t)c->frames_sz;
}

int codemap__add(struct codemap *m, const struct code *c)
{
	struct entry *entries,
		e = { .start = c->start, .end = c->start + c->sz, .time_ns = c->time_ns };
	int err = 0;

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
	keep_frames(m, c, &e);
	m->entries[m->cnt] = e;
	for (uint64_t page = e.start >> PAGE_BITS; page <= (e.end - 1) >> PAGE_BITS && !err; page++)
		err = add_link(m, page, &e);
	m->cnt++; /* links may refer to it, also when it failed */
	return err;
}

bool codemap__find(const struct codemap *m, uint64_t addr, uint64_t time_ns, struct code *c)
{
	uint32_t at = find_slot(m, addr >> PAGE_BITS)->first;
	const struct entry *found = NULL;

	for (int steps = 0; at != NONE && steps < STEPS_MAX; steps++, at = m->links[at].next) {
		const struct entry *e = &m->entries[m->links[at].entry];

		if (addr < e->start || addr >= e->end)
			continue;
		found = e;
		if (e->time_ns <= time_ns)
			break;
	}
	if (!found)
		return false;
	*c = (struct code){ .start = found->start,
			    .sz = found->end - found->start,
			    .time_ns = found->time_ns,
			    .name = strtab__str(m->names, found->name, NULL),
			    .frames = found->frames_sz ? m->frames.data + found->frames_off : NULL,
			    .frames_sz = found->frames_sz };
	return true;
}

size_t codemap__cnt(const struct codemap *m)
{
	return m->cnt;
}

size_t codemap__sz(const struct codemap *m)
{
	return m->cap * sizeof(*m->entries) + m->link_cap * sizeof(*m->links) +
	       (m->slot_mask + 1) * sizeof(*m->slots) + strtab__sz(m->names) + m->frames.cap;
}

uint32_t codemap__reused(const struct codemap *m)
{
	return m->reused;
}
