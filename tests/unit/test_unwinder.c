// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks over stacks that are written word by word: how each of them ends. */
#include "test.h"

#include "shell.h"
#include "unwind/naive.h"
#include "unwind/unwinder.h"

#define LIB	    0x7f0000000000u /* where the library is mapped; its text is 0x10000 above */
#define JIT	    0x7e0000000000u
#define STACK	    0x7ffd00001000u /* rsp of the leaf */
#define FUNCTION(n) (LIB + 0x10000u + 0x100u * (n))
#define WORDS	    16384

enum { PLAIN, ROOT, FRAME, BARE, SIGNAL, VFORK, POPPED };

/* Functions 256 bytes apart; a return address that is 5 bytes in follows a call. */
static const char source[] =
	".macro function\n .p2align 8\n call .\n.endm\n.text\n"
	".skip 256,0x90\n.cfi_startproc\nfunction\n nop\n.cfi_endproc\n"
	".p2align 8\n.cfi_startproc\n.cfi_undefined %rip\nfunction\n nop\n.cfi_endproc\n"
	".p2align 8\n.cfi_startproc\n.cfi_def_cfa %rbp,16\n.cfi_offset %rbp,-16\nfunction\n nop\n"
	".cfi_endproc\n"
	"function\n nop\n"
	".p2align 8\n.cfi_startproc\n.cfi_signal_frame\n.cfi_escape 0x0f,4,0x77,0xa0,1,6\n"
	".cfi_escape 0x10,16,3,0x77,0xa8,1\nfunction\n nop\n.cfi_endproc\n"
	".p2align 8\n.cfi_startproc\n.cfi_def_cfa_offset 0\n.cfi_register %rip,%rdi\nfunction\n"
	" nop\n.cfi_endproc\n"
	/* as gcc leaves it after pop %rbp: the slot is below rsp */
	".p2align 8\n.cfi_startproc\n.cfi_offset %rbp,-16\nfunction\n nop\n.cfi_endproc\n"
	".p2align 8\n nop\n";

struct fixture {
	struct elf_file *file;
	struct mapping maps[2];
	struct process process;
	struct unwinder *unwinder;
	struct naive *naive;
	struct trace *trace;
	struct event *event;
	uint64_t *words; /* words[0] is where the leaf's rsp points */
};

static int setup(void **state)
{
	struct fixture *t = calloc(1, sizeof(*t));
	char dir[] = "/tmp/test-XXXXXX", path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/lib.s", mkdtemp(dir));
	f = fopen(path, "w");
	fputs(source, f);
	fclose(f);
	shell__run("cd %s && gcc -shared -nostdlib -Wl,-Ttext=0xff00 -o lib.so lib.s 2>&1", dir);
	snprintf(path, sizeof(path), "%s/lib.so", dir);
	t->file = elf_file__open(path);
	assert_non_null(t->file);
	shell__run("rm -r %s", dir);
	t->maps[0] = (struct mapping){ .start = JIT, .end = JIT + 4096, .kind = MAPPING_ANON };
	t->maps[1] = (struct mapping){ .kind = MAPPING_FILE, .file = t->file };
	for (size_t i = 0; i < t->file->segment_cnt; i++)
		if (t->file->segments[i].flags & PF_X) {
			t->maps[1].start = LIB + t->file->segments[i].vaddr;
			t->maps[1].end = t->maps[1].start + 4096;
			t->maps[1].pgoff = t->file->segments[i].off;
		}
	t->process = (struct process){ .tgid = 7, .maps = t->maps, .map_cnt = 2 };
	t->unwinder = unwinder__new(NULL);
	t->naive = naive__new();
	t->trace = malloc(sizeof(*t->trace));
	t->event = calloc(1, sizeof(*t->event) + EVENT_RED_ZONE + WORDS * 8);
	t->words = (uint64_t *)(t->event->data + EVENT_RED_ZONE);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *t = *state;

	unwinder__free(t->unwinder);
	naive__free(t->naive);
	elf_file__put(t->file);
	free(t->trace);
	free(t->event);
	free(t);
	return 0;
}

