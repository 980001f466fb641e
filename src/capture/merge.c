// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/merge.h"

/* The array of streams is a heap: the stream with the earliest next record comes first. */
static void merge_sift_down(struct stream **heap, size_t cnt, size_t at)
{
	struct stream *moving = heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= cnt)
			break;
		if (child + 1 < cnt && heap[child + 1]->head_ns < heap[child]->head_ns)
			child++;
		if (heap[child]->head_ns >= moving->head_ns)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

/* Samples that are not yet handed out. */
struct merge_output {
	struct record records[RECORD_BATCH];
	struct stream *from[RECORD_BATCH];
	size_t cnt;
	records_fn fn;
	void *arg;
	struct stream *stream; /* the stream that is being read */
};

static void merge_hand_out(struct merge_output *b)
{
	if (b->cnt)
		b->fn(b->records, b->cnt, b->arg);
	for (size_t i = 0; i < b->cnt; i++) {
		if (i == 0 || b->from[i] != b->from[i - 1])
			b->from[i]->end(b->from[i]);
	}
	b->cnt = 0;
}

static void merge_take(const struct record *r, void *arg)
{
	struct merge_output *b = arg;

	if (r->type != RECORD_SAMPLE) {
		merge_hand_out(b);
		b->fn(r, 1, b->arg);
		return;
	}
	b->from[b->cnt] = b->stream;
	b->records[b->cnt++] = *r;
}

void merge__drain(const struct streams *streams, uint64_t until_ns, records_fn fn, void *arg)
{
	struct merge_output b; /* 4 KB; the unused part is not cleared */
	struct stream **v = streams->v;
	size_t cnt = streams->cnt;

	b.cnt = 0;
	b.fn = fn;
	b.arg = arg;
	for (size_t i = 0; i < cnt; i++) {
		v[i]->begin(v[i]);
		v[i]->head_ns = v[i]->peek(v[i]);
	}
	for (size_t i = cnt / 2; i-- > 0;)
		merge_sift_down(v, cnt, i);
	while (cnt && v[0]->head_ns <= until_ns && v[0]->head_ns != STREAM_EMPTY) {
		b.stream = v[0];
		v[0]->next(v[0], merge_take, &b);
		if (b.cnt == RECORD_BATCH)
			merge_hand_out(&b);
		v[0]->head_ns = v[0]->peek(v[0]);
		merge_sift_down(v, cnt, 0);
	}
	merge_hand_out(&b);
	for (size_t i = 0; i < streams->cnt; i++)
		v[i]->end(v[i]);
}
