/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks over stacks that are written word by word. */
#ifndef UNIT_WALK_SCENE_H
#define UNIT_WALK_SCENE_H

#include "lib/shell.h"
#include "unwind/libdwflwalk.h"
#include "unwind/unwinder.h"

#define LIB	    0x7f0000000000u /* address of the library; its text is 0x10000 above */
#define JIT	    0x7e0000000000u
#define UPROBES	    0x7c0000000000u
#define STACK	    0x7ffd00001000u /* rsp of the leaf */
#define FUNCTION(n) (LIB + 0x10000u + 0x100u * (n))
#define WORDS	    16384

enum { PLAIN, ROOT, FRAME, BARE, SIGNAL, VFORK, POPPED, PROBED, CLONED, FORGED };

#ifndef SCENE_MORE /* additional functions of a test */
#define SCENE_MORE ""
#endif

/* Functions 256 bytes apart; a return address 5 bytes into one follows a call. */
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
	".p2align 8\n.cfi_startproc\n.byte 0x0f,0x1f,0x44,0,0\n nop\n.cfi_endproc\n"
	/* like the C library's clone() */
	".p2align 8\n.cfi_startproc\n nop\n.cfi_endproc\n mov $56,%eax\n syscall\n test "
	"%rax,%rax\n je 1f\n ret\n"
	"1: .cfi_startproc\n.cfi_undefined %rip\n nop\n.cfi_endproc\n"
	/* a register in the callers' frames */
	".p2align 8\n.cfi_startproc\n.cfi_offset %rbp,64\nfunction\n nop\n.cfi_endproc\n" SCENE_MORE
	".p2align 8\n nop\n";

struct fixture {
	struct elf_file *file;
	struct mapping maps[3]; /* uprobes, JIT code, the library */
	struct process process;
	struct jobs *jobs;
	struct unwinder *unwinder;
	struct libdwflwalk *naive;
	struct trace *trace;
	struct event *event;
	uint64_t *words; /* the leaf's rsp points to words[0] */
	uint8_t *room;
};

static inline int setup(void **state)
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
	t->maps[0] = (struct mapping){ .start = UPROBES,
				       .end = UPROBES + 4096,
				       .kind = MAPPING_UPROBES };
	t->maps[1] = (struct mapping){ .start = JIT, .end = JIT + 4096, .kind = MAPPING_ANON };
	t->maps[2] = (struct mapping){ .kind = MAPPING_FILE, .file = t->file };
	for (size_t i = 0; i < t->file->segment_cnt; i++)
		if (t->file->segments[i].flags & PF_X) {
			t->maps[2].start = LIB + t->file->segments[i].vaddr;
			t->maps[2].end = t->maps[2].start + 4096;
			t->maps[2].pgoff = t->file->segments[i].off;
		}
	t->process = (struct process){ .tgid = 7, .maps = t->maps, .map_cnt = 3 };
	t->jobs = jobs__new();
	t->unwinder = unwinder__new(NULL, t->jobs);
	t->naive = libdwflwalk__new();
	t->trace = malloc(sizeof(*t->trace));
	t->room = malloc(SNAPSHOT_ROOM_SZ);
	t->event = calloc(1, sizeof(*t->event) + EVENT_RED_ZONE + WORDS * 8);
	t->words = (uint64_t *)(t->event->data + EVENT_RED_ZONE);
	*state = t;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *t = *state;

	jobs__free(t->jobs);
	unwinder__free(t->unwinder);
	libdwflwalk__free(t->naive);
	elf_file__put(t->file);
	free(t->trace);
	free(t->room);
	free(t->event);
	free(t);
	return 0;
}

/* A leaf at pc with `cnt` words of stack above the red zone, all zero. */
static inline struct fixture *leaf(void **state, uint64_t pc, size_t cnt)
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

static inline struct sample sample_of(struct fixture *t)
{
	struct sample s = { 0 };

	event__sample(t->event, &s);
	if (event__holes(t->event))
		snapshot__spread(&s.stack, event__holes(t->event), t->room);
	return s;
}

static inline void walk(struct fixture *t)
{
	struct sample s = sample_of(t);

	unwinder__walk(t->unwinder, &t->process, &s, t->trace);
}

static inline void walk_naively(struct fixture *t)
{
	struct sample s = sample_of(t);

	libdwflwalk__walk(t->naive, &t->process, &s, t->trace);
}

static inline uint64_t return_into(int function)
{
	return FUNCTION((unsigned)function) + 5;
}

#define CHECK(t, expected_status, expected_cnt)                                 \
	do {                                                                    \
		walk(t);                                                        \
		assert_int_equal((t)->trace->status, UNWIND_##expected_status); \
		assert_int_equal((t)->trace->cnt, expected_cnt);                \
	} while (0)

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
