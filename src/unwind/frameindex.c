// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/frameindex.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/framerows.h"
#include "unwind/trampolines.h"

#define STEP	32   /* entries of the search table, of which the first one's place is kept */
#define CHUNK	2048 /* entries that are read at a time in the beginning */
#define FDE_MAX 4096 /* bytes; real ones have 50, the largest functions' 2,000 */
#define GUESS	512  /* of them, that are read at first */
#define CIE_MAX 160  /* bytes with what is before its version */
#define CIES	4    /* that are kept: most files have two */

/* An answer takes about a microsecond, a table four milliseconds per MB of .eh_frame. */
#define BYTES_PER_ANSWER 256

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

struct gap {
	uint64_t from, to;
	bool searched, found;
	struct table_mark mark;
};

struct frame_index {
	struct index_source source; /* owns its arrays */
	const struct machine *machine;
	uint32_t cnt;
	size_t place_cnt;
	int32_t *places;
	struct known_cie cies[CIES];
	struct gap gap; /* the last one that was looked through */
};

/* ---- opening ------------------------------------------------------------------------------------
 */

/* As all linkers write it. */
static bool is_usual(const struct head *h, const struct index_source *s)
{
	return h->version == 1 && h->frames_encoding == (DW_EH_PE_pcrel | DW_EH_PE_sdata4) &&
	       h->cnt_encoding == DW_EH_PE_udata4 &&
	       h->table_encoding == (DW_EH_PE_datarel | DW_EH_PE_sdata4) &&
	       s->hdr.vaddr + 4 + (uint64_t)(int64_t)h->frames == s->frames.vaddr && h->cnt > 0 &&
	       h->cnt <= TABLE_FDE_MAX && h->cnt <= (s->hdr.sz - sizeof(*h)) / sizeof(struct entry);
}

static uint64_t entry_off(const struct index_source *s, uint32_t i)
{
	return s->hdr.off + sizeof(struct head) + (uint64_t)i * sizeof(struct entry);
}

/* Those that are kept must ascend. */
static int read_places(struct frame_index *x, const struct elf_file *f, elf_file_read_fn read)
{
	struct entry chunk[CHUNK];
	int64_t before = INT64_MIN;

	for (uint32_t i = 0; i < x->cnt; i += CHUNK) {
		uint32_t cnt = x->cnt - i < CHUNK ? x->cnt - i : CHUNK;
		int err = read(f, entry_off(&x->source, i), chunk, cnt * sizeof(*chunk));

		if (err)
			return err;
		for (uint32_t k = 0; k < cnt; k += STEP) {
			if (chunk[k].place <= before)
				return -EINVAL;
			before = x->places[x->place_cnt++] = chunk[k].place;
		}
	}
	return 0;
}

static void *copy(const void *from, size_t sz)
{
	void *to = malloc(sz ? sz : 1);

	return to && sz ? memcpy(to, from, sz) : to;
}

static struct frame_index *make(const struct elf_file *f, const struct index_source *s,
				uint32_t cnt)
{
	struct frame_index *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->machine = f->machine;
	x->cnt = cnt;
	x->source = *s;
	x->source.segments = copy(s->segments, s->segment_cnt * sizeof(*s->segments));
	x->source.marks = copy(s->marks, s->mark_cnt * sizeof(*s->marks));
	x->places = malloc((cnt + STEP - 1) / STEP * sizeof(*x->places));
	if (x->source.segments && x->source.marks && x->places)
		return x;
	frame_index__free(x);
	return NULL;
}

struct frame_index *frame_index__new(const struct index_source *s, const struct elf_file *f,
				     elf_file_read_fn read)
{
	struct frame_index *x;
	struct head head;
	int err = s->hdr.sz < sizeof(head) ? -EINVAL : read(f, s->hdr.off, &head, sizeof(head));

	if (!err && !is_usual(&head, s))
		err = -EINVAL;
	if (err)
		return errno = -err, NULL;
	x = make(f, s, head.cnt);
	if (!x)
		return NULL;
	err = read_places(x, f, read);
	if (!err)
		return x;
	frame_index__free(x);
	return errno = -err, NULL;
}

