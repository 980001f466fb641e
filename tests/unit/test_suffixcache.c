// SPDX-License-Identifier: GPL-2.0-or-later
/* The suffix cache changes no walk. */
#include "lib/test.h"

#include <sys/mman.h>
#include <unistd.h>

#define SCENE_MORE ".p2align 8\n.cfi_startproc\n.cfi_offset %rip,64\nfunction\n nop\n.cfi_endproc\n"
#include "unwind/suffixcache.h"
#include "lib/walk_scene.h"

enum { FURTHER = FORGED + 1 }; /* its return address is above its frame */

#define DEPTH	  40 /* words of the stacks here */
#define CROWD	  200
#define FORGED_AT 64 /* after its frame: see walk_scene.h */

static uint64_t recalled(const struct fixture *t)
{
	struct unwinder_stats s;

	unwinder__stats(t->unwinder, &s);
	return s.recalled;
}

/* A stack of PLAIN frames. */
static struct fixture *plain(void **state, size_t cnt)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), cnt);

	t->process.version = 1;
	for (size_t i = 0; i + 1 < cnt; i++)
		t->words[i] = return_into(PLAIN);
	t->words[cnt - 1] = return_into(ROOT);
	return t;
}

/* With the file's table. The first walk of a stack is not cached, the second is. */
static void learn(struct fixture *t)
{
	for (int i = 0; i < 3; i++)
		walk(t);
}

static void assert_same(const struct trace *a, const struct trace *b)
{
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->cnt, b->cnt);
	for (size_t i = 0; i < a->cnt; i++) {
		assert_int_equal(a->frames[i].pc, b->frames[i].pc);
		assert_int_equal(a->frames[i].sp, b->frames[i].sp);
		assert_ptr_equal(a->frames[i].map, b->frames[i].map);
		assert_int_equal(a->frames[i].flags, b->frames[i].flags);
		assert_int_equal(a->frames[i].source, b->frames[i].source);
	}
}

/* Compares with a walk without a cache. */
static void check(struct fixture *t)
{
	struct process nobody = t->process;
	struct trace *plain = malloc(sizeof(*plain));
	struct sample s = sample_of(t);

	nobody.version = 0;
	unwinder__walk(t->unwinder, &nobody, &s, plain);
	walk(t);
	assert_same(t->trace, plain);
	free(plain);
}

static void callers_are_remembered(void **state)
{
	struct fixture *t = plain(state, DEPTH);
	uint64_t before;

	learn(t);
	before = recalled(t);
	CHECK(t, ROOT, DEPTH + 1);
	assert_int_equal(recalled(t), before + 1);
	check(t);
	t->event->regs[16] = FUNCTION(PLAIN) + 5; /* another leaf */
	check(t);
	assert_int_equal(recalled(t), before + 3);
}

/* Walks without a process are not cached, nor walks that do not end at the root. */
static void not_all_is_remembered(void **state)
{
	struct fixture *t = plain(state, DEPTH);

	t->process.version = 0;
	learn(t);
	CHECK(t, ROOT, DEPTH + 1);
	t->process.version = 1;
	t->words[DEPTH - 1] = return_into(PLAIN);
	learn(t);
	CHECK(t, BAD_MEMORY, DEPTH + 1);
	assert_int_equal(recalled(t), 0);
}

/* Also for a caller far from the leaf. */
static void any_word_that_changes_is_seen(void **state)
{
	struct fixture *t = plain(state, DEPTH);

	for (size_t i = 0; i < DEPTH; i++) {
		learn(t);
		for (int f = PLAIN; f <= FRAME; f++) {
			uint64_t was = t->words[i];

			t->words[i] = return_into(f);
			check(t);
			t->words[i] = was;
			check(t);
		}
	}
	assert_true(recalled(t) > DEPTH);
}

/* rbp of a PLAIN function is its caller's; a FRAME's points to the caller's. */
static void a_frame_pointer_that_changes_is_seen(void **state)
{
	struct fixture *t = plain(state, DEPTH);

	t->words[3] = return_into(FRAME);
	t->event->regs[6] = STACK + 8 * 8;
	t->words[8] = STACK + 8 * 20;
	t->words[9] = return_into(FRAME);
	t->words[20] = 0x1234;
	learn(t);
	CHECK(t, ROOT, 1 + 4 + 1 + DEPTH - 21);
	t->event->regs[6] = STACK + 8 * 10;
	check(t);
	t->event->regs[6] = STACK + 8 * 8;
	check(t);
	t->words[8] = STACK + 8 * 22;
	check(t);
	t->words[8] = STACK + 8 * 20;
	t->words[20] = 0x4321; /* passed to the root, and unused there */
	check(t);
	assert_int_equal(t->trace->status, UNWIND_ROOT);
}

static void a_return_address_of_0_is_remembered(void **state)
{
	struct fixture *t = plain(state, DEPTH);
	uint64_t before;

	t->words[DEPTH - 1] = 0;
	learn(t);
	before = recalled(t);
	CHECK(t, ROOT, DEPTH);
	check(t);
	assert_int_equal(recalled(t), before + 2);
	t->words[DEPTH - 1] = return_into(ROOT);
	check(t);
	assert_int_equal(t->trace->cnt, DEPTH + 1);
}

