// SPDX-License-Identifier: GPL-2.0-or-later
/* The inputs of a stack's id, and the names of its frames. */
#include "lib/test.h"

#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "stacks/origin.h"
#include "stacks/stack.h"
#include "process/process.h"
#include "lib/shell.h"

#define BATCH_NS 10000000000

#define PATIENT_NS 60000000000

struct rig {
	char *dir;
	struct recording *recording;
	struct stacks *stacks;
	struct trace trace;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct recording_options o = { .owner_uid = geteuid(),
				       .owner_gid = getegid(),
				       .rows_per_group = 10,
				       .groups_per_file = 2,
				       .batch_ns = BATCH_NS,
				       .compression = "none" };

	log__init("test_stack", LOG_ERROR);
	if (!r || shell__setup((void **)&r->dir))
		return -1;
	o.dir = r->dir;
	r->recording = recording__new(&o);
	r->stacks = r->recording ? stacks__new(r->recording, NULL, NULL) : NULL;
	*state = r;
	return r->stacks ? 0 : -1;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	stacks__free(r->stacks);
	recording__free(r->recording);
	shell__teardown((void **)&r->dir);
	free(r);
	return 0;
}

#define test_with_rig(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* Like the collector's process table. */
static struct elf_file *open_file(const char *path)
{
	struct elf_file *f = elf_file__open(path);

	assert_non_null(f);
	f->origin = origin__of(f);
	return f;
}

/* Returns the id of a stack of one frame. */
static uint64_t id_at(struct rig *r, const struct mapping *m, uint64_t pc)
{
	r->trace.cnt = 1;
	r->trace.frames[0] = (struct frame){ .pc = pc, .map = m };
	uint64_t id;

	while (stacks__user(r->stacks, &r->trace, &(struct stack_owner){ 0 }, &id) == -EAGAIN)
		stacks__finish(r->stacks, PATIENT_NS);
	return id;
}

static struct mapping unread(const char *path, uint8_t build_id)
{
	return (struct mapping){ .start = 0x1000,
				 .end = 0x3000,
				 .kind = MAPPING_FILE,
				 .build_id = { .sz = 20, .bytes = { build_id } },
				 .path = path };
}

static void files_that_cannot_be_read_differ_by_build_id(void **state)
{
	struct mapping one = unread("/gone", 1), two = unread("/gone", 2), moved = one;

	moved.start += 0x10000;
	moved.end += 0x10000;
	assert_int_not_equal(id_at(*state, &one, 0x1234), id_at(*state, &two, 0x1234));
	assert_int_not_equal(id_at(*state, &one, 0x1234), id_at(*state, &one, 0x1235));
	assert_int_equal(id_at(*state, &one, 0x1234), id_at(*state, &moved, 0x11234));
}

static void an_unread_claim_is_not_the_file(void **state)
{
	struct elf_file *file = open_file("/bin/sh");
	struct mapping m, claim;

	assert_non_null(file);
	m = (struct mapping){ .start = 0x1000,
			      .end = 0x100000,
			      .kind = MAPPING_FILE,
			      .file = file,
			      .build_id = file->build_id,
			      .path = "/bin/sh" };
	claim = m;
	claim.file = NULL;
	assert_int_not_equal(id_at(*state, &m, 0x6000), id_at(*state, &claim, 0x6000));
	stacks__finish(((struct rig *)*state)->stacks, PATIENT_NS);
	elf_file__put(file);
}

/* Returns the id of a stack of two frames in one mapping. */
static uint64_t id_of_two(struct rig *r, const struct mapping *m, uint64_t pc, uint32_t tgid)
{
	uint64_t id;

	r->trace.cnt = 2;
	r->trace.frames[0] = (struct frame){ .pc = pc, .map = m };
	r->trace.frames[1] = (struct frame){ .pc = pc + 1, .map = m, .flags = FRAME_CALLER };
	assert_int_equal(
		stacks__user(r->stacks, &r->trace, &(struct stack_owner){ .tgid = tgid }, &id), 0);
	return id;
}

/* Ids are of files and places, not of addresses: other files are mapped there later. */
static void ids_are_those_of_what_is_mapped(void **state)
{
	struct elf_file *files[] = { open_file("/bin/sh"), open_file("/bin/ls") };
	struct mapping m = { .start = 0x1000, .end = 0x9000, .kind = MAPPING_FILE, .path = "/x" };
	uint64_t first[3];

	assert_true(files[0]->origin && files[1]->origin);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3; i++) {
			uint64_t id;

			m.file = files[i % 2];
			m.pgoff = i == 2 ? 0x4000 : 0;
			id = id_of_two(*state, &m, 0x1234, 1);
			first[i] = round ? first[i] : id;
			assert_int_equal(id, first[i]);
			assert_int_equal(id_of_two(*state, &m, 0x1234, 2), id);
		}
	}
	assert_true(first[0] != first[1] && first[0] != first[2] && first[1] != first[2]);
	stacks__finish(((struct rig *)*state)->stacks, PATIENT_NS);
	elf_file__put(files[0]);
	elf_file__put(files[1]);
}