/* A leaf at pc with `cnt` words of stack above the red zone, all zero. */
static struct fixture *leaf(void **state, uint64_t pc, size_t cnt)
{
	struct fixture *t = *state;

	memset(t->event, 0, sizeof(*t->event) + EVENT_RED_ZONE + WORDS * 8);
	t->event->flags = EVENT_F_USER;
	t->event->stack_addr = STACK - EVENT_RED_ZONE;
	t->event->ustack_sz = (uint32_t)(EVENT_RED_ZONE + cnt * 8);
	t->event->regs[7] = STACK;
	t->event->regs[16] = pc;
	return t;
}

static void walk(struct fixture *t)
{
	unwinder__walk(t->unwinder, &t->process, t->event, t->trace);
}

static uint64_t return_into(int function)
{
	return FUNCTION((unsigned)function) + 5;
}

#define CHECK(t, expected_status, expected_cnt)                                 \
	do {                                                                    \
		walk(t);                                                        \
		assert_int_equal((t)->trace->status, UNWIND_##expected_status); \
		assert_int_equal((t)->trace->cnt, expected_cnt);                \
	} while (0)

static void root(void **state)
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
	assert_ptr_equal(f[2].map, &t->maps[1]);
	t->words[1] = 0; /* a return address of 0 ends stacks too */
	CHECK(t, ROOT, 2);
}

static void the_end_of_the_snapshot(void **state)
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

static void no_mapping(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 1);

	t->words[0] = 0x1234;
	CHECK(t, NO_MAP, 2);
	assert_int_equal(t->trace->frames[1].pc, 0x1234);
	assert_null(t->trace->frames[1].map);
	t->event->regs[16] = 0;
	CHECK(t, NO_MAP, 1);
}

static void frame_pointers_without_cfi(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(BARE), 8);
	const struct frame *f = t->trace->frames;

	t->words[0] = FUNCTION(PLAIN) + 4; /* code, but no call is before it */
	CHECK(t, NO_CFI, 1);
	t->event->regs[6] = STACK + 16; /* the leaf has a frame */
	t->words[2] = STACK + 32;
	t->words[3] = return_into(BARE);
	t->words[5] = return_into(ROOT);
	CHECK(t, ROOT, 3);
	assert_int_equal(f[1].flags, FRAME_CALLER | FRAME_FP);
	assert_int_equal(f[2].flags, FRAME_CALLER | FRAME_FP);
	t->words[0] = return_into(PLAIN); /* the leaf has none */
	t->words[1] = return_into(ROOT);
	CHECK(t, ROOT, 3);
	assert_int_equal(f[1].pc, return_into(PLAIN));
	assert_int_equal(f[1].flags, FRAME_CALLER | FRAME_FP);
	assert_int_equal(f[2].flags, FRAME_CALLER);
}

static void jit_code(void **state)
{
	struct fixture *t = leaf(state, JIT + 100, 8);

	t->words[0] = JIT + 200;
	t->event->regs[6] = STACK + 16;
	t->words[2] = 0; /* outermost frame */
	t->words[3] = JIT + 300;
	CHECK(t, ROOT, 3);
	t->words[3] = 0xdead; /* no code: the frame pointer led nowhere */
	CHECK(t, NO_CFI, 2);
	t->event->regs[6] = STACK + 12; /* no stack address */
	CHECK(t, NO_CFI, 2);
	t->event->regs[6] = STACK - 64; /* below the stack pointer */
	CHECK(t, NO_CFI, 2);
	t->event->regs[6] = STACK + 4096;
	CHECK(t, NO_CFI, 2);
	t->event->flags |= EVENT_F_TRUNCATED;
	CHECK(t, TRUNCATED, 2);
	t->event->flags = EVENT_F_USER;
	t->event->regs[6] = STACK + 16;
	t->words[2] = 0x7c0000010000; /* a chain that goes on elsewhere */
	t->words[3] = JIT + 300;
	CHECK(t, OTHER_STACK, 3);
}

