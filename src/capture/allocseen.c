// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/allocseen.h"

#define RETRY_NS 30000000000 /* after workers failed */

static struct alloc_seen_entry *alloc_seen_find(struct alloc_seen *s,
						const struct alloc_seen_file *f)
{
	for (size_t i = 0; i < s->cnt; i++) {
		const struct alloc_seen_file *known = &s->at[i].file;

		if (known->dev == f->dev && known->ino == f->ino && known->own == f->own)
			return &s->at[i];
	}
	return NULL;
}

/* Returns true if a known file is to be looked into again. */
static bool alloc_seen_again(struct alloc_seen *s, struct alloc_seen_entry *e, uint32_t tgid,
			     uint64_t now_ns)
{
	if (!e->retry_ns)
		return false;
	e->tgid = tgid;
	if (now_ns < e->retry_ns)
		return false;
	e->retry_ns = 0;
	s->failed_cnt--;
	return true;
}

bool alloc_seen__add(struct alloc_seen *s, const struct alloc_seen_file *f, uint32_t tgid,
		     uint64_t now_ns)
{
	struct alloc_seen_entry *e = alloc_seen_find(s, f);

	if (e)
		return alloc_seen_again(s, e, tgid, now_ns);
	if (s->cnt == ALLOC_SEEN_MAX)
		return false;
	s->at[s->cnt++] = (struct alloc_seen_entry){ .file = *f, .tgid = tgid };
	return true;
}

void alloc_seen__remove(struct alloc_seen *s, const struct alloc_seen_file *f)
{
	struct alloc_seen_entry *e = alloc_seen_find(s, f);

	if (e)
		*e = s->at[--s->cnt];
}

void alloc_seen__fail(struct alloc_seen *s, const struct alloc_seen_file *f, uint64_t now_ns)
{
	struct alloc_seen_entry *e = alloc_seen_find(s, f);

	if (!e || e->retry_ns)
		return;
	e->retry_ns = now_ns + RETRY_NS;
	s->failed_cnt++;
}

uint32_t alloc_seen__due(struct alloc_seen *s, uint64_t now_ns, uint32_t *own)
{
	for (size_t i = 0; s->failed_cnt && i < s->cnt; i++) {
		struct alloc_seen_entry *e = &s->at[i];
		uint32_t tgid = e->tgid;

		if (!e->retry_ns || now_ns < e->retry_ns || !tgid)
			continue;
		e->tgid = 0;
		*own = e->file.own;
		return tgid;
	}
	return 0;
}
