// SPDX-License-Identifier: GPL-2.0-or-later
/* Perf maps and jitdumps that workers read: the same functions, and wrong answers. */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "lib/codefile_scene.h"
#include "lib/codemap_scene.h"
#include "lib/jitdump_scene.h"
#include "symbol/demangle.h"

static const task_fn honest[TASK_CNT] = { [TASK_CODE] = code_task__run };

static int setup(void **state)
{
	log__init("test_codetask", LOG_ERROR);
	*state = workers__new(honest);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	workers__put(*state);
	return 0;
}

static void assert_same(const struct codemap *a, const struct codemap *b, uint64_t addr)
{
	struct code x, y;
	bool found = codemap__find(a, addr, 50, &x);

	assert_int_equal(codemap__find(b, addr, 50, &y), found);
	if (!found)
		return;
	assert_string_equal(x.name, y.name);
	assert_int_equal(x.start, y.start);
	assert_int_equal(x.sz, y.sz);
	assert_int_equal(x.time_ns, y.time_ns);
	assert_int_equal(x.frames_sz, y.frames_sz);
	if (x.frames_sz)
		assert_memory_equal(x.frames, y.frames, x.frames_sz);
}

/* A file that grows, read by a worker and by this process. */
struct both {
	struct workers *workers;
	enum code_format format;
	int fd;
	struct code_progress remote_at, local_at;
	struct codemap *remote, *local;
};

static struct both both_of(struct workers *w, enum code_format format)
{
	return (struct both){
		w, format, text_file(), { 0 }, { 0 }, codemap__new(), codemap__new(),
	};
}

static void both_free(struct both *b)
{
	close(b->fd);
	codemap__free(b->remote);
	codemap__free(b->local);
}

static void both_append(struct both *b, const void *data, size_t sz)
{
	append(b->fd, data, sz);
	assert_int_equal(code_read(b->workers, b->format, b->fd, &b->remote_at, b->remote), 0);
	assert_int_equal(code_read(NULL, b->format, b->fd, &b->local_at, b->local), 0);
	assert_int_equal(b->remote_at.off, b->local_at.off);
	assert_int_equal(codemap__cnt(b->remote), codemap__cnt(b->local));
	for (uint64_t addr = 0x800; addr < 0x6000; addr += 0x10)
		assert_same(b->remote, b->local, addr);
}

static void a_worker_reads_a_map_as_it_grows(void **state)
{
	struct both b = both_of(*state, CODE_MAP);

	both_append(&b, "1000 10 a\n2000 10 b", 19);
	both_append(&b, "c\nnonsense\n1000 10 d\n", 21);
	assert_string_equal(at(b.remote, 0x1000, 0), "d");
	assert_string_equal(at(b.remote, 0x2000, 0), "bc");
	both_free(&b);
}

static void a_worker_reads_a_dump_as_it_grows(void **state)
{
	struct both b = both_of(*state, CODE_DUMP);
	struct buf bytes = { 0 };
	struct code c;

	put_header(&bytes, 0);
	put_frames(&bytes, "\1\x1b header", "FRAMES of a", false);
	put_load(&bytes, "a", 0x1000, 10);
	put_load(&bytes, "b", 0x2000, 20);
	for (size_t i = 0; i < bytes.sz; i += 7)
		both_append(&b, bytes.data + i, i + 7 < bytes.sz ? 7 : bytes.sz - i);
	assert_true(codemap__find(b.remote, 0x1000, 50, &c));
	assert_int_equal(c.frames_sz, strlen("FRAMES of a"));
	assert_string_equal(at(b.remote, 0x2000, 50), "b");
	buf__free(&bytes);
	both_free(&b);
}

/* More functions than an answer may have: several requests, and all of them. */
static void a_large_map_takes_several_requests(void **state)
{
	const uint64_t cnt = 150000;
	struct both b = both_of(*state, CODE_MAP);
	struct buf text = { 0 };
	struct workers_stats before, after;

	for (uint64_t i = 0; i < cnt; i++)
		buf__printf(&text, "%llx 10 f%llu\n", 0x100000ull + i * 16, (unsigned long long)i);
	workers__stats(*state, &before);
	both_append(&b, text.data, text.sz);
	workers__stats(*state, &after);
	assert_int_equal(after.asked - before.asked, 3);
	assert_int_equal(codemap__cnt(b.remote), cnt);
	assert_string_equal(at(b.remote, 0x100000 + (cnt - 1) * 16, 0), "f149999");
	buf__free(&text);
	both_free(&b);
}