/* It is another stack, even if it was seen before. */
static void a_stitched_frame_is_not_the_one_that_was_seen(void **state)
{
	struct rig *r = *state;
	struct elf_file *file = open_file("/bin/sh");
	struct mapping m = { .start = 0x1000,
			     .end = 0x9000,
			     .kind = MAPPING_FILE,
			     .file = file,
			     .path = "/bin/sh" };
	uint64_t seen = id_of_two(r, &m, 0x1234, 1), stitched;

	r->trace.frames[1].source = FRAME_BY_STITCH;
	assert_int_equal(
		stacks__user(r->stacks, &r->trace, &(struct stack_owner){ .tgid = 1 }, &stitched),
		0);
	assert_int_not_equal(stitched, seen);
	assert_int_equal(id_of_two(r, &m, 0x1234, 1), seen);
	stacks__finish(r->stacks, PATIENT_NS);
	elf_file__put(file);
}

static void anonymous_code_counts_as_a_whole(void **state)
{
	struct mapping jit = { .start = 0x1000, .end = 0x3000, .kind = MAPPING_ANON, .path = "" };

	/* Until the process (which does not exist) is known to publish no names. */
	assert_int_not_equal(id_at(*state, &jit, 0x1234), id_at(*state, &jit, 0x2000));
	stacks__finish(((struct rig *)*state)->stacks, PATIENT_NS);
	assert_int_equal(id_at(*state, &jit, 0x1234), id_at(*state, &jit, 0x2000));
	assert_int_not_equal(id_at(*state, &jit, 0x1234), id_at(*state, NULL, 0x1234));
}

/* Returns the link-time address of elf_file__open() in this program. */
static uint64_t link_time(void)
{
	char *text = shell__output("nm /proc/%d/exe | awk '$3 == \"elf_file__open\" { print $1 }'",
				   (int)getpid());
	uint64_t vaddr = text ? strtoull(text, NULL, 16) : 0;

	free(text);
	return vaddr;
}

/* This program, loaded at its link-time address. */
static struct mapping map_self(struct elf_file *self, uint64_t vaddr)
{
	struct mapping m = {
		.end = UINT64_MAX, .kind = MAPPING_FILE, .file = self, .path = "/self"
	};

	for (size_t i = 0; i < self->segment_cnt; i++) {
		const struct elf_segment *s = &self->segments[i];

		if (vaddr - s->vaddr < s->sz)
			m.pgoff = s->off - s->vaddr;
	}
	return m;
}

/* Checks the leaf in the batch. */
static void check_leaf(struct rig *r, uint64_t id, const char *module, uint64_t vaddr,
		       uint64_t offset)
{
	struct buf frames = { 0 };
	struct row_frame *frame;

	assert_true(recording__stack(r->recording, id, &frames) > 0);
	frame = (struct row_frame *)(void *)frames.data;
	assert_string_equal(recording__str(r->recording, frame->name, NULL), "elf_file__open");
	assert_string_equal(recording__str(r->recording, frame->module, NULL), module);
	assert_int_equal(frame->address, vaddr);
	assert_int_equal(frame->offset, offset);
	buf__free(&frames);
}

static void frames_get_their_names_in_another_thread(void **state)
{
	struct rig *r = *state;
	struct elf_file *self = open_file("/proc/self/exe");
	uint64_t vaddr = link_time(), id;
	struct mapping m = map_self(self, vaddr);

	assert_int_not_equal(vaddr, 0);
	id = id_at(r, &m, vaddr + 4);
	assert_int_equal(stacks__unnamed(r->stacks), 1);
	assert_true(recording__has_stack(r->recording, id));
	stacks__finish(r->stacks, PATIENT_NS);
	check_leaf(r, id, "/self", vaddr, 4);
	elf_file__put(self);
}

static void begin_another_batch(struct rig *r, uint64_t now_ns)
{
	uint32_t generation = recording__generation(r->recording);

	assert_int_equal(recording__add(r->recording, &(struct row){ .timestamp = 1 }), 0);
	recording__tick(r->recording, now_ns);
	recording__tick(r->recording, now_ns + BATCH_NS);
	assert_int_not_equal(recording__generation(r->recording), generation);
}

