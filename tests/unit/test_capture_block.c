// SPDX-License-Identifier: GPL-2.0-or-later
/* bpf/block.bpf.c: requests to disks, without the event of their end. */
#include "lib/capture_take.h"

#include <fcntl.h>

#include "capture/capture_private.h"

#define WRITES 200

static void write_and_sync(void)
{
	char path[] = "capture-block-XXXXXX", data[4096] = { 1 };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	for (int i = 0; i < WRITES; i++) {
		assert_int_equal(pwrite(fd, data, sizeof(data), i % 8 * 4096), sizeof(data));
		assert_int_equal(fsync(fd), 0);
	}
	close(fd);
}

/* The event of the same operation, or of the next one of its bio, after the ith; NULL: none. */
static const struct event *next_of(const struct take *t, size_t i)
{
	for (size_t next = i + 1; next < t->cnt; next++) {
		if (t->events[next]->join == t->events[i]->join)
			return t->events[next];
	}
	return NULL;
}

/* Its time is that of the next request of the bio: the order of the events of a bio is that of
 * their times on all CPUs. */
static void check_end(const struct event *begin, const struct event *end)
{
	assert_true(end->flags & EVENT_F_CLOSE);
	assert_true(end->flags & EVENT_F_UNTIMED);
	assert_int_equal(end->kind, begin->kind);
	assert_in_range(end->time_ns, begin->time_ns + 1, UINT64_MAX);
	assert_int_equal(end->reason, EVENT_REASON_END_UNSEEN);
	assert_int_equal(end->amount > 0, begin->kind != EVENT_BLK_FLUSH);
}

static void an_unseen_end_is_reported_when_the_bio_is_used_again(void **state)
{
	struct take t = { .options.ring_sz = 4 << 20 };
	uint32_t pid = (uint32_t)getpid();
	size_t begun = 0, ended = 0;
	uint64_t since_ns;

	(void)state;
	t.options.filter = (struct capture_filter){ .pids = &pid, .pid_cnt = 1 };
	take__begin(&t, "block:k");
	bpf_link__destroy(t.capture->skel->links.block__complete);
	t.capture->skel->links.block__complete = NULL;
	since_ns = take__now();
	write_and_sync();
	take__end(&t);
	for (size_t i = 0; i < t.cnt; i++) {
		const struct event *next = next_of(&t, i);

		/* A page that was read while the program was detached may have its end. */
		if (!(t.events[i]->flags & EVENT_F_OPEN) || t.events[i]->time_ns < since_ns)
			continue;
		begun++;
		if (!next || next->flags & EVENT_F_CANCEL)
			continue;
		check_end(t.events[i], next);
		ended++;
	}
	take__free(&t);
	if (!begun)
		skip_because("this folder is not on a disk with requests");
	assert_true(ended > begun / 2);
}

RUN_TESTS(ROOT_TEST(an_unseen_end_is_reported_when_the_bio_is_used_again))