static void a_workers_error_is_the_readers(void **state)
{
	struct code_progress at = { 0 };
	struct codemap *m = codemap__new();
	static const char map[] = "1000 10 this is a map, and no dump of any kind\n",
			  other[] = "2000 10 this is another map with a different text\n";
	int fd = text_file();

	append(fd, map, strlen(map));
	assert_int_equal(code_read(*state, CODE_DUMP, fd, &at, m), -EBADMSG);
	assert_int_equal(code_read(*state, CODE_MAP, fd, &at, m), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	append(fd, other, strlen(other));
	assert_int_equal(code_read(*state, CODE_MAP, fd, &at, m), -ESTALE);
	codemap__free(m);
	close(fd);
}

/* ---- wrong answers ------------------------------------------------------------------------------
 */

/* A part that gave one function. */
struct one {
	struct code_result head;
	struct code_entry entry;
	char name[8], frames[8];
};

static const struct one sound = {
	.head = { .at.off = 20,
		  .entries_sz = sizeof(struct code_entry),
		  .names_sz = 8,
		  .frames_sz = 8 },
	.entry = { .start = 0x1000, .sz = 16, .frames_off = 1, .frames_sz = 7 },
	.name = "abcdefg",
	.frames = "FRAMES",
};

#define FIELD(f) offsetof(struct one, f), sizeof(((struct one *)0)->f)

static const struct {
	size_t off, sz;
	uint64_t value;
	bool sound;
} forgeries[] = {
	{ FIELD(head.at.off), 20, true },
	{ FIELD(head.at.off), 30, true },
	{ FIELD(head.at.off), 31, false }, /* after the end of the file */
	{ FIELD(head.at.off), 5, false },  /* too short for a function */
	{ FIELD(head.err), (uint32_t)-5, true },
	{ FIELD(head.err), 1, false },
	{ FIELD(head.err), (uint32_t)-5000, false },
	{ FIELD(head.entries_sz), 40, false },
	{ FIELD(head.entries_sz), UINT32_MAX, false },
	{ FIELD(head.names_sz), 7, false },
	{ FIELD(head.names_sz), UINT32_MAX, false },
	{ FIELD(head.frames_sz), 9, false },
	{ FIELD(entry.name), 7, true }, /* an empty name */
	{ FIELD(entry.name), 8, false },
	{ FIELD(entry.frames_off), 0, true },
	{ FIELD(entry.frames_off), 2, false },
	{ FIELD(entry.frames_off), UINT32_MAX, false },
	{ FIELD(entry.frames_sz), UINT32_MAX, false },
	{ FIELD(entry.moved), 1, false }, /* with frames */
	{ FIELD(entry.moved), 2, false },
	{ FIELD(name[7]), 'h', false }, /* no end */
};

static void forged_blocks_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(forgeries) / sizeof(*forgeries); i++) {
		struct one forged = sound;

		memcpy((char *)&forged + forgeries[i].off, &forgeries[i].value, forgeries[i].sz);
		assert_int_equal(code_block__is_sound(&forged, sizeof(forged), 0, 30),
				 forgeries[i].sound);
	}
	assert_true(code_block__is_sound(&sound, sizeof(sound), 14, 30));
	assert_false(code_block__is_sound(&sound, sizeof(sound), 15, 30));
	assert_false(code_block__is_sound(&sound, sizeof(sound), 21, 30));
	for (size_t sz = 0; sz < sizeof(sound); sz++)
		assert_false(code_block__is_sound(&sound, sz, 0, 30));
}

static void names_that_fit_no_symbol_are_refused(void **state)
{
	const struct code c = { .start = 0x1000, .sz = 16 };
	const struct code_progress at = { .off = 100000 };
	char name[SYMBOL_NAME_MAX + 1];

	(void)state;
	for (size_t len = SYMBOL_NAME_MAX - 1; len <= SYMBOL_NAME_MAX; len++) {
		struct code_list l = { 0 };
		struct code named = c;
		void *block;
		size_t sz;

		memset(name, 'x', len);
		name[len] = '\0';
		named.name = name;
		code_list__add(&l, &named);
		block = code_block__of(&l, &at, 0, &sz);
		assert_int_equal(code_block__is_sound(block, sz, 0, 100000), len < SYMBOL_NAME_MAX);
		free(block);
		code_list__free(&l);
	}
}

static int answer_past_the_end(struct task *t)
{
	struct one *o = malloc(sizeof(*o));

	*o = sound;
	o->head.at.off = 1000;
	t->answer = o;
	t->answer_sz = sizeof(*o);
	return 0;
}

static int answer_nothing(struct task *t)
{
	(void)t;
	return 0;
}

static void assert_refused(task_fn wrong)
{
	const task_fn functions[TASK_CNT] = { [TASK_CODE] = wrong };
	struct workers *w = workers__new(functions);
	struct code_progress at = { 0 };
	struct codemap *m = codemap__new();
	struct workers_stats stats;
	int fd = text_file();

	append(fd, "1000 10 a\n2000 10 b\n", 20);
	assert_int_equal(code_read(w, CODE_MAP, fd, &at, m), -ECHILD);
	workers__stats(w, &stats);
	assert_int_equal(stats.refused, 4);
	assert_int_equal(at.off, 0);
	assert_int_equal(codemap__cnt(m), 0);
	workers__put(w);
	codemap__free(m);
	close(fd);
}

static void wrong_answers_of_workers_add_nothing(void **state)
{
	(void)state;
	log__init("test_codetask", LOG_ERROR);
	assert_refused(answer_past_the_end);
	assert_refused(answer_nothing);
}

RUN_TESTS(cmocka_unit_test_setup_teardown(a_worker_reads_a_map_as_it_grows, setup, teardown),
	  cmocka_unit_test_setup_teardown(a_worker_reads_a_dump_as_it_grows, setup, teardown),
	  cmocka_unit_test_setup_teardown(a_large_map_takes_several_requests, setup, teardown),
	  cmocka_unit_test_setup_teardown(a_workers_error_is_the_readers, setup, teardown),
	  cmocka_unit_test(forged_blocks_are_refused),
	  cmocka_unit_test(names_that_fit_no_symbol_are_refused),
	  cmocka_unit_test(wrong_answers_of_workers_add_nothing))
