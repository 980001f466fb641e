// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/frameindex.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/framerows.h"
#include "unwind/trampolines.h"

#define BLOCK	64  /* entries of the search table, of which the first one's place is kept */
#define EVENLY	128 /* blocks: functions of so many are mostly about as long */
#define GUESSES 16
#define UNREAD	INT32_MIN
#define FDE_MAX 32768 /* bytes; most have 50, the largest function of gcc 20,064 */
#define CIE_MAX 160   /* bytes with what is before its version */
#define CIES	4     /* that are kept: most files have two */

/* An answer takes about a microsecond, a table some tens, and three milliseconds per MB of
 * .eh_frame. */
#define BYTES_PER_ANSWER 256
#define ANSWERS_MIN	 64
#define KNOWN_MAX	 128

/* LSB 5.0 core, 10.6.2. */
struct head {
	uint8_t version, frames_encoding, cnt_encoding, table_encoding;
	int32_t frames; /* counted from itself */
	uint32_t cnt;
};

/* Both count from where .eh_frame_hdr begins. */
struct entry {
	int32_t place, fde;
};

struct known_cie {
	uint64_t at;
	bool valid;
	struct callframe_cie cie; /* its instructions are in: */
	uint8_t bytes[CIE_MAX];
};

/* What is asked for is mostly where somebody has asked before: a rule holds for many places. */
struct known_rule {
	uint64_t from, to; /* offsets in the file */
	struct flat_rule rule;
};

struct frame_index {
	struct index_source source; /* owns its segments */
	const struct machine *machine;
	struct paged_file paged;
	uint32_t cnt;	 /* entries of the search table */
	int64_t end;	 /* of the code */
	int32_t *firsts; /* of its blocks; UNREAD as long as nobody has asked */
	struct known_cie cies[CIES];
	bool has_marks; /* they are asked for where they matter: mostly nobody comes there */
	struct table_mark marks[MARKS_OF_SECTIONS];
	size_t mark_cnt;
	size_t known_cnt;
	struct known_rule known[KNOWN_MAX]; /* ascending, no overlaps */
};

/* ---- opening ------------------------------------------------------------------------------------
 */

/* As all linkers write it. */
static bool is_usual(const struct head *h, const struct index_source *s)
{
	return s->hdr.off % sizeof(int32_t) == 0 && h->version == 1 &&
	       h->frames_encoding == (DW_EH_PE_pcrel | DW_EH_PE_sdata4) &&
	       h->cnt_encoding == DW_EH_PE_udata4 &&
	       h->table_encoding == (DW_EH_PE_datarel | DW_EH_PE_sdata4) &&
	       s->hdr.vaddr + 4 + (uint64_t)(int64_t)h->frames == s->frames.vaddr && h->cnt > 0 &&
	       h->cnt <= TABLE_FDE_MAX && h->cnt <= (s->hdr.sz - sizeof(*h)) / sizeof(struct entry);
}

static uint64_t entry_off(const struct index_source *s, uint32_t i)
{
	return s->hdr.off + sizeof(struct head) + (uint64_t)i * sizeof(struct entry);
}

static uint32_t block_cnt(const struct frame_index *x)
{
	return (x->cnt + BLOCK - 1) / BLOCK;
}

/* Of the code, as entries count, which cannot say more than INT32_MAX. */
static int64_t find_end(const struct index_source *s)
{
	uint64_t end = 0;
	int64_t place;

	for (size_t i = 0; i < s->segment_cnt; i++)
		if (s->segments[i].vaddr + s->segments[i].sz > end)
			end = s->segments[i].vaddr + s->segments[i].sz;
	place = (int64_t)(end - s->hdr.vaddr);
	return place < INT32_MAX ? place : INT32_MAX;
}

static void *copy(const void *from, size_t sz)
{
	void *to = malloc(sz ? sz : 1);

	return to && sz ? memcpy(to, from, sz) : to;
}

