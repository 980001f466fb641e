// SPDX-License-Identifier: GPL-2.0-or-later
/* src/unwind/unwinder.h: walks through special kinds of code. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "lib/test.h"

#include "process/openjob.h"
#include "lib/walk_scene.h"

static bool is_paged_out;

/* Replaces the C library's function: files may be only on the disk. */
ssize_t preadv2(int fd, const struct iovec *parts, int cnt, off_t off, int flags)
{
	if (is_paged_out && flags & RWF_NOWAIT) {
		errno = EAGAIN;
		return -1;
	}
	return preadv(fd, parts, cnt, off);
}

static void frame_pointers_are_used_without_cfi(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(BARE), 8);
	const struct frame *f = t->trace->frames;

	t->words[0] = FUNCTION(PLAIN) + 4; /* code, but no call precedes it */
	CHECK(t, NO_CFI, 1);
	t->event->regs[6] = STACK + 16; /* the leaf has a frame */
	t->words[2] = STACK + 32;
	t->words[3] = return_into(BARE);
	t->words[5] = return_into(ROOT);
	CHECK(t, ROOT, 3);
	assert_int_equal(f[1].source, FRAME_BY_LEAF_POINTER);
	assert_int_equal(f[2].source, FRAME_BY_POINTER);
	t->words[0] = return_into(PLAIN); /* the leaf has none */
	t->words[1] = return_into(ROOT);
	CHECK(t, ROOT, 3);
	assert_int_equal(f[1].pc, return_into(PLAIN));
	assert_int_equal(f[1].flags, FRAME_CALLER);
	assert_int_equal(f[1].source, FRAME_BY_CODE);
	assert_int_equal(f[2].source, FRAME_BY_CFI);
}

/* The code before a possible return address, which may be a call, must be read; the frame pointer
 * meanwhile leads to another place, where the fast walk would continue. */
static void unread_code_is_awaited(void **state)
{
	static const struct {
		uint64_t leaf;
		int caller;
		enum frame_source source;
	} scenes[] = { { FUNCTION(BARE), PLAIN, FRAME_BY_CODE },
		       { JIT + 100, POPPED, FRAME_BY_RETURN_ADDRESS } };

	for (size_t i = 0; i < 2; i++) {
		uint64_t caller = return_into(scenes[i].caller);
		struct fixture *t = leaf(state, FUNCTION(PLAIN), 8);
		struct sample s = sample_of(t);

		t->words[0] = return_into(FRAME);
		t->event->regs[6] = STACK + 16;
		t->words[2] = STACK + 32;
		t->words[3] = return_into(ROOT);
		CHECK(t, ROOT, 3);
		assert_true(jobs__wait(t->jobs, 60000000000));
		CHECK(t, ROOT, 3);
		t->event->regs[16] = scenes[i].leaf;
		t->words[0] = caller;
		t->words[1] = return_into(ROOT);
		t->words[3] = return_into(FRAME);
		t->words[5] = return_into(ROOT);
		is_paged_out = true;
		for (int tries = 0; !unwinder__try(t->unwinder, &t->process, &s, t->trace); tries++)
			assert_true(tries < 5 && jobs__wait(t->jobs, 60000000000));
		is_paged_out = false;
		assert_int_equal(t->trace->status, UNWIND_ROOT);
		assert_int_equal(t->trace->cnt, 3);
		assert_int_equal(t->trace->frames[1].pc, caller);
		assert_int_equal(t->trace->frames[1].source, scenes[i].source);
	}
}

/* It may be retried this often: for the file, for the word at the stack pointer, for the leaf. */
static bool ends_soon(struct fixture *t)
{
	struct sample s = sample_of(t);
	int tries = 0;

	while (!unwinder__try(t->unwinder, &t->process, &s, t->trace))
		if (++tries > 8 || !jobs__wait(t->jobs, 60000000000))
			return false;
	return true;
}

/* A leaf without CFI needs two places; the process chooses one of them. */
static void two_unread_places_are_awaited(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(CLONED) + 8, 3);
	const struct mapping *lib = &t->maps[2];

	is_paged_out = true;
	for (uint64_t pc = lib->start + 32; pc < lib->end - 32; pc++) {
		t->words[0] = pc;
		assert_true(ends_soon(t));
	}
	is_paged_out = false;
}

