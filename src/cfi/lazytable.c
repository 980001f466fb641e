// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/lazytable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "cfi/tablerows.h"
#include "cfi/sigreturn.h"

#define FDE_MAX 32768 /* bytes; most have 50, that of gcc's largest function 20,064 */
#define CIE_MAX 160   /* bytes, including the fields before the version */
#define CIES	4     /* cached CIEs: most files have two */

/* One look-up takes about a microsecond. Building a table takes some tens of microseconds, plus
 * three milliseconds per MB of .eh_frame. */
#define BYTES_PER_ANSWER 256
#define ANSWERS_MIN	 64
#define KNOWN_MAX	 128

struct known_cie {
	uint64_t at;
	bool valid;
	struct cfi_cie cie; /* its instructions point into: */
	uint8_t bytes[CIE_MAX];
};

/* Most look-ups hit a rule of an earlier look-up, because one rule covers many places. */
struct lazytable_known_rule {
	uint64_t from, to; /* offsets in the file */
	struct packed_rule rule;
};

struct lazy_table {
	struct lazy_source source; /* owns its segments */
	const struct machine *machine;
	struct paged_file paged;
	struct eh_frame_hdr search;
	struct known_cie cies[CIES];
	bool reads_code;
	bool has_marks; /* read when a look-up needs them, which is rare */
	struct table_override marks[OVERRIDES_OF_SECTIONS];
	size_t mark_cnt;
	size_t known_cnt;
	struct lazytable_known_rule known[KNOWN_MAX]; /* ascending, no overlaps */
};

/* ---- opening ------------------------------------------------------------------------------------
 */

static void *lazytable_copy(const void *from, size_t sz)
{
	void *to = malloc(sz ? sz : 1);

	return to && sz ? memcpy(to, from, sz) : to;
}

static uint64_t lazytable_end_of_code(const struct lazy_source *s)
{
	uint64_t end = 0;

	for (size_t i = 0; i < s->segment_cnt; i++)
		if (s->segments[i].vaddr + s->segments[i].sz > end)
			end = s->segments[i].vaddr + s->segments[i].sz;
	return end;
}

static struct lazy_table *lazytable_make(const struct elf_file *f, const struct lazy_source *s)
{
	struct lazy_table *x = malloc(sizeof(*x)); /* not zeroed, because known[] is large */

	if (!x)
		return NULL;
	x->has_marks = false;
	x->mark_cnt = x->known_cnt = 0;
	for (size_t i = 0; i < CIES; i++)
		x->cies[i].valid = false;
	x->machine = f->machine;
	x->source = *s;
	x->source.segments = lazytable_copy(s->segments, s->segment_cnt * sizeof(*s->segments));
	if (x->source.segments)
		return x;
	free(x);
	return NULL;
}

struct lazy_table *lazy_table__new(const struct lazy_source *s, const struct elf_file *f,
				   struct lazy_reader reader)
{
	struct paged_file paged = page_cache__add(reader.pages);
	const struct page_reader pages = { &paged, f, reader.read };
	struct eh_frame_hdr search;
	struct lazy_table *x;
	int err = eh_frame_hdr__open(&search, &pages, &s->hdr, s->frames.vaddr,
				     lazytable_end_of_code(s));

	if (err)
		return errno = -err, NULL;
	x = lazytable_make(f, s);
	if (!x) {
		eh_frame_hdr__close(&search);
		return NULL;
	}
	x->paged = paged;
	x->search = search;
	x->reads_code = table_source__may_read_code(s->segments, s->segment_cnt);
	return x;
}

void lazy_table__free(struct lazy_table *x)
{
	if (!x)
		return;
	free((void *)x->source.segments);
	eh_frame_hdr__close(&x->search);
	free(x);
}

size_t lazy_table__sz(const struct lazy_table *x)
{
	return sizeof(*x) + eh_frame_hdr__sz(&x->search);
}

size_t lazy_table__worth(const struct lazy_table *x)
{
	return x->source.frames.sz / BYTES_PER_ANSWER + ANSWERS_MIN;
}

/* ---- one look-up -------------------------------------------------------------------------------
 */

