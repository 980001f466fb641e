// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/stitch.h"

#define TOP	 0x7fff00010000ull /* of a stack */
#define FRAME_SZ 64		   /* bytes of each of its frames */
#define CODE	 0x400000ull

/* A stack of `depth` frames of the same size; the outer ones are cut off. */
struct scene {
	struct mapping map;
	struct process process;
	struct stitch *stitch;
	struct trace trace;
	uint64_t words[(TRACE_MAX + 1) * FRAME_SZ / 8];
	size_t depth;
};

static void build(struct scene *s, size_t depth)
{
	s->depth = depth;
	s->trace.cnt = depth;
	for (size_t i = 0; i < depth && i < TRACE_MAX; i++)
		s->trace.frames[i] = (struct frame){ .pc = CODE + (depth - i) * 16,
						     .sp = TOP - (depth - i) * FRAME_SZ,
						     .map = &s->map,
						     .flags = i ? FRAME_CALLER : 0,
						     .source = i ? FRAME_BY_CFI : FRAME_BY_SAMPLE };
	for (size_t i = 0; i < depth * FRAME_SZ / 8;
	     i++) /* the same for each distance from the top */
		s->words[i] = depth * FRAME_SZ / 8 - i;
}

static enum unwind_status apply(struct scene *s, uint32_t tid)
{
	struct stitch_thread thread = { &s->process, tid };
	struct snapshot snapshot = { TOP - s->depth * FRAME_SZ, s->depth * FRAME_SZ,
				     (const uint8_t *)s->words, NULL };

	stitch__apply(s->stitch, &thread, &snapshot, &s->trace);
	return s->trace.status;
}

static void whole(struct scene *s, uint32_t tid, size_t depth)
{
	build(s, depth);
	s->trace.status = UNWIND_ROOT;
	assert_int_equal(apply(s, tid), UNWIND_ROOT);
	assert_int_equal(s->trace.cnt, depth);
}

static void cut(struct scene *s, size_t depth, size_t cnt)
{
	build(s, depth);
	s->trace.cnt = cnt;
	s->trace.status = UNWIND_TRUNCATED;
}

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	s->map = (struct mapping){ .start = CODE, .end = CODE + (1 << 20), .path = "" };
	s->process = (struct process){ .tgid = 1, .from_ns = 5, .maps = &s->map, .map_cnt = 1 };
	s->stitch = stitch__new(1 << 20);
	*state = s;
	return s->stitch ? 0 : -1;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	stitch__free(s->stitch);
	free(s);
	return 0;
}

static void a_cut_stack_gets_its_callers(void **state)
{
	struct scene *s = *state;

	whole(s, 1, 40);
	cut(s, 60, 50); /* 20 deeper than before; the 10 outermost frames are missing */
	assert_int_equal(apply(s, 1), UNWIND_STITCHED);
	assert_int_equal(s->trace.cnt, 60);
	for (size_t i = 0; i < 60; i++) {
		assert_int_equal(s->trace.frames[i].pc, CODE + (60 - i) * 16);
		assert_int_equal(s->trace.frames[i].sp, TOP - (60 - i) * FRAME_SZ);
		assert_ptr_equal(s->trace.frames[i].map, &s->map);
		assert_int_equal(s->trace.frames[i].source == FRAME_BY_STITCH, i >= 50);
	}
	/* A completed stack is remembered: the next one may be deeper still. */
	cut(s, 100, 50);
	assert_int_equal(apply(s, 1), UNWIND_STITCHED);
	assert_int_equal(s->trace.cnt, 100);
	assert_int_equal(s->trace.frames[49].source, FRAME_BY_CFI);
	assert_int_equal(s->trace.frames[50].source, FRAME_BY_STITCH);
	assert_int_equal(s->trace.frames[99].source, FRAME_BY_STITCH);
}

static void without_enough_in_common_nothing_is_joined(void **state)
{
	struct scene *s = *state;

	cut(s, 60, 50);
	assert_int_equal(apply(s, 1), UNWIND_TRUNCATED); /* nothing is remembered yet */
	whole(s, 1, 15);
	cut(s, 60, 50); /* five frames, four of which have a return address */
	assert_int_equal(apply(s, 1), UNWIND_TRUNCATED);
	assert_int_equal(s->trace.cnt, 50);
	whole(s, 1, 16);
	cut(s, 60, 50);
	assert_int_equal(apply(s, 1), UNWIND_STITCHED);
	whole(s, 1, 9); /* no frame in common */
	cut(s, 60, 50);
	assert_int_equal(apply(s, 1), UNWIND_TRUNCATED);
}