/* A read that cannot be requested is not awaited. */
static void a_read_that_cannot_be_requested_is_not_awaited(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 8);
	struct rlimit limit, none;

	assert_true(ends_soon(t)); /* the parts of the file have been read */
	t->event->regs[16] = FUNCTION(BARE);
	t->words[0] = return_into(FRAME);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	is_paged_out = true;
	assert_true(ends_soon(t));
	is_paged_out = false;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Code before the probed function's caller decides which function has the frame on top. */
static void a_probed_functions_file_is_awaited(void **state)
{
	struct fixture *t = leaf(state, UPROBES + 4, 8);
	struct open_job opening = { .state = OPENING_RUNS };
	struct mapping maps[3] = { t->maps[0], t->maps[1], t->maps[2] };
	struct sample s;

	t->words[3] = return_into(PROBED);
	t->words[4] = return_into(ROOT);
	CHECK(t, ROOT, 3);
	maps[2].file = NULL;
	maps[2].opening = &opening;
	t->process.maps = maps;
	s = sample_of(t);
	assert_false(unwinder__try(t->unwinder, &t->process, &s, t->trace));
	t->process.maps = t->maps;
	CHECK(t, ROOT, 3);
}

static void jit_code_is_walked_by_frame_pointer(void **state)
{
	struct fixture *t = leaf(state, JIT + 100, 8);

	t->words[0] = JIT + 200;
	t->event->regs[6] = STACK + 16;
	t->words[2] = 0;
	t->words[3] = JIT + 300;
	CHECK(t, NO_CFI, 3); /* one frame pointer that leads to 0 may be chance */
	t->words[2] = STACK + 40;
	t->words[5] = 0; /* outermost frame */
	t->words[6] = JIT + 400;
	CHECK(t, ROOT, 4);
	t->words[6] = 0; /* a chain that ends in a return address of 0 */
	CHECK(t, ROOT, 3);
	t->event->regs[6] = STACK + 40; /* not a chain */
	CHECK(t, NO_CFI, 2);
	t->event->regs[6] = STACK + 16;
	t->words[3] = 0xdead; /* no code: the frame pointer is invalid */
	CHECK(t, NO_CFI, 2);
	t->event->regs[6] = STACK + 12; /* not a stack address */
	CHECK(t, NO_CFI, 2);
	t->event->regs[6] = STACK - 64; /* below the stack pointer */
	CHECK(t, NO_CFI, 2);
	t->event->regs[6] = STACK + 4096;
	CHECK(t, NO_CFI, 2);
	t->event->flags |= EVENT_F_TRUNCATED;
	CHECK(t, TRUNCATED, 2);
	t->event->flags = EVENT_F_USER;
	t->event->regs[6] = STACK + 16;
	t->words[2] = 0x7c0000010000; /* a chain that continues elsewhere */
	t->words[3] = JIT + 300;
	CHECK(t, OTHER_STACK, 3);
}

/* Two versions of CPython, with and without endbr64. */
static void trampolines_of_python_are_left_without_a_frame_pointer(void **state)
{
	static const uint64_t places[] = { 3 * 11 + 6, 2 * 15 + 10, 2 * 16 + 6, 3 * 16 + 10 };
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 6);
	const struct frame *f = t->trace->frames;

	t->words[2] = return_into(PLAIN);
	t->words[3] = return_into(ROOT);
	t->event->regs[6] = 4711; /* not a frame pointer */
	for (size_t i = 0; i < 4; i++) {
		t->words[0] = JIT + places[i];
		CHECK(t, ROOT, 4);
		assert_int_equal(f[2].pc, return_into(PLAIN));
		assert_int_equal(f[2].sp, STACK + 24);
		assert_int_equal(f[2].source, FRAME_BY_CODE);
		assert_true(jobs__wait(t->jobs, 60000000000));
	}
	t->words[0] = JIT + 101; /* another place */
	CHECK(t, NO_CFI, 2);
	t->words[0] = JIT + places[0];
	t->words[2] = JIT + 300; /* not the file of the called function */
	CHECK(t, NO_CFI, 2);
	t->words[2] = FUNCTION(PLAIN); /* no call precedes it */
	CHECK(t, NO_CFI, 2);
}

static void trampolines_with_a_frame_pointer_are_left_by_that(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 6);

	t->words[0] = JIT + 2 * 16 + 6;
	t->words[2] = return_into(PLAIN);
	t->words[4] = return_into(ROOT);
	t->event->regs[6] = STACK + 24;
	CHECK(t, ROOT, 3);
	assert_int_equal(t->trace->frames[2].pc, return_into(ROOT));
	assert_int_equal(t->trace->frames[2].source, FRAME_BY_POINTER);
}

