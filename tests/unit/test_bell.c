// SPDX-License-Identifier: GPL-2.0-or-later
/* Waiting for a change that another thread makes. */
#include "lib/test.h"

#include <errno.h>

#include "base/bell.h"
#include "base/monotonic.h"
#include "base/priority.h"

#define ROUNDS 500

struct game {
	pthread_mutex_t lock;
	struct bell changed;
	uint32_t turn; /* even or odd: the thread that may run */
};

static void take_turn(struct game *g, uint32_t parity)
{
	pthread_mutex_lock(&g->lock);
	while (g->turn % 2 != parity)
		bell__wait(&g->changed, &g->lock, UINT64_MAX);
	g->turn++;
	bell__ring(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

static void *second_player(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		take_turn(arg, 1);
	return NULL;
}

/* The test would hang if a ring were missed. */
static void no_ring_is_missed(void **state)
{
	struct game g = { .turn = 0 };
	pthread_t t;

	(void)state;
	priority__init_lock(&g.lock);
	assert_int_equal(pthread_create(&t, NULL, second_player, &g), 0);
	for (int i = 0; i < ROUNDS; i++)
		take_turn(&g, 0);
	pthread_join(t, NULL);
	assert_int_equal(g.turn, 2 * ROUNDS);
	assert_int_equal(g.changed.waiting, 0);
	pthread_mutex_destroy(&g.lock);
}

static void a_wait_ends_in_time(void **state)
{
	struct game g = { .turn = 0 };
	uint64_t until_ns = monotonic__ns() + 20000000;

	(void)state;
	priority__init_lock(&g.lock);
	pthread_mutex_lock(&g.lock);
	while (monotonic__ns() < until_ns)
		bell__wait(&g.changed, &g.lock, until_ns);
	assert_int_equal(pthread_mutex_trylock(&g.lock), EBUSY); /* the lock is held again */
	pthread_mutex_unlock(&g.lock);
	pthread_mutex_destroy(&g.lock);
}

RUN_TESTS(cmocka_unit_test(no_ring_is_missed), cmocka_unit_test(a_wait_ends_in_time))
