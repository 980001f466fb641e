// SPDX-License-Identifier: GPL-2.0-or-later
/* Compressed and separate call-frame information that workers get, and wrong answers. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cfi/framestask.h"
#include "cfi/libdwimage.h"
#include "elf/code.h"
#include "elf/section.h"
#include "lib/shell.h"

#define SOURCE "int a(int x) { return x * 3; } int main(int c, char **v) { return a(c) + !v; }\n"

/* packed: .debug_frame is compressed. stripped: it is in the debug file. */
static int build(void **state)
{
	log__init("test_framestask", LOG_ERROR);
	if (shell__setup(state) != 0)
		return -1;
	shell__write(*state, "p.c", SOURCE);
	shell__run("cd '%s' && gcc -g -O0 -fno-asynchronous-unwind-tables -o plain p.c && "
		   "objcopy --compress-debug-sections=zlib plain packed && "
		   "objcopy --only-keep-debug packed stripped.debug && "
		   "objcopy --strip-all --add-gnu-debuglink=stripped.debug plain stripped",
		   (char *)*state);
	return 0;
}

static struct elf_file *open_in(const char *folder, const char *name)
{
	char path[512];
	struct elf_file *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = elf_file__open(path);
	assert_non_null(f);
	return f;
}

/* The file's own frames, read without libelf. */
static uint8_t *plain_frames(const char *folder, GElf_Shdr *shdr)
{
	struct elf_file *f = open_in(folder, "plain");
	uint8_t *bytes;
	size_t sz;

	assert_true(section__named(f, ".debug_frame", shdr));
	bytes = section__read(f, shdr, &sz);
	assert_non_null(bytes);
	elf_file__put(f);
	return bytes;
}

static void assert_frames(const struct elf_file *got, const char *folder)
{
	GElf_Shdr plain, shdr;
	uint8_t *expected = plain_frames(folder, &plain), *bytes;
	size_t sz;

	assert_true(section__named(got, ".debug_frame", &shdr));
	bytes = section__read(got, &shdr, &sz);
	assert_non_null(bytes);
	assert_int_equal(sz, plain.sh_size);
	assert_memory_equal(bytes, expected, sz);
	free(bytes);
	free(expected);
}

static const task_fn honest[TASK_CNT] = { [TASK_FRAMES] = frames_task__run };

static void a_worker_decompresses(void **state)
{
	struct workers *w = workers__new(honest);
	struct elf_file *f = open_in(*state, "packed"), *got;
	struct libdw_image image;

	assert_true(frames_task__is_compressed(f));
	got = frames_task__request(w, f, FRAMES_OWN);
	assert_non_null(got);
	assert_false(frames_task__is_compressed(got));
	assert_frames(got, *state);
	assert_int_equal(libdw_image__make(&image, got, f), 0);
	assert_non_null(image.debug_frame);
	libdw_image__free(&image);
	elf_file__put(got);
	elf_file__put(f);
	workers__put(w);
}

static void a_worker_gets_the_debug_file(void **state)
{
	struct workers *w = workers__new(honest);
	struct elf_file *f = open_in(*state, "stripped"), *got;
	GElf_Shdr shdr;

	assert_false(section__named(f, ".debug_frame", &shdr));
	got = frames_task__request(w, f, FRAMES_SEPARATE);
	assert_non_null(got);
	assert_frames(got, *state);
	elf_file__put(got);
	elf_file__put(f);
	f = open_in(*state, "plain"); /* it has no other file */
	assert_null(frames_task__request(w, f, FRAMES_SEPARATE));
	assert_int_equal(errno, ENOENT);
	elf_file__put(f);
	workers__put(w);
}

/* ---- wrong answers ------------------------------------------------------------------------------
 */

static int answer_compressed(struct task *t)
{
	struct stat st;

	if (fstat(t->fd, &st) != 0)
		return -EIO;
	t->answer_sz = (size_t)st.st_size;
	t->answer = malloc(t->answer_sz);
	return pread(t->fd, t->answer, t->answer_sz, 0) == (ssize_t)t->answer_sz ? 0 : -EIO;
}

static int answer_text(struct task *t)
{
	t->answer = strdup("this is no ELF file");
	t->answer_sz = 19;
	return 0;
}

static int answer_nothing(struct task *t)
{
	(void)t;
	return 0;
}

static void wrong_answers_are_refused(void **state)
{
	static const task_fn wrong[] = { answer_compressed, answer_text, answer_nothing };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const task_fn functions[TASK_CNT] = { [TASK_FRAMES] = wrong[i] };
		struct workers *w = workers__new(functions);
		struct elf_file *f = open_in(*state, "packed");
		struct workers_stats stats;

		assert_null(frames_task__request(w, f, FRAMES_OWN));
		assert_int_equal(errno, ECHILD);
		workers__stats(w, &stats);
		assert_int_equal(stats.refused, 4);
		elf_file__put(f);
		workers__put(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_decompresses),
		cmocka_unit_test(a_worker_gets_the_debug_file),
		cmocka_unit_test(wrong_answers_are_refused),
	};

	return cmocka_run_group_tests(tests, build, shell__teardown);
}
