// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists for gdb, of this process, that workers read: the same images, and wrong answers. */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "elf/addresstask.h"
#include "jit/gdbjit.h"
#include "jit/gdblisttask.h"
#include "lib/gdb_image.h"

#define CODE	0x7e0000000000u
#define CODE_SZ 64
#define CNT	3

extern struct gdb_descriptor __jit_debug_descriptor; /* the name is gdb's */
struct gdb_descriptor __jit_debug_descriptor;

struct scene {
	struct workers *workers;
	struct jit_owner owner;
	struct gdb_jit *jit;
	struct buf images[CNT];
	struct gdb_listed listed[CNT];
};

static struct scene *scene_with(task_fn read_images)
{
	const task_fn tasks[TASK_CNT] = {
		[TASK_ADDRESSES] = address_task__run, [TASK_IMAGES] = read_images
	};
	struct scene *s = calloc(1, sizeof(*s));
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	log__init("test_gdblisttask", LOG_ERROR);
	s->workers = workers__new(tasks);
	assert_non_null(s->workers);
	assert_int_equal(jit_owner__open(&s->owner, proc, (uint32_t)getpid()), 0);
	close(proc);
	s->jit = gdb_jit__new(NULL, s->workers);
	for (size_t i = 0; i < CNT; i++) {
		gdb_image__make(&s->images[i], CODE + i * 4096, CODE_SZ, 32);
		s->listed[i] = (struct gdb_listed){ i + 1 < CNT ? &s->listed[i + 1] : NULL, NULL,
						    s->images[i].data, s->images[i].sz };
	}
	__jit_debug_descriptor = (struct gdb_descriptor){ 1, 1, s->listed, s->listed };
	return s;
}

static void scene_free(struct scene *s)
{
	for (size_t i = 0; i < CNT; i++)
		buf__free(&s->images[i]);
	gdb_jit__free(s->jit);
	jit_owner__close(&s->owner);
	workers__put(s->workers);
	free(s);
}

static void a_worker_reads_the_images_of_a_list(void **state)
{
	struct scene *s = scene_with(gdb_list_task__run);
	uint8_t *own = malloc(52);
	struct code c;

	(void)state;
	memcpy(own, s->images[1].data + sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Shdr), 52);
	gdb_image__load(&s->images[1], own, 52);
	assert_true(gdb_jit__read(s->jit, &s->owner));
	assert_int_equal(gdb_jit__cnt(s->jit), CNT);
	for (size_t i = 0; i < CNT; i++) {
		assert_false(gdb_jit__find(s->jit, CODE + i * 4096 - 1, &c));
		assert_false(gdb_jit__find(s->jit, CODE + i * 4096 + CODE_SZ, &c));
		assert_true(gdb_jit__find(s->jit, CODE + i * 4096 + CODE_SZ - 1, &c));
		assert_int_equal(c.start, CODE + i * 4096);
		assert_int_equal(c.sz, CODE_SZ);
		assert_int_equal(c.machine, EM_X86_64);
		assert_int_equal(c.frames_at, i == 1 ? (uint64_t)own : 0);
		assert_int_equal(c.frames_sz, 52);
		assert_memory_equal(c.frames, own, 8); /* up to the address of the code */
	}
	free(own);
	scene_free(s);
}

/* A block with all that a block can have. */
struct one {
	struct gdb_list head;
	struct gdb_image images[2];
	struct gdb_range ranges[2];
	uint8_t frames[16];
};

static const struct one sound = {
	.head = { .image_cnt = 2, .range_cnt = 2, .frames_sz = 16 },
	.images = { { .start = 0x1000, .end = 0x2000, .frames_sz = 8, .machine = EM_X86_64 },
		    { .start = 0x2000, .end = 0x3000, .frames_off = 8, .frames_sz = 8 } },
	.ranges = { { 0x1000, 0x2000, 0, 0 }, { 0x2000, 0x3000, 1, 0 } },
};

#define FIELD(f) offsetof(struct one, f), sizeof(((struct one *)0)->f)

static const struct {
	size_t off, sz;
	uint64_t value;
	bool sound;
} forgeries[] = {
	{ FIELD(head.image_cnt), 1, false },
	{ FIELD(head.image_cnt), UINT32_MAX, false },
	{ FIELD(head.range_cnt), 1, false },
	{ FIELD(head.range_cnt), UINT32_MAX, false },
	{ FIELD(head.frames_sz), 15, false },
	{ FIELD(head.frames_sz), UINT32_MAX, false },
	{ FIELD(images[1].start), 0x3000, false }, /* empty */
	{ FIELD(images[1].end), 0x1fff, false },
	{ FIELD(images[1].frames_off), 0, true },
	{ FIELD(images[1].frames_off), 9, false },
	{ FIELD(images[1].frames_off), UINT32_MAX, false },
	{ FIELD(images[1].frames_sz), 0, false },
	{ FIELD(images[1].frames_sz), UINT32_MAX, false },
	{ FIELD(images[1].machine), UINT16_MAX + 1, false },
	{ FIELD(ranges[1].start), 0x1fff, false }, /* overlaps */
	{ FIELD(ranges[1].start), 0x3000, false }, /* empty */
	{ FIELD(ranges[1].end), UINT64_MAX, true },
	{ FIELD(ranges[1].image), 0, true },
	{ FIELD(ranges[1].image), 2, false },
};

static void forged_blocks_are_refused(void **state)
{
	(void)state;
	assert_true(gdb_list__is_sound(&sound, sizeof(sound)));
	for (size_t i = 0; i < sizeof(forgeries) / sizeof(*forgeries); i++) {
		struct one forged = sound;

		memcpy((char *)&forged + forgeries[i].off, &forgeries[i].value, forgeries[i].sz);
		assert_int_equal(gdb_list__is_sound(&forged, sizeof(forged)), forgeries[i].sound);
	}
	for (size_t sz = 0; sz < sizeof(sound); sz++)
		assert_false(gdb_list__is_sound(&sound, sz));
}

static int answer_an_overlap(struct task *t)
{
	struct one *o = malloc(sizeof(*o));

	*o = sound;
	o->ranges[1].start--;
	t->answer = o;
	t->answer_sz = sizeof(*o);
	return 0;
}

static int answer_nothing(struct task *t)
{
	(void)t;
	return 0;
}

static void wrong_answers_keep_the_last_list(void **state)
{
	static const task_fn wrong[] = { answer_an_overlap, answer_nothing };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct scene *s = scene_with(wrong[i]);
		uint32_t generation = gdb_jit__generation(s->jit);
		struct workers_stats stats;

		assert_false(gdb_jit__read(s->jit, &s->owner));
		workers__stats(s->workers, &stats);
		assert_int_equal(stats.refused, 4);
		assert_int_equal(gdb_jit__generation(s->jit), generation);
		assert_false(gdb_jit__read(s->jit, &s->owner)); /* it is tried again */
		scene_free(s);
	}
}

RUN_TESTS(cmocka_unit_test(a_worker_reads_the_images_of_a_list),
	  cmocka_unit_test(forged_blocks_are_refused),
	  cmocka_unit_test(wrong_answers_keep_the_last_list))
