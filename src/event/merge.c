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

void merge__drain(struct stream **streams, size_t cnt, uint64_t until_ns, record_fn fn, void *arg)
{
	for (size_t i = 0; i < cnt; i++) {
		streams[i]->begin(streams[i]);
		streams[i]->head_ns = streams[i]->peek(streams[i]);
	}
	for (size_t i = cnt / 2; i-- > 0;)
		sift_down(streams, cnt, i);
	while (cnt && streams[0]->head_ns <= until_ns && streams[0]->head_ns != STREAM_EMPTY) {
		streams[0]->next(streams[0], fn, arg);
		streams[0]->head_ns = streams[0]->peek(streams[0]);
		sift_down(streams, cnt, 0);
	}
	for (size_t i = 0; i < cnt; i++)
		streams[i]->end(streams[i]);
}
