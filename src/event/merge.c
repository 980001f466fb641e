// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/merge.h"

/* The array of streams is the heap: the stream whose next record is the earliest is the first. */
static void sift_down(struct stream **heap, size_t cnt, size_t at)
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

void merge__drain(const struct streams *streams, uint64_t until_ns, record_fn fn, void *arg)
{
	struct stream **v = streams->v;
	size_t cnt = streams->cnt;

	for (size_t i = 0; i < cnt; i++) {
		v[i]->begin(v[i]);
		v[i]->head_ns = v[i]->peek(v[i]);
	}
	for (size_t i = cnt / 2; i-- > 0;)
		sift_down(v, cnt, i);
	while (cnt && v[0]->head_ns <= until_ns && v[0]->head_ns != STREAM_EMPTY) {
		v[0]->next(v[0], fn, arg);
		v[0]->head_ns = v[0]->peek(v[0]);
		sift_down(v, cnt, 0);
	}
	for (size_t i = 0; i < cnt; i++)
		v[i]->end(v[i]);
}