static struct frame_index *make(const struct elf_file *f, const struct index_source *s,
				uint32_t cnt)
{
	struct frame_index *x = malloc(sizeof(*x)); /* not zeroed: what it will know is large */

	if (!x)
		return NULL;
	x->has_marks = false;
	x->mark_cnt = x->known_cnt = 0;
	for (size_t i = 0; i < CIES; i++)
		x->cies[i].valid = false;
	x->machine = f->machine;
	x->cnt = cnt;
	x->firsts = malloc(block_cnt(x) * sizeof(*x->firsts));
	for (size_t i = 0; x->firsts && i < block_cnt(x); i++)
		x->firsts[i] = UNREAD;
	x->source = *s;
	x->source.segments = copy(s->segments, s->segment_cnt * sizeof(*s->segments));
	x->end = find_end(s);
	if (x->source.segments && x->firsts)
		return x;
	frame_index__free(x);
	return NULL;
}

struct frame_index *frame_index__new(const struct index_source *s, const struct elf_file *f,
				     struct index_reader reader)
{
	struct paged_file paged = file_pages__add(reader.pages);
	struct page_read from = { f, reader.read, s->hdr.off, sizeof(struct head) };
	struct frame_index *x;
	struct head head;
	int err = s->hdr.sz < sizeof(head) ? -EINVAL : paged_file__read(&paged, from, &head);

	if (!err && !is_usual(&head, s))
		err = -EINVAL;
	if (err)
		return errno = -err, NULL;
	x = make(f, s, head.cnt);
	if (x)
		x->paged = paged;
	return x;
}

void frame_index__free(struct frame_index *x)
{
	if (!x)
		return;
	free((void *)x->source.segments);
	free(x->firsts);
	free(x);
}

size_t frame_index__sz(const struct frame_index *x)
{
	return sizeof(*x) + block_cnt(x) * sizeof(*x->firsts);
}

size_t frame_index__worth(const struct frame_index *x)
{
	return x->source.frames.sz / BYTES_PER_ANSWER + ANSWERS_MIN;
}

/* ---- asking -------------------------------------------------------------------------------------
 */

/* One place in the file, and what is known of it so far. */
struct question {
	struct frame_index *index;
	const struct index_query *query;
	struct table_source source;
	struct flat_rule rule; /* of the last row that begins before it, or there: */
	uint64_t from, to;     /* where that row begins, and the next one */
	bool whole;	       /* no other rule can hold between them */
	bool gap;	       /* no FDE has the place */
	int err;
	uint8_t *room; /* FDE_MAX, for the FDE in hand where it is in two pages */
	struct known_cie *cie;
	struct frame_section section;
	struct callframe_reader reader; /* of that FDE */
};

static int read_at(const struct question *q, uint64_t off, void *to, size_t sz)
{
	const struct page_read from = { q->query->file, q->query->read, off, sz };

	return paged_file__read(&q->index->paged, from, to);
}

/* In `room` or in a page: until the next read. */
static int see_at(const struct question *q, uint64_t off, void *room, size_t sz, const void **at)
{
	const struct page_read from = { q->query->file, q->query->read, off, sz };

	return paged_file__see(&q->index->paged, from, room, at);
}

static void note(const struct callframe_row *rows, size_t cnt, void *arg)
{
	struct question *q = arg;
	size_t before = cnt;

	while (before && rows[before - 1].at > q->query->off)
		before--;
	if (before) {
		q->rule = rows[before - 1].rule;
		q->from = rows[before - 1].at;
	}
	if (before < cnt && rows[before].at < q->to)
		q->to = rows[before].at;
}