/* Rules, and frame pointers between them: the same by the slow walk, with tables, and when the fast
 * walk has learned where there is no CFI. */
static void code_without_cfi_is_crossed(void **state)
{
	static const uint32_t sources[] = { FRAME_BY_SAMPLE,  FRAME_BY_CFI, FRAME_BY_POINTER,
					    FRAME_BY_POINTER, FRAME_BY_CFI, FRAME_BY_POINTER };
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 16);
	const uint64_t words[] = { JIT + 100,	       0,	  0,
				   STACK + 48, /* of the JIT's frame, to which rbp points */
				   return_into(BARE),  0,	  STACK + 72,
				   return_into(PLAIN), JIT + 200, 0,
				   return_into(ROOT) };
	const struct frame *f = t->trace->frames;
	struct unwinder_stats stats;

	memcpy(t->words, words, sizeof(words));
	t->event->regs[6] = STACK + 24;
	for (uint64_t turn = 0; turn < 4; turn++) {
		CHECK(t, ROOT, 6);
		for (size_t i = 0; i < 6; i++)
			assert_int_equal(f[i].source, sources[i]);
		assert_int_equal(f[1].pc, JIT + 100);
		assert_int_equal(f[1].sp, STACK + 8);
		assert_int_equal(f[2].pc, return_into(BARE));
		assert_int_equal(f[2].sp, STACK + 40);
		assert_int_equal(f[3].pc, return_into(PLAIN));
		assert_int_equal(f[4].sp, STACK + 72);
		assert_int_equal(f[5].pc, return_into(ROOT));
		assert_ptr_equal(f[5].map, &t->maps[2]);
		assert_true(jobs__wait(t->jobs, 60000000000));
		unwinder__stats(t->unwinder, &stats);
		assert_in_range(stats.odd, 0, 1); /* the file had to be read */
		assert_int_equal(stats.odd + stats.partly, turn + 1);
	}
	/* a chain of frame pointers that ends in code without a file */
	t->words[6] = STACK + 72;
	t->words[7] = JIT + 300;
	t->words[9] = 0;
	t->words[10] = JIT + 400;
	CHECK(t, ROOT, 5);
	t->words[9] = 0x7c0000010000;
	CHECK(t, OTHER_STACK, 5);
	t->words[10] = 0xdead;
	CHECK(t, NO_CFI, 4);
}

static void uprobes_are_walked(void **state)
{
	/* push %rcx; push %r11; push %rax; mov, syscall; pop; pop; pop; ret */
	static const struct {
		unsigned off, pushed;
	} places[] = { { 0, 0 },  { 1, 1 },  { 3, 2 },	{ 4, 3 }, { 11, 3 },
		       { 13, 3 }, { 14, 2 }, { 16, 1 }, { 17, 0 } };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct fixture *t = leaf(state, UPROBES + places[i].off, 8);

		t->words[places[i].pushed] = return_into(PROBED);
		t->words[places[i].pushed + 1] = return_into(ROOT);
		CHECK(t, ROOT, 3);
		assert_int_equal(t->trace->frames[1].pc, return_into(PROBED));
		assert_int_equal(t->trace->frames[1].flags, FRAME_CALLER);
		t->words[places[i].pushed] = return_into(PLAIN); /* without a nop */
		CHECK(t, NO_CFI, 1);
	}
	/* a copy of the first instruction of a function */
	leaf(state, UPROBES + 128, 8)->words[0] = return_into(PLAIN);
	((struct fixture *)*state)->words[1] = return_into(ROOT);
	CHECK((struct fixture *)*state, ROOT, 3);
	leaf(state, UPROBES + 128, 8)->words[0] = 0xdead;
	CHECK((struct fixture *)*state, NO_CFI, 1);
	/* the kernel has popped everything except the pc */
	leaf(state, UPROBES + 13, 8)->words[-1] = return_into(PROBED);
	((struct fixture *)*state)->words[0] = return_into(ROOT);
	CHECK((struct fixture *)*state, ROOT, 3);
	leaf(state, UPROBES + 14, 8)->words[-1] = return_into(PROBED);
	CHECK((struct fixture *)*state, NO_CFI, 1);
	leaf(state, UPROBES + 18, 8)->words[0] =
		return_into(PROBED); /* unknown code of the kernel */
	CHECK((struct fixture *)*state, NO_CFI, 1);
}