static void another_pc_sp_or_saved_register_is_another_stack(void **state)
{
	struct scene *s = *state;

	whole(s, 1, 40);
	for (size_t i = 45; i < 50; i++) {
		cut(s, 60, 50);
		s->trace.frames[i].pc++;
		assert_int_equal(apply(s, 1), UNWIND_TRUNCATED);
		cut(s, 60, 50);
		s->trace.frames[i].sp += 8;
		assert_int_equal(apply(s, 1), UNWIND_TRUNCATED);
	}
	for (size_t word = 1; word <= 4; word++) { /* below the CFA of the frame before the last */
		cut(s, 60, 50);
		s->words[49 * FRAME_SZ / 8 - word] = 0;
		assert_int_equal(apply(s, 1), UNWIND_TRUNCATED);
	}
	cut(s, 60, 50);
	s->words[49 * FRAME_SZ / 8 - 5] = 0; /* a local variable may change */
	assert_int_equal(apply(s, 1), UNWIND_STITCHED);
}

static void other_threads_and_processes_have_other_stacks(void **state)
{
	struct scene *s = *state;

	whole(s, 1, 40);
	cut(s, 60, 50);
	assert_int_equal(apply(s, 2), UNWIND_TRUNCATED);
	s->process.from_ns = 6; /* another program, or a reused pid */
	cut(s, 60, 50);
	assert_int_equal(apply(s, 1), UNWIND_TRUNCATED);
}

static void callers_in_code_that_is_gone_are_not_joined(void **state)
{
	struct scene *s = *state;

	whole(s, 1, 40);
	s->map.start += 16 * 5;
	cut(s, 60, 50);
	assert_int_equal(apply(s, 1), UNWIND_TRUNCATED);
	assert_int_equal(s->trace.cnt, 50);
}

static void only_truncated_stacks_are_joined(void **state)
{
	struct scene *s = *state;

	whole(s, 1, 40);
	for (enum unwind_status i = 0; i < UNWIND_STATUS_CNT; i++) {
		if (i == UNWIND_ROOT || i == UNWIND_TRUNCATED)
			continue;
		cut(s, 60, 50);
		s->trace.status = i;
		assert_int_equal(apply(s, 1), i);
		assert_int_equal(s->trace.cnt, 50);
	}
}

static void a_joined_stack_has_no_more_frames_than_a_trace(void **state)
{
	struct scene *s = *state;

	whole(s, 1, TRACE_MAX - 10);
	cut(s, TRACE_MAX, 50);
	assert_int_equal(apply(s, 1), UNWIND_STITCHED);
	assert_int_equal(s->trace.cnt, TRACE_MAX);
	cut(s, TRACE_MAX + 1, 50);
	assert_int_equal(apply(s, 1), UNWIND_TRUNCATED);
	assert_int_equal(s->trace.cnt, 50);
}

static void memory_is_bounded_and_the_oldest_goes_first(void **state)
{
	struct scene *s = *state;
	struct stitch_stats stats;

	for (uint32_t tid = 1; tid <= 100; tid++)
		whole(s, tid, 1000);
	stitch__stats(s->stitch, &stats);
	assert_in_range(stats.sz, 900 << 10, 1 << 20);
	assert_in_range(stats.threads, 30, 50);
	cut(s, 1010, 50);
	assert_int_equal(apply(s, 1), UNWIND_TRUNCATED);
	cut(s, 1010, 50);
	assert_int_equal(apply(s, 100), UNWIND_STITCHED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(TEST(a_cut_stack_gets_its_callers), TEST(without_enough_in_common_nothing_is_joined),
	  TEST(another_pc_sp_or_saved_register_is_another_stack),
	  TEST(other_threads_and_processes_have_other_stacks),
	  TEST(callers_in_code_that_is_gone_are_not_joined), TEST(only_truncated_stacks_are_joined),
	  TEST(a_joined_stack_has_no_more_frames_than_a_trace),
	  TEST(memory_is_bounded_and_the_oldest_goes_first))
