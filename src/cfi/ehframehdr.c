// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/ehframehdr.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/table.h"

#define BLOCK	64  /* entries per block; the place of the first one is cached */
#define EVENLY	128 /* blocks: across so many, functions have about the same length */
#define GUESSES 16
#define UNREAD	INT32_MIN

struct head {
	uint8_t version, frames_encoding, cnt_encoding, table_encoding;
	int32_t frames; /* relative to this field */
	uint32_t cnt;
};

/* ---- opening ------------------------------------------------------------------------------------
 */

static bool ehframehdr_is_usual(const struct head *h, const struct lazy_section *hdr,
				uint64_t frames)
{
	return hdr->off % sizeof(int32_t) == 0 && h->version == 1 &&
	       h->frames_encoding == (DW_EH_PE_pcrel | DW_EH_PE_sdata4) &&
	       h->cnt_encoding == DW_EH_PE_udata4 &&
	       h->table_encoding == (DW_EH_PE_datarel | DW_EH_PE_sdata4) &&
	       hdr->vaddr + 4 + (uint64_t)(int64_t)h->frames == frames && h->cnt > 0 &&
	       h->cnt <= TABLE_FDE_MAX &&
	       h->cnt <= (hdr->sz - sizeof(*h)) / sizeof(struct hdr_entry);
}

static uint32_t ehframehdr_block_cnt(const struct eh_frame_hdr *t)
{
	return (t->cnt + BLOCK - 1) / BLOCK;
}

int eh_frame_hdr__open(struct eh_frame_hdr *t, const struct page_reader *r,
		       const struct lazy_section *hdr, uint64_t frames, uint64_t code_end)
{
	int64_t end = (int64_t)(code_end - hdr->vaddr);
	struct head head;
	int err = hdr->sz < sizeof(head) ? -EINVAL
					 : page_reader__read(r, hdr->off, &head, sizeof(head));

	if (err)
		return err;
	if (!ehframehdr_is_usual(&head, hdr, frames))
		return -EINVAL;
	*t = (struct eh_frame_hdr){ .hdr = *hdr,
				    .cnt = head.cnt,
				    .end = end < INT32_MAX ? end : INT32_MAX };
	t->firsts = malloc(eh_frame_hdr__sz(t));
	for (uint32_t i = 0; t->firsts && i < ehframehdr_block_cnt(t); i++)
		t->firsts[i] = UNREAD;
	return t->firsts ? 0 : -ENOMEM;
}

void eh_frame_hdr__close(struct eh_frame_hdr *t)
{
	free(t->firsts);
}

size_t eh_frame_hdr__sz(const struct eh_frame_hdr *t)
{
	return ehframehdr_block_cnt(t) * sizeof(*t->firsts);
}

/* ---- finding ------------------------------------------------------------------------------------
 */

/* The arguments of one look-up. */
struct ehframehdr_search {
	struct eh_frame_hdr *table;
	const struct page_reader *reader;
	int64_t place;
};

/* Sets `*at` to entries in `room` or in a page, valid until the next read. */
static int ehframehdr_see_entries(const struct ehframehdr_search *s, uint32_t i, uint32_t cnt,
				  struct hdr_entry *room, const struct hdr_entry **at)
{
	uint64_t off = s->table->hdr.off + sizeof(struct head) + (uint64_t)i * sizeof(*room);
	const void *entries;
	int err = page_reader__see(s->reader, off, cnt * sizeof(*room), room, &entries);

	*at = entries;
	return err;
}

/* Sets `*place` to the start of a block. */
static int ehframehdr_see_first(const struct ehframehdr_search *s, uint32_t block, int64_t *place)
{
	int32_t *first = &s->table->firsts[block];
	const struct hdr_entry *e;
	struct hdr_entry room;
	int err = *first == UNREAD ? ehframehdr_see_entries(s, block * BLOCK, 1, &room, &e) : 0;

	if (err)
		return err;
	if (*first == UNREAD)
		*first = e->place;
	*place = *first;
	return 0;
}

/* The blocks that may contain a place: those before `from` begin at `low` or before, those from
 * `to` on begin at `high` or after. */
struct ehframehdr_range {
	uint32_t from, to;
	int64_t low, high; /* 32-bit values, unless `high` is before all places */
};

/* Returns the next block to read. Where functions are evenly spaced, an interpolated guess is
 * mostly in the page that has the answer; the middle would be in a page that has not been read. */
static uint32_t ehframehdr_guess(const struct ehframehdr_range *r, int64_t place, unsigned tries)
{
	uint32_t cnt = r->to - r->from, by = cnt / 2;

	if (cnt <= EVENLY && tries < GUESSES && place >= r->low && place < r->high)
		by = (uint32_t)((uint64_t)cnt * (uint64_t)(place - r->low) /
				(uint64_t)(r->high - r->low));
	return r->from + by;
}

/* Counts the blocks that begin at or before the place. */
static int ehframehdr_count_blocks(const struct ehframehdr_search *s, uint32_t *cnt)
{
	struct ehframehdr_range r = { 1, ehframehdr_block_cnt(s->table), 0, s->table->end };
	int err = ehframehdr_see_first(s, 0, &r.low);

	if (err || s->place < r.low)
		return *cnt = 0, err;
	for (unsigned tries = 0; !err && r.from < r.to; tries++) {
		uint32_t block = ehframehdr_guess(&r, s->place, tries);
		int64_t first;

		err = ehframehdr_see_first(s, block, &first);
		if (err)
			break;
		if (first <= s->place) {
			r.from = block + 1;
			r.low = first;
		} else {
			r.to = block;
			r.high = first;
		}
	}
	*cnt = r.from;
	return err;
}

/* Counts the entries that begin at or before the place, without unpredictable branches. */
static uint32_t ehframehdr_count_entries(const struct hdr_entry *e, uint32_t cnt, int64_t place)
{
	const struct hdr_entry *at = e;

	for (uint32_t half; cnt; cnt -= half) {
		half = (cnt + 1) / 2;
		at = at[half - 1].place <= place ? at + half : at;
	}
	return (uint32_t)(at - e);
}

int eh_frame_hdr__find(struct eh_frame_hdr *t, const struct page_reader *r, int64_t place,
		       struct hdr_hit *hit)
{
	const struct ehframehdr_search s = { t, r, place };
	struct hdr_entry room[BLOCK + 1];
	const struct hdr_entry *e;
	uint32_t blocks, first, cnt, k;
	int err = ehframehdr_count_blocks(&s, &blocks);

	if (err)
		return err;
	first = blocks ? (blocks - 1) * BLOCK : 0;
	cnt = t->cnt - first < BLOCK + 1 ? t->cnt - first : BLOCK + 1;
	err = ehframehdr_see_entries(&s, first, cnt, room, &e);
	if (err)
		return err;
	k = ehframehdr_count_entries(e, cnt, place);
	hit->before = k == 0;
	hit->last = first + k == t->cnt;
	if ((k == 0 && blocks) || (k == cnt && !hit->last)) /* the file is forged, or has changed */
		return -EINVAL;
	memcpy(hit->entries, &e[k ? k - 1 : 0], (k && k < cnt ? 2 : 1) * sizeof(*e));
	return 0;
}