/* A look-up of one place in the file, and its results so far. */
struct lazytable_question {
	struct lazy_table *index;
	const struct lazy_query *query;
	struct page_reader reader;
	struct table_source source;
	struct packed_rule rule; /* of the last row that begins at or before the place: */
	uint64_t from, to;	 /* start of that row, start of the next one */
	bool whole;		 /* no other rule applies between them */
	bool gap;		 /* no FDE covers the place */
	int err;
	uint8_t *room; /* FDE_MAX bytes, for an FDE that spans two pages */
	struct known_cie *cie;
	struct cfi_section section;
	struct cfi_reader frames; /* reads that FDE */
};

static void lazytable_note(const struct cfi_row *rows, size_t cnt, void *arg)
{
	struct lazytable_question *q = arg;
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

/* Counts the known rules that begin at or before the place. */
static size_t lazytable_count_known(const struct lazy_table *x, uint64_t off)
{
	return SEARCH_COUNT(x->known, x->known_cnt, k, k->from <= off);
}

/* Inserts the rule at index `at`, as lazytable_count_known() returned it. Rules of forged files may
 * overlap: such rules are not stored. */
static void lazytable_remember(struct lazy_table *x, const struct lazytable_question *q, size_t at)
{
	struct lazytable_known_rule *k = &x->known[at];

	if (x->known_cnt == KNOWN_MAX || (at && k[-1].to > q->from) ||
	    (at < x->known_cnt && k->from < q->to))
		return;
	memmove(k + 1, k, (x->known_cnt - at) * sizeof(*k));
	*k = (struct lazytable_known_rule){ q->from, q->to, q->rule };
	x->known_cnt++;
}

/* A table_find_fn that searches only trampolines that cover the place, or follow it. */
static bool lazytable_find_trampoline(void *arg, uint64_t from, uint64_t to,
				      struct table_override *found)
{
	struct lazytable_question *q = arg;
	const struct code_pattern *code = elf_code__sigreturn_code(q->index->machine);
	uint64_t place = q->query->off, first = place - (code->sz - 1), past = place + 1 + code->sz;
	uint8_t bytes[2 * sizeof(code->bytes)], *at;

	to = to - from < SIGRETURN_GAP_MAX ? to : from + SIGRETURN_GAP_MAX;
	from = place >= code->sz && first > from ? first : from;
	to = past < to ? past : to;
	if (to < from || to - from < code->sz)
		return false;
	q->err = page_reader__read(&q->reader, from, bytes, to - from);
	at = q->err ? NULL : memmem(bytes, to - from, code->bytes, code->sz);
	if (at)
		*found = sigreturn__mark(q->index->machine, from + (uint64_t)(at - bytes));
	return at;
}

/* A table_code_fn. Bypasses the page cache, because the current FDE may be in one of its pages. */
static bool lazytable_read_code(void *arg, uint64_t off, void *to, size_t sz)
{
	struct lazytable_question *q = arg;
	int err = q->query->read(q->query->file, off, to, sz);

	if (err && err != -EIO) /* a table gets no code past the end of the file either */
		q->err = err;
	return !err;
}

static bool lazytable_find_vaddr(const struct table_source *s, uint64_t off, uint64_t *vaddr)
{
	for (size_t i = 0; i < s->segment_cnt; i++) {
		*vaddr = off - s->segments[i].off + s->segments[i].vaddr;
		if (off - s->segments[i].off < s->segments[i].sz)
			return true;
	}
	return false;
}

/* Returns the CIE at offset `at`, or NULL. Its section's bytes begin at `at`. */
static struct known_cie *lazytable_find_cie(const struct lazytable_question *q, uint64_t at)
{
	const struct lazy_section *frames = &q->index->source.frames;
	struct known_cie *k = &q->index->cies[at / 8 % CIES];
	struct cfi_section s = { k->bytes, CIE_MAX, frames->vaddr + at, true };

	if (k->valid && k->at == at)
		return k;
	if (at >= frames->sz)
		return NULL;
	if (frames->sz - at < s.sz)
		s.sz = frames->sz - at;
	k->at = at;
	k->valid = !page_reader__read(&q->reader, frames->off + at, k->bytes, s.sz) &&
		   cfi_reader__cie(&s, 0, &k->cie);
	return k->valid ? k : NULL;
}

/* The start of an FDE. */
struct fde_head {
	uint32_t sz;	   /* without this field */
	uint32_t distance; /* from here back to the CIE */
};

/* Returns the size in bytes, or 0 if it exceeds the section or the FDEs of compilers. */
static uint32_t lazytable_fde_sz(const struct fde_head *h, uint64_t left)
{
	uint32_t most = left < FDE_MAX ? (uint32_t)left : FDE_MAX;

	return h->sz >= sizeof(h->distance) && h->sz <= most - sizeof(h->sz)
		       ? h->sz + (uint32_t)sizeof(h->sz)
		       : 0;
}

/* Reads the FDE at an offset of its section. The parser sees only the FDE's bytes, and the CIE at
 * the distance that the FDE gives. The FDE's bytes are read last, because they may be in a page. */
static int lazytable_find_fde(struct lazytable_question *q, uint64_t at, struct cfi_fde *fde)
{
	const struct lazy_section *frames = &q->index->source.frames;
	struct fde_head head;
	const void *bytes;
	uint32_t sz;
	int err = at >= frames->sz || frames->sz - at < sizeof(head)
			  ? -EINVAL
			  : page_reader__read(&q->reader, frames->off + at, &head, sizeof(head));

	if (err)
		return err;
	sz = lazytable_fde_sz(&head, frames->sz - at);
	q->cie = sz ? lazytable_find_cie(q, at + sizeof(head.sz) - head.distance) : NULL;
	if (!q->cie)
		return -EINVAL;
	err = page_reader__see(&q->reader, frames->off + at, sz, q->room, &bytes);
	if (err)
		return err;
	q->section = (struct cfi_section){ bytes, sz, frames->vaddr + at, true };
	q->frames = (struct cfi_reader){ &q->section, sizeof(head.sz) - (uint64_t)head.distance,
					 q->cie->cie, true };
	/* the file may change: the FDE must refer to the CIE that was read */
	at = q->frames.cie_at;
	return cfi_reader__fde(&q->frames, 0, fde) && q->frames.cie_at == at ? 0 : -EINVAL;
}

/* Before the first FDE there are only overrides. */
static int lazytable_find_before(struct lazytable_question *q, struct table_rows *rows,
				 uint64_t first)
{
	const struct table_source *s = &q->source;

	q->gap = true;
	if (s->mark_cnt && s->marks[0].off < first) {
		rows->end = s->marks[0].off;
		table_rows__gap(rows, first);
	}
	return q->err;
}

/* The rule is from one of the FDE's rows. The FDE ends at `end`; the next one begins at `next`. */
static void lazytable_fit(struct lazytable_question *q, uint64_t end, uint64_t next)
{
	end = next < end ? next : end;
	q->to = q->to < end ? q->to : end;
	q->whole = q->from <= q->query->off && q->query->off < q->to;
}

/* Handles the last FDE that begins at or before the place, and the gap after it. */
static int lazytable_find_in_fde(struct lazytable_question *q, struct table_rows *rows,
				 const struct hdr_hit *hit)
{
	const struct hdr_entry *e = hit->entries;
	uint64_t hdr = q->index->source.hdr.vaddr, next = 0;
	struct cfi_fde fde;
	int err = lazytable_find_fde(
		q, hdr + (uint64_t)(int64_t)e->fde - q->index->source.frames.vaddr, &fde);

	if (err)
		return err;
	if (fde.start != hdr + (uint64_t)(int64_t)e->place ||
	    !table_rows__place(&q->source, &fde) ||
	    (!hit->last &&
	     !table_rows__off(&q->source, hdr + (uint64_t)(int64_t)e[1].place, &next)))
		return -EINVAL;
	fde.enough = q->query->off;
	table_rows__fde(rows, &fde);
	if (q->err)
		return q->err;
	if (!q->cie->cie.begun) /* keeps the initial state of the FDEs, which was just computed */
		q->cie->cie = q->frames.cie;
	if (q->query->off < rows->end) {
		lazytable_fit(q, rows->end, hit->last ? rows->end : next);
		return 0;
	}
	q->gap = true;
	if (hit->last)
		table_rows__finish(rows);
	else
		table_rows__gap(rows, next);
	return q->err;
}

static int lazytable_find(struct lazytable_question *q, uint64_t vaddr)
{
	struct table_rows rows = { .source = &q->source, .set = lazytable_note, .arg = q };
	uint64_t hdr = q->index->source.hdr.vaddr, first;
	struct hdr_hit hit;
	int err = eh_frame_hdr__find(&q->index->search, &q->reader, (int64_t)(vaddr - hdr), &hit);

	if (err)
		return err;
	if (!hit.before)
		return lazytable_find_in_fde(q, &rows, &hit);
	return table_rows__off(&q->source, hdr + (uint64_t)(int64_t)hit.entries[0].place, &first)
		       ? lazytable_find_before(q, &rows, first)
		       : -EINVAL;
}

/* ---- overrides ---------------------------------------------------------------------------------
 */

/* Returns whether an override may be in [from, to). */
static bool lazytable_is_marked(const struct lazy_table *x, uint64_t from, uint64_t to)
{
	for (size_t n = 0; n < OVERRIDES_SECTIONS; n++) {
		const struct lazy_section *s = &x->source.marked[n];

		if (from < s->vaddr + s->sz && to > s->vaddr)
			return true;
	}
	return false;
}

static int lazytable_learn_marks(const struct lazytable_question *q)
{
	struct override_section sections[OVERRIDES_SECTIONS] = { 0 };
	struct lazy_table *x = q->index;
	struct overrides marks = { 0 };
	int err = 0;

	for (size_t n = 0; n < OVERRIDES_SECTIONS && !err; n++) {
		const struct lazy_section *from = &x->source.marked[n];
		struct override_section *s = &sections[n];

		s->vaddr = from->vaddr;
		s->sz = from->sz;
		err = page_reader__read(&q->reader, from->off, s->bytes,
					s->sz < sizeof(s->bytes) ? s->sz : sizeof(s->bytes));
	}
	if (err)
		return err;
	overrides__of_sections(&marks, x->machine, sections);
	x->mark_cnt = table_rows__marks(&q->source, &marks, x->marks);
	x->has_marks = true;
	return 0;
}

/* ---- the rule ----------------------------------------------------------------------------------
 */

/* Looks up the rule in the FDEs and the known overrides. */
static int lazytable_find_anew(struct lazytable_question *q, uint64_t vaddr)
{
	q->source.marks = q->index->marks;
	q->source.mark_cnt = q->index->mark_cnt;
	q->rule = (struct packed_rule){ .how = PACKED_NONE };
	q->from = 0;
	q->to = UINT64_MAX;
	q->whole = q->gap = false;
	return lazytable_find(q, vaddr);
}

/* Returns whether overrides can change the result: the place is in a gap, or they may be in the
 * range that would be remembered. */
static bool lazytable_needs_marks(const struct lazytable_question *q, uint64_t vaddr)
{
	uint64_t before = q->whole ? q->query->off - q->from : 0;
	uint64_t behind = q->whole ? q->to - q->query->off : 1;

	return !q->index->has_marks &&
	       (q->gap || lazytable_is_marked(q->index, vaddr - before, vaddr + behind));
}

static int lazytable_find_rule(struct lazytable_question *q)
{
	uint64_t vaddr;
	int err;

	if (!lazytable_find_vaddr(&q->source, q->query->off, &vaddr))
		return -EINVAL;
	err = lazytable_find_anew(q, vaddr);
	if (err || !lazytable_needs_marks(q, vaddr))
		return err;
	err = lazytable_learn_marks(q);
	return err ? err : lazytable_find_anew(q, vaddr);
}

int lazy_table__rule(struct lazy_table *x, const struct lazy_query *query, struct packed_rule *rule)
{
	uint8_t room[FDE_MAX];
	struct lazytable_question q = { .index = x,
					.query = query,
					.reader = { &x->paged, query->file, query->read },
					.room = room,
					.source = { .machine = x->machine,
						    .segments = x->source.segments,
						    .segment_cnt = x->source.segment_cnt,
						    .find_trampoline =
							    lazytable_find_trampoline } };
	size_t known = lazytable_count_known(x, query->off);
	int err;

	if (known && query->off < x->known[known - 1].to) {
		*rule = x->known[known - 1].rule;
		return 0;
	}
	q.source.find_arg = q.source.code_arg = &q;
	if (x->reads_code)
		q.source.read_code = lazytable_read_code;
	err = lazytable_find_rule(&q);
	if (!err && q.whole)
		lazytable_remember(x, &q, known);
	*rule = q.rule;
	return err;
}