void frame_index__free(struct frame_index *x)
{
	if (!x)
		return;
	free((void *)x->source.segments);
	free((void *)x->source.marks);
	free(x->places);
	free(x);
}

size_t frame_index__sz(const struct frame_index *x)
{
	return sizeof(*x) + x->place_cnt * sizeof(*x->places);
}

size_t frame_index__worth(const struct frame_index *x)
{
	return x->source.frames.sz / BYTES_PER_ANSWER + 1;
}

/* ---- asking -------------------------------------------------------------------------------------
 */

/* One place in the file, and what is known of it so far. */
struct question {
	struct frame_index *index;
	const struct index_query *query;
	struct table_source source;
	struct flat_rule rule; /* of the last row that begins before it, or there */
	int err;
	uint8_t *bytes; /* FDE_MAX, of the FDE in hand */
};

static int read_at(const struct question *q, uint64_t off, void *to, size_t sz)
{
	return q->query->read(q->query->file, off, to, sz);
}

static void note(uint64_t off, struct flat_rule rule, void *arg)
{
	struct question *q = arg;

	if (off <= q->query->off)
		q->rule = rule;
}

/* A table_find_fn. Programs that make code have one large gap that is asked for again and again. */
static bool find_trampoline(void *arg, uint64_t from, uint64_t to, struct table_mark *found)
{
	struct question *q = arg;
	struct gap *gap = &q->index->gap;
	struct trampolines search;

	if (!gap->searched || gap->from != from || gap->to != to) {
		search = trampolines__in(q->query->file, q->query->read, 1);
		*gap = (struct gap){ .from = from, .to = to };
		gap->found = trampolines__find(&search, from, to, &gap->mark);
		gap->searched = !search.err;
		q->err = search.err;
		trampolines__free(&search);
	}
	*found = gap->mark;
	return gap->found;
}