static void signal_frames(void **state)
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
	t->words[21] = STACK + 0x100000; /* on another stack; the snapshot is whole */
	CHECK(t, OTHER_STACK, 3);
	t->words[21] = STACK - 0x100000;
	CHECK(t, OTHER_STACK, 3);
	t->event->flags |= EVENT_F_TRUNCATED;
	CHECK(t, OTHER_STACK, 3);
	t->words[21] = STACK + 0x100000;
	CHECK(t, OTHER_STACK, 3);
	t->words[21] = STACK + 4096; /* near: the same stack, of which the rest is missing */
	CHECK(t, TRUNCATED, 3);
	t->event->ustack_sz = EVENT_RED_ZONE + 16; /* cut in the signal frame */
	CHECK(t, TRUNCATED, 2);
}

static void another_stack(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(FRAME), 8);

	t->event->regs[6] = 0x7e1234567000; /* a coroutine's caller */
	CHECK(t, OTHER_STACK, 1);
	t->event->regs[6] = 0x13; /* no stack */
	CHECK(t, BAD_MEMORY, 1);
	t->event->regs[6] = UINT64_MAX - 20; /* CFA wraps around */
	CHECK(t, BAD_MEMORY, 1);
	t->event->regs[6] = STACK + 40;
	t->words[5] = 0x7e1234567000;
	t->words[6] = return_into(FRAME);
	CHECK(t, OTHER_STACK, 2);
}

static void no_progress(void **state)
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

static void a_leaf_without_stack(void **state)
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
/* Pages at the end of the stack that are not there yet are not in the snapshot. */
static void a_leaf_that_has_not_touched_its_stack(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(SIGNAL), 0);
	uint64_t *words = (uint64_t *)(void *)t->event->data;

	t->event->stack_addr = STACK + 16 * 8;
	t->event->ustack_sz = 16 * 8;
	words[20 - 16] = STACK + 24 * 8;
	words[21 - 16] = return_into(PLAIN);
	words[24 - 16] = return_into(ROOT);
	CHECK(t, ROOT, 3);
	t->event->regs[16] = FUNCTION(PLAIN); /* its return address is among what is missing */
	CHECK(t, BAD_MEMORY, 1);
}

static void popped_registers(void **state)
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

static void limit(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), WORDS);

	for (size_t i = 0; i < WORDS; i++)
		t->words[i] = return_into(PLAIN);
	t->words[TRACE_MAX - 2] = return_into(ROOT);
	CHECK(t, ROOT, TRACE_MAX);
	t->words[TRACE_MAX - 2] = return_into(PLAIN);
	CHECK(t, LIMIT, TRACE_MAX);
	naive__walk(t->naive, &t->process, t->event, t->trace);
	assert_int_equal(t->trace->status, UNWIND_LIMIT);
	assert_int_equal(t->trace->cnt, TRACE_MAX);
}

static void compat(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 2);

	t->words[0] = return_into(ROOT);
	t->event->flags |= EVENT_F_COMPAT;
	CHECK(t, COMPAT, 1);
	assert_ptr_equal(t->trace->frames[0].map, &t->maps[1]);
	naive__walk(t->naive, &t->process, t->event, t->trace);
	assert_int_equal(t->trace->status, UNWIND_COMPAT);
	assert_int_equal(t->trace->cnt, 1);
	t->event->regs[16] = 0x1000;
	CHECK(t, COMPAT, 1);
	assert_null(t->trace->frames[0].map);
}

static void without_mappings(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 2);
	size_t cnt = t->process.map_cnt;

	t->process.map_cnt = 0;
	CHECK(t, NO_MAP, 1);
	t->process.map_cnt = cnt;
	t->maps[1].file = NULL; /* a file that could not be opened: frame pointers */
	t->words[0] = return_into(PLAIN);
	CHECK(t, NO_CFI, 2); /* rbp is 0, but who knows why */
	t->maps[1].file = t->file;
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 16;
}

/* Whatever the stack says: a walk ends, and has a leaf. */
static void random_stacks(void **state)
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

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
RUN_TESTS(test(root), test(the_end_of_the_snapshot), test(no_mapping),
	  test(frame_pointers_without_cfi), test(jit_code), test(signal_frames),
	  test(another_stack), test(no_progress), test(a_leaf_without_stack),
	  test(a_leaf_that_has_not_touched_its_stack), test(popped_registers), test(limit),
	  test(compat), test(without_mappings), test(random_stacks))