/* Its end is cached. */
static void a_deep_stack_is_remembered(void **state)
{
	struct fixture *t = plain(state, 5000);
	uint64_t before;

	learn(t);
	before = recalled(t);
	check(t);
	assert_int_equal(t->trace->cnt, 5001);
	t->words[4990] = return_into(ROOT);
	check(t);
	assert_int_equal(t->trace->cnt, 4992);
	assert_true(recalled(t) > before);
	plain(state, TRACE_MAX + 10);
	t->event->regs[7] = STACK + 20 * 8;
	learn(t);
	check(t);
	assert_int_equal(t->trace->status, UNWIND_ROOT);
	t->event->regs[7] = STACK; /* more than a trace can hold */
	check(t);
	assert_int_equal(t->trace->status, UNWIND_LIMIT);
}

/* A stack that was seen before, with code that is mapped differently since. */
/* Three of four walks that add little are not cached; all walks that may add much are. */
static void some_short_walks_are_not_cached(void **state)
{
	static const struct {
		size_t met, fresh, passed;
	} cases[] = { { 41, 1, 75 }, { 41, 60, 75 }, { 40, 1, 75 }, { 40, 2, 75 },
		      { 40, 3, 0 },  { 40, 60, 0 },  { 42, 1, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct suffix_stack s = { .first = 40 };
		size_t passed = 0;

		for (int walk = 0; walk < 100; walk++)
			passed += suffix_stack__may_pass(&s, cases[i].met, cases[i].fresh);
		assert_int_equal(passed, cases[i].passed);
	}
}

static void other_mappings_are_seen(void **state)
{
	struct fixture *t = plain(state, DEPTH);
	struct mapping maps[3];

	learn(t);
	memcpy(maps, t->maps, sizeof(maps));
	t->process.maps = maps;
	t->process.version = 2;
	for (int i = 0; i < 4; i++) {
		check(t);
		assert_ptr_equal(t->trace->frames[DEPTH].map, &maps[2]);
	}
	t->process.version = 1;
	t->process.maps = t->maps;
	check(t);
	assert_ptr_equal(t->trace->frames[DEPTH].map, &t->maps[2]);
}

/* They belong to the process. */
static void any_stack_pointer_will_do(void **state)
{
	struct fixture *t = plain(state, DEPTH);
	static const uint64_t sps[] = { 0, 1, STACK - 8, UINT64_MAX - 7, UINT64_MAX };

	for (int i = 0; i < 4; i++) {
		for (size_t k = 0; k < sizeof(sps) / sizeof(*sps); k++) {
			t->event->regs[7] = sps[k];
			check(t);
		}
		t->event->regs[7] = STACK;
		walk(t);
	}
}

/* Snapshots with an inaccessible page after or before them. */
struct guarded {
	uint8_t *pages; /* the one between two of these */
	long sz;
};

static struct guarded guard(void)
{
	long sz = sysconf(_SC_PAGESIZE);
	struct guarded g = {
		mmap(NULL, (size_t)sz * 3, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), sz
	};

	assert_ptr_not_equal(g.pages, MAP_FAILED);
	assert_int_equal(mprotect(g.pages + sz, (size_t)sz, PROT_READ | PROT_WRITE), 0);
	return g;
}

static void drop(struct guarded g)
{
	munmap(g.pages, (size_t)g.sz * 3);
}

/* Walks the stack without its last bytes, or without the first ones. */
static void walk_part(struct fixture *t, struct guarded g, size_t first, size_t last)
{
	struct sample s = sample_of(t);
	const uint8_t *from = s.stack.bytes + first;

	s.stack.addr += first;
	s.stack.sz -= first + last;
	s.stack.bytes =
		memcpy(first ? g.pages + g.sz : g.pages + 2 * g.sz - s.stack.sz, from, s.stack.sz);
	unwinder__walk(t->unwinder, &t->process, &s, t->trace);
}

/* A forged file may place a saved register outside any frame; the next snapshot ends before it. */
static void nothing_is_read_behind_a_snapshot(void **state)
{
	struct fixture *t = plain(state, DEPTH);
	struct guarded g = guard();

	t->words[DEPTH - 3] = return_into(FORGED);
	t->event->ustack_sz += FORGED_AT;
	learn(t);
	walk_part(t, g, 0, FORGED_AT);
	assert_int_equal(t->trace->cnt, DEPTH + 1);
	drop(g);
}

static void a_snapshot_may_be_shorter(void **state)
{
	struct fixture *t = plain(state, DEPTH);
	struct guarded g = guard();

	learn(t);
	for (size_t cut = 1; cut < (DEPTH - 4) * 8; cut++) {
		walk_part(t, g, 0, cut);
		assert_int_equal(t->trace->status, UNWIND_BAD_MEMORY);
		walk(t);
		assert_int_equal(t->trace->status, UNWIND_ROOT);
	}
	drop(g);
}

/* A forged leaf's caller is further up, where the snapshot begins: it lacks the words below. */
static void a_snapshot_may_begin_later(void **state)
{
	struct fixture *t = plain(state, DEPTH);
	struct guarded g = guard();
	uint64_t before;

	learn(t);
	t->event->regs[16] = FUNCTION(FURTHER);
	t->words[9] = return_into(PLAIN);
	before = recalled(t);
	for (int i = 0; i < 3; i++)
		check(t);
	walk_part(t, g, EVENT_RED_ZONE + 64, 0);
	assert_int_equal(t->trace->status, UNWIND_TRUNCATED);
	assert_true(recalled(t) > before);
	drop(g);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 16;
}

/* Returns a typical word of a stack, mostly a return address. */
static uint64_t random_word(uint64_t *seed)
{
	uint64_t r = next_random(seed);

	if (r % 8 == 0)
		return STACK + r / 8 % DEPTH * 8;
	if (r % 8 == 1)
		return r / 8 % 4 ? 0 : JIT + 0x10;
	return return_into((int)(r / 8 % 16 == 0 ? r / 128 % 7 : (r / 128 % 8 == 0) * FRAME));
}

static void change_something(struct fixture *t, uint64_t *seed)
{
	for (uint64_t n = next_random(seed) % 3; n; n--)
		t->words[next_random(seed) % DEPTH] = random_word(seed);
	if (next_random(seed) % 4 == 0)
		t->event->regs[6] = STACK + next_random(seed) % DEPTH * 8;
	if (next_random(seed) % 2)
		t->event->regs[16] = FUNCTION(PLAIN) + next_random(seed) % 8;
	if (next_random(seed) % 64 == 0)
		t->words[DEPTH - 1] = return_into(ROOT);
}

#define RANDOM_CHANGES (100000 / EVERY_NTH_SANITIZED(4))

static void random_changes_are_seen(void **state)
{
	struct fixture *t = plain(state, DEPTH);
	uint64_t seed = 7, roots = 0;

	for (int i = 0; i < RANDOM_CHANGES; i++) {
		if (i % 200 == 0)
			plain(state, DEPTH);
		change_something(t, &seed);
		check(t);
		roots += t->trace->status == UNWIND_ROOT;
	}
	assert_in_range(roots, RANDOM_CHANGES / 5, RANDOM_CHANGES / 10 * 9);
	assert_true(recalled(t) > RANDOM_CHANGES / 10);
}

struct crowd {
	struct mapping maps[CROWD][3];
	struct process processes[CROWD];
	struct walk_job jobs[CROWD * 2];
	struct trace traces[CROWD * 2];
};

/* All have the same code at the same address. */
static struct crowd *crowd(const struct fixture *t)
{
	struct crowd *c = calloc(1, sizeof(*c));

	for (size_t i = 0; i < CROWD; i++) {
		memcpy(c->maps[i], t->maps, sizeof(c->maps[i]));
		c->processes[i] = t->process;
		c->processes[i].maps = c->maps[i];
		c->processes[i].version = i + 1;
	}
	return c;
}

/* More processes than the cache holds, walked together, and some dropped meanwhile: each has its
 * own mappings. */
static void other_processes_do_not_mix(void **state)
{
	struct fixture *t = plain(state, DEPTH);
	struct sample whole = sample_of(t), end = whole;
	struct crowd *c = crowd(t);
	uint64_t regs[EVENT_REG_CNT], seed = 3;

	memcpy(regs, whole.regs, sizeof(regs));
	regs[7] += 8 * (DEPTH - 8);
	end.regs = regs;
	for (size_t n = 0; n < 200; n++) {
		for (size_t i = 0; i < CROWD * 2; i++)
			c->jobs[i] = (struct walk_job){ &c->processes[next_random(&seed) % CROWD],
							next_random(&seed) % 4 ? &end : &whole,
							&c->traces[i], false };
		for (size_t i = 0; i < CROWD; i += 2)
			c->jobs[i].process = c->jobs[i + 1].process;
		unwinder__try_many(t->unwinder, c->jobs, CROWD * 2);
		jobs__wait(t->jobs, 10000000000);
		for (size_t i = 0; i < CROWD * 2; i++)
			for (size_t k = 0; k < c->traces[i].cnt; k++)
				assert_ptr_equal(c->traces[i].frames[k].map,
						 &c->jobs[i].process->maps[2]);
	}
	for (size_t i = 0; i < CROWD * 2; i++)
		assert_int_equal(c->traces[i].cnt, c->jobs[i].sample == &end ? 9 : DEPTH + 1);
	assert_true(recalled(t) > 1000);
	free(c);
}

RUN_TESTS(test(callers_are_remembered), test(some_short_walks_are_not_cached),
	  test(not_all_is_remembered), test(any_word_that_changes_is_seen),
	  test(a_frame_pointer_that_changes_is_seen), test(a_return_address_of_0_is_remembered),
	  test(a_deep_stack_is_remembered), test(other_mappings_are_seen),
	  test(any_stack_pointer_will_do), test(nothing_is_read_behind_a_snapshot),
	  test(a_snapshot_may_be_shorter), test(a_snapshot_may_begin_later),
	  test(random_changes_are_seen), test(other_processes_do_not_mix))
