// SPDX-License-Identifier: GPL-2.0-or-later
/* How walks end. */
#include "lib/test.h"

#include "lib/walk_scene.h"

static void a_walk_reaches_the_root(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 2);
	const struct frame *f = t->trace->frames;

	t->words[0] = return_into(PLAIN);
	t->words[1] = return_into(ROOT);
	CHECK(t, ROOT, 3);
	assert_int_equal(f[0].pc, FUNCTION(PLAIN));
	assert_int_equal(f[1].pc, return_into(PLAIN));
	assert_int_equal(f[2].pc, return_into(ROOT));
	assert_int_equal(f[0].flags, 0);
	assert_int_equal(f[2].flags, FRAME_CALLER);
	assert_int_equal(f[0].sp, STACK);
	assert_int_equal(f[1].sp, STACK + 8);
	assert_int_equal(f[2].sp, STACK + 16);
	assert_int_equal(f[0].source, FRAME_BY_SAMPLE);
	assert_int_equal(f[1].source, FRAME_BY_CFI);
	assert_ptr_equal(f[2].map, &t->maps[2]);
	t->words[1] = 0; /* a return address of 0 ends stacks too */
	CHECK(t, ROOT, 2);
}

static void the_end_of_the_snapshot_ends_the_walk(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 1);

	t->words[0] = return_into(PLAIN);
	CHECK(t, BAD_MEMORY, 2);
	t->event->flags |= EVENT_F_TRUNCATED;
	CHECK(t, TRUNCATED, 2);
	t->event->ustack_sz -= 1; /* one byte of the return address is missing */
	CHECK(t, TRUNCATED, 1);
	t->event->ustack_sz = 0;
	CHECK(t, TRUNCATED, 1);
	t->event->flags = EVENT_F_USER;
	CHECK(t, BAD_MEMORY, 1);
}

/* Deep stacks are mostly cut: the fast walk detects it, without a second walk. */
static void the_end_of_the_snapshot_is_seen_at_once(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 1);
	struct unwinder_stats before, after;

	t->words[0] = return_into(PLAIN);
	t->event->flags |= EVENT_F_TRUNCATED;
	walk(t); /* with the file's table, from now on */
	unwinder__stats(t->unwinder, &before);
	CHECK(t, TRUNCATED, 2);
	unwinder__stats(t->unwinder, &after);
	assert_true(after.flat > before.flat);
	assert_int_equal(after.odd, before.odd);
	t->event->flags = EVENT_F_USER;
	CHECK(t, BAD_MEMORY, 2);
	unwinder__stats(t->unwinder, &before);
	assert_true(before.odd > after.odd);
}

/* Removes `cnt` pages of the stack, from `page` on. */
static void make_hole(struct fixture *t, size_t page, size_t cnt)
{
	uint8_t *from = (uint8_t *)t->words + page * EVENT_PAGE;
	uint8_t *end = t->event->data + t->event->ustack_sz;
	uint8_t holes[EVENT_HOLES_SZ] = { 0 };

	for (size_t i = page + 1; i < page + 1 + cnt; i++) /* the first has the red zone */
		holes[i / 8] |= (uint8_t)(1u << i % 8);
	memmove(from, from + cnt * EVENT_PAGE, (size_t)(end - from) - cnt * EVENT_PAGE);
	t->event->ustack_sz -= (uint32_t)(cnt * EVENT_PAGE);
	memcpy(t->event->data + t->event->ustack_sz, holes, sizeof(holes));
	t->event->flags |= EVENT_F_HOLES;
}

#define PAGE_WORDS (EVENT_PAGE / 8)

/* FRAME's rbp leads across two missing pages. */
static struct fixture *over_a_hole(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(FRAME), 5 * PAGE_WORDS);

	t->event->regs[6] = STACK + 40;
	t->words[5] = STACK + (4 * PAGE_WORDS + 2) * 8;
	t->words[6] = return_into(FRAME);
	t->words[4 * PAGE_WORDS + 2] = 0;
	t->words[4 * PAGE_WORDS + 3] = return_into(ROOT);
	return t;
}

static void missing_pages_do_not_matter(void **state)
{
	struct fixture *t = over_a_hole(state);

	CHECK(t, ROOT, 3);
	make_hole(t, 1, 2); /* and no part of the chain is on them */
	CHECK(t, ROOT, 3);
	walk_naively(t);
	assert_int_equal(t->trace->status, UNWIND_ROOT);
	assert_int_equal(t->trace->cnt, 3);
	t = over_a_hole(state);
	t->words[5] = STACK + (2 * PAGE_WORDS + 2) * 8;
	make_hole(t, 1, 2); /* the next return address is on them: it does not count as 0 */
	CHECK(t, TRUNCATED, 2);
}

/* Code without CFI. */
static void a_chain_into_missing_pages_is_truncated(void **state)
{
	struct fixture *t = leaf(state, JIT + 100, 5 * PAGE_WORDS);

	t->event->regs[6] = STACK + (2 * PAGE_WORDS + 2) * 8;
	make_hole(t, 1, 2);
	CHECK(t, TRUNCATED, 1);
}

static void a_return_address_without_a_mapping_ends_the_walk(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 1);

	t->words[0] = 0x1234;
	CHECK(t, NO_MAP, 2);
	assert_int_equal(t->trace->frames[1].pc, 0x1234);
	assert_null(t->trace->frames[1].map);
	t->event->regs[16] = 0;
	CHECK(t, NO_MAP, 1);
}