static void signal_frames_are_walked(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 64);
	const struct frame *f = t->trace->frames;

	t->words[0] = return_into(SIGNAL);
	t->words[21] = STACK + 320; /* rsp + 160 there */
	t->words[22] = FUNCTION(PLAIN);
	t->words[40] = return_into(ROOT);
	CHECK(t, ROOT, 4);
	assert_int_equal(f[1].flags, FRAME_SIGNAL);
	assert_int_equal(f[2].flags, 0); /* interrupted at its first instruction */
	assert_int_equal(f[2].pc, FUNCTION(PLAIN));
	t->words[21] = STACK + 0x100000; /* on another stack; the snapshot is complete */
	CHECK(t, OTHER_STACK, 3);
	t->words[21] = STACK - 0x100000;
	CHECK(t, OTHER_STACK, 3);
	t->event->flags |= EVENT_F_TRUNCATED;
	CHECK(t, OTHER_STACK, 3);
	t->words[21] = STACK + 0x100000;
	CHECK(t, OTHER_STACK, 3);
	t->words[21] = STACK + 4096; /* near: the same stack, the rest of which is missing */
	CHECK(t, TRUNCATED, 3);
	t->event->ustack_sz = EVENT_RED_ZONE + 16; /* cut in the signal frame */
	CHECK(t, TRUNCATED, 2);
}

static void a_leaf_without_stack_has_a_caller(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(VFORK), 4);

	t->event->regs[5] = return_into(PLAIN); /* rdi */
	t->words[0] = return_into(ROOT);
	CHECK(t, ROOT, 3);
	/* as a caller it has lost rdi */
	t->event->regs[16] = FUNCTION(PLAIN);
	t->words[0] = return_into(VFORK);
	CHECK(t, BAD_MEMORY, 2);
}

/* The slot of a register that was popped lies below rsp, in the red zone or not in the snapshot. */
/* Pages at the end of the stack that have not been touched yet are not in the snapshot. */
static void a_leaf_with_untouched_stack_has_a_caller(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(SIGNAL), 0);
	uint64_t *words = (uint64_t *)(void *)t->event->data;

	t->event->stack_addr = STACK + 16 * 8;
	t->event->ustack_sz = 16 * 8;
	words[20 - 16] = STACK + 24 * 8;
	words[21 - 16] = return_into(PLAIN);
	words[24 - 16] = return_into(ROOT);
	CHECK(t, ROOT, 3);
	t->event->regs[16] = FUNCTION(PLAIN); /* its return address is in the missing part */
	CHECK(t, TRUNCATED, 1);
}

static void popped_registers_are_below_the_stack_pointer(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(POPPED), 8);

	t->words[-1] = t->event->regs[6] = STACK + 16;
	t->words[0] = return_into(FRAME);
	t->words[3] = return_into(ROOT);
	CHECK(t, ROOT, 3);
	memmove(t->event->data, t->words, 64); /* without the red zone */
	t->event->stack_addr = STACK;
	t->event->ustack_sz = 64;
	CHECK(t, ROOT, 3);
}

/* Before and after it there are tables with rows that must not cover the code without CFI. */
static void a_thread_begins_behind_a_system_call(void **state)
{
	for (int round = 0; round < 2; round++) {
		struct fixture *t = leaf(state, FUNCTION(CLONED) + 8, 3);

		t->words[0] = LIB; /* old data: no call precedes it */
		CHECK(t, ROOT, 1);
		t->event->regs[0] = 4711; /* not 0: the caller's */
		t->words[0] = return_into(PLAIN);
		t->words[1] = return_into(ROOT);
		CHECK(t, ROOT, 3);
		assert_int_equal(t->trace->frames[1].source, FRAME_BY_CODE);
		assert_true(jobs__wait(t->jobs, 10000000000));
	}
}

RUN_TESTS(test(frame_pointers_are_used_without_cfi), test(unread_code_is_awaited),
	  test(two_unread_places_are_awaited), test(a_read_that_cannot_be_requested_is_not_awaited),
	  test(a_probed_functions_file_is_awaited), test(jit_code_is_walked_by_frame_pointer),
	  test(trampolines_of_python_are_left_without_a_frame_pointer),
	  test(trampolines_with_a_frame_pointer_are_left_by_that),
	  test(code_without_cfi_is_crossed), test(uprobes_are_walked),
	  test(signal_frames_are_walked), test(a_leaf_without_stack_has_a_caller),
	  test(a_leaf_with_untouched_stack_has_a_caller),
	  test(popped_registers_are_below_the_stack_pointer),
	  test(a_thread_begins_behind_a_system_call))