/* How many begin not behind the place. */
static size_t count_known(const struct frame_index *x, uint64_t off)
{
	size_t lo = 0, hi = x->known_cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (x->known[mid].from <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Behind the `at` that begin not behind the place. Forged files may have some that overlap: those
 * are asked for again. */
static void remember(struct frame_index *x, const struct question *q, size_t at)
{
	struct known_rule *k = &x->known[at];

	if (x->known_cnt == KNOWN_MAX || (at && k[-1].to > q->from) ||
	    (at < x->known_cnt && k->from < q->to))
		return;
	memmove(k + 1, k, (x->known_cnt - at) * sizeof(*k));
	*k = (struct known_rule){ q->from, q->to, q->rule };
	x->known_cnt++;
}

/* A table_find_fn, of those that hold the place, or lie behind it. */
static bool find_trampoline(void *arg, uint64_t from, uint64_t to, struct table_mark *found)
{
	struct question *q = arg;
	const struct text_pattern *code = text__sigreturn_code(q->index->machine);
	uint64_t place = q->query->off, first = place - (code->sz - 1), past = place + 1 + code->sz;
	uint8_t bytes[2 * sizeof(code->bytes)], *at;

	to = to - from < TRAMPOLINES_GAP_MAX ? to : from + TRAMPOLINES_GAP_MAX;
	from = place >= code->sz && first > from ? first : from;
	to = past < to ? past : to;
	if (to < from || to - from < code->sz)
		return false;
	q->err = read_at(q, from, bytes, to - from);
	at = q->err ? NULL : memmem(bytes, to - from, code->bytes, code->sz);
	if (at)
		*found = trampolines__mark(q->index->machine, from + (uint64_t)(at - bytes));
	return at;
}

static bool find_vaddr(const struct table_source *s, uint64_t off, uint64_t *vaddr)
{
	for (size_t i = 0; i < s->segment_cnt; i++) {
		*vaddr = off - s->segments[i].off + s->segments[i].vaddr;
		if (off - s->segments[i].off < s->segments[i].sz)
			return true;
	}
	return false;
}

/* Its section's bytes begin at `at`. */
static struct known_cie *find_cie(const struct question *q, uint64_t at)
{
	const struct index_section *frames = &q->index->source.frames;
	struct known_cie *k = &q->index->cies[at / 8 % CIES];
	struct frame_section s = { k->bytes, CIE_MAX, frames->vaddr + at, true };

	if (k->valid && k->at == at)
		return k;
	if (at >= frames->sz)
		return NULL;
	if (frames->sz - at < s.sz)
		s.sz = frames->sz - at;
	k->at = at;
	k->valid = !read_at(q, frames->off + at, k->bytes, s.sz) && callframe__cie(&s, 0, &k->cie);
	return k->valid ? k : NULL;
}

/* What an FDE begins with. */
struct fde_head {
	uint32_t sz;	   /* without itself */
	uint32_t distance; /* to the CIE, from here */
};

/* How many bytes it has; 0: more than there are, or than compilers make. */
static uint32_t fde_sz(const struct fde_head *h, uint64_t left)
{
	uint32_t most = left < FDE_MAX ? (uint32_t)left : FDE_MAX;

	return h->sz >= sizeof(h->distance) && h->sz <= most - sizeof(h->sz)
		       ? h->sz + (uint32_t)sizeof(h->sz)
		       : 0;
}

/* The FDE at an offset of its section. The parser sees nothing but its bytes, and is given the CIE,
 * to which the FDE says the distance; nothing is read between. */
static int find_fde(struct question *q, uint64_t at, struct callframe_fde *fde)
{
	const struct index_section *frames = &q->index->source.frames;
	struct fde_head head;
	const void *bytes;
	uint32_t sz;
	int err = at >= frames->sz || frames->sz - at < sizeof(head)
			  ? -EINVAL
			  : read_at(q, frames->off + at, &head, sizeof(head));

	if (err)
		return err;
	sz = fde_sz(&head, frames->sz - at);
	q->cie = sz ? find_cie(q, at + sizeof(head.sz) - head.distance) : NULL;
	if (!q->cie)
		return -EINVAL;
	err = see_at(q, frames->off + at, q->room, sz, &bytes);
	if (err)
		return err;
	q->section = (struct frame_section){ bytes, sz, frames->vaddr + at, true };
	q->reader =
		(struct callframe_reader){ &q->section, sizeof(head.sz) - (uint64_t)head.distance,
					   q->cie->cie, true };
	at = q->reader.cie_at; /* a file may change: its CIE must be the one that was read */
	return callframe__fde(&q->reader, 0, fde) && q->reader.cie_at == at ? 0 : -EINVAL;
}

/* Before the first FDE there is nothing but marks. */
static int ask_before(struct question *q, struct frame_rows *rows, uint64_t first)
{
	const struct table_source *s = &q->source;

	q->gap = true;
	if (s->mark_cnt && s->marks[0].off < first) {
		rows->end = s->marks[0].off;
		frame_rows__gap(rows, first);
	}
	return q->err;
}

/* The rule is one of the FDE's rows, which ends at `end`; the next one begins at `next`. */
static int fits(struct question *q, uint64_t end, uint64_t next)
{
	end = next < end ? next : end;
	q->to = q->to < end ? q->to : end;
	q->whole = q->from <= q->query->off && q->query->off < q->to;
	return 0;
}

/* The FDE that begins last before the place, and the gap behind it. */
static int ask_fde(struct question *q, struct frame_rows *rows, const struct entry *e, bool last)
{
	uint64_t hdr = q->index->source.hdr.vaddr, next = 0;
	struct callframe_fde fde;
	int err =
		find_fde(q, hdr + (uint64_t)(int64_t)e->fde - q->index->source.frames.vaddr, &fde);

	if (err)
		return err;
	if (fde.start != hdr + (uint64_t)(int64_t)e->place ||
	    !frame_rows__place(&q->source, &fde) ||
	    (!last && !frame_rows__off(&q->source, hdr + (uint64_t)(int64_t)e[1].place, &next)))
		return -EINVAL;
	fde.enough = q->query->off;
	frame_rows__fde(rows, &fde);
	if (!q->cie->cie.begun) /* what all FDEs begin with need not be found again */
		q->cie->cie = q->reader.cie;
	if (q->query->off < rows->end)
		return fits(q, rows->end, last ? rows->end : next);
	q->gap = true;
	if (last)
		frame_rows__finish(rows);
	else
		frame_rows__gap(rows, next);
	return q->err;
}

static int see_entries(const struct question *q, uint32_t i, uint32_t cnt, struct entry *room,
		       const struct entry **at)
{
	const void *entries;
	int err = see_at(q, entry_off(&q->index->source, i), room, cnt * sizeof(*room), &entries);

	*at = entries;
	return err;
}

/* Where the block of that number begins. */
static int see_first(const struct question *q, uint32_t block, int64_t *place)
{
	int32_t *first = &q->index->firsts[block];
	const struct entry *e;
	struct entry room;
	int err = *first == UNREAD ? see_entries(q, block * BLOCK, 1, &room, &e) : 0;

	if (err)
		return err;
	if (*first == UNREAD)
		*first = e->place;
	*place = *first;
	return 0;
}

/* Blocks that may hold a place: those before `from` begin at `low` or before, those from `to` on at
 * `high` or behind. */
struct range {
	uint32_t from, to;
	int64_t low, high; /* of 32 bits, or `high` is before all places */
};

/* Where functions lie evenly a guess is mostly in the page that has the answer, and the middle of
 * the rest in one that nobody has read. */
static uint32_t guess(const struct range *r, int64_t place, unsigned tries)
{
	uint32_t cnt = r->to - r->from, by = cnt / 2;

	if (cnt <= EVENLY && tries < GUESSES && place >= r->low && place < r->high)
		by = (uint32_t)((uint64_t)cnt * (uint64_t)(place - r->low) /
				(uint64_t)(r->high - r->low));
	return r->from + by;
}

/* How many blocks begin not behind the place. */
static int count_blocks(const struct question *q, int64_t place, uint32_t *cnt)
{
	struct range r = { 1, block_cnt(q->index), 0, q->index->end };
	int err = see_first(q, 0, &r.low);

	if (err || place < r.low)
		return *cnt = 0, err;
	for (unsigned tries = 0; !err && r.from < r.to; tries++) {
		uint32_t block = guess(&r, place, tries);
		int64_t first;

		err = see_first(q, block, &first);
		if (err)
			break;
		if (first <= place) {
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

/* How many of the entries begin not behind the place; without a branch that nobody can foretell. */
static uint32_t count_entries(const struct entry *e, uint32_t cnt, int64_t place)
{
	const struct entry *at = e;

	for (uint32_t half; cnt; cnt -= half) {
		half = (cnt + 1) / 2;
		at = at[half - 1].place <= place ? at + half : at;
	}
	return (uint32_t)(at - e);
}

static int ask(struct question *q, int64_t place)
{
	struct frame_rows rows = { .source = &q->source, .set = note, .arg = q };
	struct frame_index *x = q->index;
	struct entry room[BLOCK + 1], found[2];
	const struct entry *e;
	uint32_t blocks, first, cnt, k;
	uint64_t off;
	int err = count_blocks(q, place, &blocks);

	if (err)
		return err;
	first = blocks ? (blocks - 1) * BLOCK : 0;
	cnt = x->cnt - first < BLOCK + 1 ? x->cnt - first : BLOCK + 1;
	err = see_entries(q, first, cnt, room, &e);
	if (err)
		return err;
	k = count_entries(e, cnt, place);
	if (k == cnt && first + k != x->cnt) /* the next block begins later than it did */
		return -EINVAL;
	if (k) {
		memcpy(found, &e[k - 1],
		       (k < cnt ? 2 : 1) * sizeof(*found)); /* before more is read */
		return ask_fde(q, &rows, found, first + k == x->cnt);
	}
	if (blocks ||
	    !frame_rows__off(&q->source, x->source.hdr.vaddr + (uint64_t)(int64_t)e[0].place, &off))
		return -EINVAL;
	return ask_before(q, &rows, off);
}

/* ---- marks --------------------------------------------------------------------------------------
 */

/* Whether something in [from, to) may be. */
static bool is_marked(const struct frame_index *x, uint64_t from, uint64_t to)
{
	for (size_t n = 0; n < MARKS_SECTIONS; n++) {
		const struct index_section *s = &x->source.marked[n];

		if (from < s->vaddr + s->sz && to > s->vaddr)
			return true;
	}
	return false;
}

static int learn_marks(const struct question *q)
{
	struct marks_section sections[MARKS_SECTIONS] = { 0 };
	struct frame_index *x = q->index;
	struct marks marks = { 0 };
	int err = 0;

	for (size_t n = 0; n < MARKS_SECTIONS && !err; n++) {
		const struct index_section *from = &x->source.marked[n];
		struct marks_section *s = &sections[n];

		s->vaddr = from->vaddr;
		s->sz = from->sz;
		err = read_at(q, from->off, s->bytes,
			      s->sz < sizeof(s->bytes) ? s->sz : sizeof(s->bytes));
	}
	if (err)
		return err;
	marks__of_sections(&marks, x->machine, sections);
	x->mark_cnt = frame_rows__marks(&q->source, &marks, x->marks);
	x->has_marks = true;
	return 0;
}

/* ---- an answer ----------------------------------------------------------------------------------
 */

/* What the FDEs say, and the marks that are known. */
static int ask_anew(struct question *q, uint64_t vaddr)
{
	q->source.marks = q->index->marks;
	q->source.mark_cnt = q->index->mark_cnt;
	q->rule = (struct flat_rule){ .how = FLAT_NONE };
	q->from = 0;
	q->to = UINT64_MAX;
	q->whole = q->gap = false;
	return ask(q, (int64_t)(vaddr - q->index->source.hdr.vaddr));
}

/* In a gap, or in all that would be remembered. */
static bool needs_marks(const struct question *q, uint64_t vaddr)
{
	uint64_t before = q->whole ? q->query->off - q->from : 0;
	uint64_t behind = q->whole ? q->to - q->query->off : 1;

	return !q->index->has_marks &&
	       (q->gap || is_marked(q->index, vaddr - before, vaddr + behind));
}

static int find_rule(struct question *q)
{
	uint64_t vaddr;
	int err;

	if (!find_vaddr(&q->source, q->query->off, &vaddr))
		return -EINVAL;
	err = ask_anew(q, vaddr);
	if (err || !needs_marks(q, vaddr))
		return err;
	err = learn_marks(q);
	return err ? err : ask_anew(q, vaddr);
}

int frame_index__rule(struct frame_index *x, const struct index_query *query,
		      struct flat_rule *rule)
{
	uint8_t room[FDE_MAX];
	struct question q = { .index = x,
			      .query = query,
			      .room = room,
			      .source = { .machine = x->machine,
					  .segments = x->source.segments,
					  .segment_cnt = x->source.segment_cnt,
					  .find_trampoline = find_trampoline } };
	size_t known = count_known(x, query->off);
	int err;

	if (known && query->off < x->known[known - 1].to) {
		*rule = x->known[known - 1].rule;
		return 0;
	}
	q.source.find_arg = &q;
	err = find_rule(&q);
	if (!err && q.whole)
		remember(x, &q, known);
	*rule = q.rule;
	return err;
}