/* The other thread is not asked again for known names. */
static void known_names_are_there_at_once(void **state)
{
	struct rig *r = *state;
	struct elf_file *self = open_file("/proc/self/exe");
	uint64_t vaddr = link_time(), id;
	struct mapping m = map_self(self, vaddr), other = m;

	other.path = "/elsewhere/self";
	id_at(r, &m, vaddr + 4);
	stacks__finish(r->stacks, PATIENT_NS);
	for (uint64_t batch = 1; batch < 3; batch++) {
		id = id_at(r, &m, vaddr + 5);
		check_leaf(r, id, "/self", vaddr, 5);
		/* The path is that of the frame's own process. */
		id = id_of_two(r, &other, vaddr + 5, 1);
		check_leaf(r, id, "/elsewhere/self", vaddr, 5);
		id = id_of_two(r, &m, vaddr + 6, 1);
		check_leaf(r, id, "/self", vaddr, 6);
		assert_int_equal(stacks__unnamed(r->stacks), 0);
		begin_another_batch(r, batch * 10 * BATCH_NS);
	}
	elf_file__put(self);
}

/* Returns the names of the frames of the kernel stack, leaf first, separated by blanks. */
static char *kernel_names(struct rig *r, uint64_t id)
{
	struct buf frames = { 0 };
	ssize_t frame_cnt = recording__stack(r->recording, id, &frames);
	static char names[256];
	size_t at = 0, sz;

	names[0] = '\0';
	for (ssize_t i = 0; i < frame_cnt; i++) {
		const struct row_frame *f = (struct row_frame *)(void *)frames.data + i;

		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? " " : "",
				       recording__str(r->recording, f->name, &sz));
	}
	buf__free(&frames);
	return names;
}

/* Our BPF program and its callers are on top of a tracepoint's stack. */
static void kernel_stacks_begin_below_our_programs(void **state)
{
	static const char table[] = "ffffffff81000000 T _text\n"
				    "ffffffff81001000 T entry\n"
				    "ffffffff81002000 T schedule\n"
				    "ffffffff81003000 T bpf_trace_run4\n"
				    "ffffffff81004000 t __bpf_trace_sched_switch\n"
				    "ffffffff81005000 t __traceiter_sched_switch\n"
				    "ffffffff81006000 T asm_sysvec_apic_timer_interrupt\n"
				    "ffffffff81007000 T handle_softirqs\n"
				    "ffffffff81008000 T _etext\n";
	const uint64_t program = 0xffffffffc0001010, run = 0xffffffff81003010,
		       stub = 0xffffffff81004010, iter = 0xffffffff81005020,
		       schedule = 0xffffffff81002010, entry = 0xffffffff81001010,
		       timer = 0xffffffff81006010, softirq = 0xffffffff81007010;
	const uint64_t traced[] = { program, program, run, stub, iter, schedule, entry };
	const uint64_t other[] = { schedule, entry };
	const uint64_t interrupt[] = { program, run, schedule, softirq, entry, timer, entry };
	struct rig *r = *state;
	char *path = shell__output("printf %%s %s/kallsyms", r->dir);
	FILE *f = fopen(path, "w");
	struct kallsyms *kernel;
	struct stacks *stacks;
	uint64_t ids[2];

	assert_non_null(f);
	fputs(table, f);
	fclose(f);
	kernel = kallsyms__new(path);
	assert_non_null(kernel);
	stacks = stacks__new(r->recording, NULL, NULL);
	stacks__kernel(stacks, traced, 7, false); /* there are no names yet, as on a busy machine */
	stacks__set_kernel(stacks, kernel);
	ids[0] = stacks__kernel(stacks, traced, 7, false);
	ids[1] = stacks__kernel(stacks, other, 2, false);
	assert_string_equal(kernel_names(r, ids[0]), "schedule entry");
	assert_string_equal(kernel_names(r, ids[1]), "schedule entry");
	assert_string_equal(kernel_names(r, stacks__kernel(stacks, traced + 5, 2, false)),
			    "schedule entry");
	/* The leaf of another event is the CPU's place, not a return address. */
	assert_int_not_equal(ids[0], ids[1]);
	/* An interrupted stack does not include the interrupt. */
	assert_string_equal(kernel_names(r, stacks__kernel(stacks, interrupt, 7, true)),
			    "schedule handle_softirqs");
	ids[0] = stacks__kernel(stacks, interrupt + 4, 2, true);
	ids[1] = stacks__kernel(stacks, interrupt + 4, 3, true);
	assert_int_equal(ids[0], ids[1]);
	assert_string_equal(kernel_names(r, ids[1]), "entry asm_sysvec_apic_timer_interrupt");
	assert_int_equal(stacks__kernel(stacks, traced, 7, true),
			 stacks__kernel(stacks, traced, 7, false));
	stacks__free(stacks);
	kallsyms__free(kernel);
	free(path);
}

RUN_TESTS(test_with_rig(files_that_cannot_be_read_differ_by_build_id),
	  test_with_rig(an_unread_claim_is_not_the_file),
	  test_with_rig(ids_are_those_of_what_is_mapped),
	  test_with_rig(a_stitched_frame_is_not_the_one_that_was_seen),
	  test_with_rig(anonymous_code_counts_as_a_whole),
	  test_with_rig(kernel_stacks_begin_below_our_programs),
	  test_with_rig(frames_get_their_names_in_another_thread),
	  test_with_rig(known_names_are_there_at_once))