/* Of an address in code. */
static bool find_place(const struct table_source *s, uint64_t vaddr, uint64_t *off)
{
	for (size_t i = 0; i < s->segment_cnt; i++) {
		*off = vaddr - s->segments[i].vaddr + s->segments[i].off;
		if (vaddr - s->segments[i].vaddr < s->segments[i].sz)
			return true;
	}
	return false;
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

/* How many of the places that are kept are not behind this one. */
static size_t upper(const struct frame_index *x, int64_t place)
{
	size_t lo = 0, hi = x->place_cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (x->places[mid] <= place)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Its section's bytes begin at `at`. */
static const struct callframe_cie *find_cie(const struct question *q, uint64_t at)
{
	const struct index_section *frames = &q->index->source.frames;
	struct known_cie *k = &q->index->cies[at / 8 % CIES];
	struct frame_section s = { k->bytes, CIE_MAX, frames->vaddr + at, true };

	if (k->valid && k->at == at)
		return &k->cie;
	if (at >= frames->sz)
		return NULL;
	if (frames->sz - at < s.sz)
		s.sz = frames->sz - at;
	k->at = at;
	k->valid = !read_at(q, frames->off + at, k->bytes, s.sz) && callframe__cie(&s, 0, &k->cie);
	return k->valid ? &k->cie : NULL;
}

/* All of its bytes, and how many these are. */
static int read_fde(const struct question *q, uint64_t at, uint32_t *sz)
{
	const struct index_section *frames = &q->index->source.frames;
	uint64_t left = frames->sz - at, off = frames->off + at;
	uint32_t got = left < GUESS ? (uint32_t)left : GUESS;
	int err = got < 2 * sizeof(*sz) ? -EINVAL : read_at(q, off, q->bytes, got);

	if (err)
		return err;
	memcpy(sz, q->bytes, sizeof(*sz));
	if (*sz < sizeof(*sz) || *sz > FDE_MAX - sizeof(*sz) || *sz > left - sizeof(*sz))
		return -EINVAL;
	*sz += sizeof(*sz);
	return *sz > got ? read_at(q, off, q->bytes, *sz) : 0;
}

/* The FDE at an offset of its section. The parser sees nothing but its bytes, and is given the CIE,
 * to which the FDE says the distance. */
static int find_fde(const struct question *q, uint64_t at, struct callframe_fde *fde)
{
	struct frame_section s = { q->bytes, 0, q->index->source.frames.vaddr + at, true };
	struct callframe_reader reader = { .section = &s, .has_cie = true };
	const struct callframe_cie *cie;
	uint32_t sz, distance;
	int err = at < q->index->source.frames.sz ? read_fde(q, at, &sz) : -EINVAL;

	if (err)
		return err;
	s.sz = sz;
	memcpy(&distance, q->bytes + sizeof(distance), sizeof(distance));
	cie = find_cie(q, at + sizeof(distance) - distance);
	if (!cie)
		return -EINVAL;
	reader.cie = *cie;
	reader.cie_at = sizeof(distance) - (uint64_t)distance;
	return callframe__fde(&reader, 0, fde) ? 0 : -EINVAL;
}

/* Before the first FDE there is nothing but marks. */
static int ask_before(struct question *q, struct frame_rows *rows, uint64_t first)
{
	const struct table_source *s = &q->source;

	if (s->mark_cnt && s->marks[0].off < first) {
		rows->end = s->marks[0].off;
		frame_rows__gap(rows, first);
	}
	return q->err;
}

/* The FDE that begins last before the place, and the gap behind it. */
static int ask_fde(struct question *q, struct frame_rows *rows, const struct entry *e, bool last)
{
	uint64_t hdr = q->index->source.hdr.vaddr, next = 0;
	struct callframe_fde fde;
	struct frame_span span;
	int err =
		find_fde(q, hdr + (uint64_t)(int64_t)e->fde - q->index->source.frames.vaddr, &fde);

	if (err)
		return err;
	if (fde.start != hdr + (uint64_t)(int64_t)e->place ||
	    !frame_rows__span(&q->source, &fde, &span) ||
	    (!last && !find_place(&q->source, hdr + (uint64_t)(int64_t)e[1].place, &next)))
		return -EINVAL;
	frame_rows__fde(rows, &fde, &span);
	if (q->query->off < rows->end)
		return 0;
	if (last)
		frame_rows__finish(rows);
	else
		frame_rows__gap(rows, next);
	return q->err;
}

static int ask(struct question *q, int64_t place)
{
	struct frame_rows rows = { .source = &q->source, .set = note, .arg = q };
	struct frame_index *x = q->index;
	size_t block = upper(x, place);
	struct entry e[STEP + 1];
	uint32_t first = (uint32_t)(block - !!block) * STEP, k = 0;
	uint32_t cnt = x->cnt - first < STEP + 1 ? x->cnt - first : STEP + 1;
	uint64_t off;
	int err = read_at(q, entry_off(&x->source, first), e, cnt * sizeof(*e));

	if (err)
		return err;
	while (k < cnt && e[k].place <= place)
		k++;
	if (k)
		return ask_fde(q, &rows, &e[k - 1], first + k == x->cnt);
	if (block ||
	    !find_place(&q->source, x->source.hdr.vaddr + (uint64_t)(int64_t)e[0].place, &off))
		return -EINVAL;
	return ask_before(q, &rows, off);
}

int frame_index__rule(struct frame_index *x, const struct index_query *query,
		      struct flat_rule *rule)
{
	uint8_t bytes[FDE_MAX];
	struct question q = { .index = x,
			      .query = query,
			      .bytes = bytes,
			      .source = { .machine = x->machine,
					  .segments = x->source.segments,
					  .segment_cnt = x->source.segment_cnt,
					  .marks = x->source.marks,
					  .mark_cnt = x->source.mark_cnt,
					  .find_trampoline = find_trampoline },
			      .rule = { .how = FLAT_NONE } };
	uint64_t vaddr;
	int err;

	q.source.find_arg = &q;
	if (!find_vaddr(&q.source, query->off, &vaddr))
		return -EINVAL;
	err = ask(&q, (int64_t)(vaddr - x->source.hdr.vaddr));
	*rule = q.rule;
	return err;
}