static void another_stack_ends_the_walk(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(FRAME), 8);

	t->event->regs[6] = 0x7e1234567000; /* a coroutine's caller */
	CHECK(t, OTHER_STACK, 1);
	t->event->regs[6] = 0x13; /* not a stack */
	CHECK(t, BAD_MEMORY, 1);
	t->event->regs[6] = UINT64_MAX - 20; /* CFA wraps around */
	CHECK(t, BAD_MEMORY, 1);
	t->event->regs[6] = STACK + 40;
	t->words[5] = 0x7e1234567000;
	t->words[6] = return_into(FRAME);
	CHECK(t, OTHER_STACK, 2);
}

#define INTERRUPTED 0x7e1234567000

/* A handler on a signal stack has interrupted PLAIN, which has its caller on its own stack. */
static struct fixture *handler(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 32);
	uint8_t *end = t->event->data + t->event->ustack_sz;
	const struct event_switched s = { .pc = FUNCTION(PLAIN), .sp = INTERRUPTED, .sz = 16 };
	const uint64_t words[] = { return_into(ROOT), 0 };

	t->words[0] = return_into(SIGNAL);
	t->words[1 + 20] = INTERRUPTED;
	t->words[1 + 21] = FUNCTION(PLAIN);
	memcpy(end, &s, sizeof(s));
	memcpy(end + sizeof(s), words, sizeof(words));
	return t;
}

static void a_signal_stack_is_left(void **state)
{
	struct fixture *t = handler(state);

	CHECK(t, OTHER_STACK, 3);
	t->event->flags |= EVENT_F_SWITCHED;
	CHECK(t, ROOT, 4);
	assert_int_equal(t->trace->frames[2].pc, FUNCTION(PLAIN));
	assert_int_equal(t->trace->frames[3].pc, return_into(ROOT));
	t->words[1 + 20] += 8; /* outside the copied part */
	CHECK(t, OTHER_STACK, 3);
}

static void a_walk_without_progress_ends(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(FRAME), 8);

	t->event->regs[6] = STACK + 16;
	t->words[2] = STACK + 16; /* its own caller */
	t->words[3] = return_into(FRAME);
	CHECK(t, NO_PROGRESS, 2);
	t->words[2] = STACK; /* back */
	t->words[0] = STACK + 16;
	t->words[1] = return_into(FRAME);
	CHECK(t, NO_PROGRESS, 2);
}

static void a_trace_has_a_limit(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), WORDS);

	for (size_t i = 0; i < WORDS; i++)
		t->words[i] = return_into(PLAIN);
	t->words[TRACE_MAX - 2] = return_into(ROOT);
	CHECK(t, ROOT, TRACE_MAX);
	t->words[TRACE_MAX - 2] = return_into(PLAIN);
	CHECK(t, LIMIT, TRACE_MAX);
	walk_naively(t);
	assert_int_equal(t->trace->status, UNWIND_LIMIT);
	assert_int_equal(t->trace->cnt, TRACE_MAX);
}

static void compat_processes_have_one_frame(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 2);

	t->words[0] = return_into(ROOT);
	t->event->flags |= EVENT_F_COMPAT;
	CHECK(t, COMPAT, 1);
	assert_ptr_equal(t->trace->frames[0].map, &t->maps[2]);
	walk_naively(t);
	assert_int_equal(t->trace->status, UNWIND_COMPAT);
	assert_int_equal(t->trace->cnt, 1);
	t->event->regs[16] = 0x1000;
	CHECK(t, COMPAT, 1);
	assert_null(t->trace->frames[0].map);
}

static void a_process_without_mappings_has_one_frame(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 8);
	size_t cnt = t->process.map_cnt;

	t->process.map_cnt = 0;
	CHECK(t, NO_MAP, 1);
	t->process.map_cnt = cnt;
	t->maps[2].file = NULL; /* a file that could not be opened: frame pointers */
	t->words[0] = return_into(PLAIN);
	CHECK(t, NO_CFI, 2); /* rbp is 0, perhaps by chance */
	t->maps[2].file = t->file;
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 16;
}

/* For any stack, a walk ends and has a leaf. */
static void random_stacks_end(void **state)
{
	struct fixture *t = *state;
	uint64_t seed = 42;

	for (int i = 0; i < 20000; i++) {
		leaf(state, FUNCTION(next_random(&seed) % 7) + next_random(&seed) % 8, 0);
		t->event->ustack_sz = (uint32_t)(next_random(&seed) % 1024);
		if (i % 2)
			t->event->flags |= EVENT_F_TRUNCATED;
		for (size_t r = 0; r < 16; r++)
			t->event->regs[r] = STACK + next_random(&seed) % 1024 / 8 * 8;
		for (size_t w = 0; w < 112; w++)
			t->words[w] = next_random(&seed) % 2
					      ? return_into((int)(next_random(&seed) % 7))
					      : STACK + next_random(&seed) % 2048 / 8 * 8;
		walk(t);
		assert_true(t->trace->cnt >= 1 && t->trace->cnt <= TRACE_MAX);
		assert_true(t->trace->status < UNWIND_STATUS_CNT);
	}
}

RUN_TESTS(test(a_walk_reaches_the_root), test(the_end_of_the_snapshot_ends_the_walk),
	  test(the_end_of_the_snapshot_is_seen_at_once), test(missing_pages_do_not_matter),
	  test(a_chain_into_missing_pages_is_truncated),
	  test(a_return_address_without_a_mapping_ends_the_walk), test(another_stack_ends_the_walk),
	  test(a_signal_stack_is_left), test(a_walk_without_progress_ends),
	  test(a_trace_has_a_limit), test(compat_processes_have_one_frame),
	  test(a_process_without_mappings_has_one_frame), test(random_stacks_end))
