// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "collector/wakeups.h"

#define MS	   1000000ull
#define SECOND	   1000000000ull
#define A_WHILE_NS (10 * SECOND) /* no call here takes this long, on any busy machine */

struct fixture {
	struct wakeups wakeups;
	int ring, signal, news;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .ring = eventfd(0, EFD_NONBLOCK),
			      .signal = eventfd(0, EFD_NONBLOCK),
			      .news = eventfd(0, EFD_NONBLOCK) };
	assert_int_equal(wakeups__init(&f.wakeups), 0);
	assert_int_equal(wakeups__watch(&f.wakeups, f.ring, WAKEUP_RING), 0);
	assert_int_equal(wakeups__watch(&f.wakeups, f.signal, WAKEUP_SIGNAL), 0);
	assert_int_equal(epoll_ctl(f.wakeups.news_fd, EPOLL_CTL_ADD, f.news,
				   &(struct epoll_event){ .events = EPOLLIN, .data.fd = f.news }),
			 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	wakeups__close(&f->wakeups);
	close(f->ring);
	close(f->signal);
	close(f->news);
	return 0;
}

static void time_wakes(void **state)
{
	struct fixture *f = *state;
	uint64_t from_ns = monotonic__ns();

	assert_int_equal(wakeups__wait(&f->wakeups, 20 * MS), 0);
	assert_true(monotonic__ns() - from_ns >= 20 * MS);
	assert_int_equal(wakeups__wait(&f->wakeups, 0), 0);
}

static void urgent_news_wake_with_a_reason(void **state)
{
	struct fixture *f = *state;
	eventfd_t told;

	eventfd_write(f->ring, 1);
	assert_int_equal(wakeups__wait(&f->wakeups, A_WHILE_NS), WAKEUP_RING);
	eventfd_write(f->signal, 1);
	assert_int_equal(wakeups__wait(&f->wakeups, A_WHILE_NS), WAKEUP_RING | WAKEUP_SIGNAL);
	eventfd_read(f->ring, &told);
	assert_int_equal(wakeups__wait(&f->wakeups, A_WHILE_NS), WAKEUP_SIGNAL);
}

static void news_wake_at_once_but_not_again_soon(void **state)
{
	struct fixture *f = *state;
	uint64_t from_ns = monotonic__ns();

	eventfd_write(f->news, 1);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(wakeups__wait(&f->wakeups, A_WHILE_NS), 0);
		assert_true(monotonic__ns() - from_ns < A_WHILE_NS);
	}
	assert_true(monotonic__ns() - from_ns >= 4 * 10 * MS);
}

static void urgent_news_wake_while_others_do_not(void **state)
{
	struct fixture *f = *state;

	eventfd_write(f->news, 1);
	assert_int_equal(wakeups__wait(&f->wakeups, A_WHILE_NS), 0);
	eventfd_write(f->ring, 1);
	assert_int_equal(wakeups__wait(&f->wakeups, A_WHILE_NS), WAKEUP_RING);
}

static void news_do_not_put_off_the_time(void **state)
{
	struct fixture *f = *state;

	eventfd_write(f->news, 1);
	assert_int_equal(wakeups__wait(&f->wakeups, A_WHILE_NS), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(wakeups__wait(&f->wakeups, 0), 0);
}

#define test_with_fds(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(test_with_fds(time_wakes), test_with_fds(urgent_news_wake_with_a_reason),
	  test_with_fds(news_wake_at_once_but_not_again_soon),
	  test_with_fds(urgent_news_wake_while_others_do_not),
	  test_with_fds(news_do_not_put_off_the_time))
