// SPDX-License-Identifier: GPL-2.0-or-later
/* Call-frame information from processes: their shared limits, and what it shares with names. */
#include "lib/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "lib/gdb_image.h"
#include "jit/jitcfi.h"
#include "lib/jitdump_scene.h"
#include "lib/shell.h"

#define CODE	 0x7e0000000000u
#define CODE_SZ	 64
#define FRAMES	 (4 << 20) /* bytes of each image */
#define IMAGES	 7	   /* the first is small, so that its table is made at once */
#define CHILDREN 11	   /* with 268 MB; 256 are kept */
#define LARGEST	 1
#define SMALL	 64
#define LOADS	 300
#define MANY	 600 /* images, more than are kept */

extern struct gdb_descriptor __jit_debug_descriptor; /* the name is gdb's */
struct gdb_descriptor __jit_debug_descriptor;

/* Lists this many images with frames of that size, stops, and waits for its end. */
static _Noreturn void be_listed(size_t cnt, size_t frames_sz)
{
	static struct gdb_listed listed[MANY];
	static struct buf images[MANY];
	void *frames = calloc(1, frames_sz);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < cnt; i++) {
		gdb_image__make(&images[i], CODE + i * 4096, CODE_SZ, 32);
		gdb_image__load(&images[i], frames, i ? frames_sz : SMALL);
		listed[i] = (struct gdb_listed){ i + 1 < cnt ? &listed[i + 1] : NULL, NULL,
						 images[i].data, images[i].sz };
	}
	__jit_debug_descriptor = (struct gdb_descriptor){ 1, 1, listed, listed };
	while (1)
		raise(SIGSTOP);
}

/* Returns a child after it has listed its images. */
static pid_t start_listed(size_t cnt, size_t frames_sz)
{
	pid_t child = fork();

	if (child == 0)
		be_listed(cnt, frames_sz);
	assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
	return child;
}

static bool is_known(struct jit_cfi *j, pid_t child, size_t image)
{
	const struct jit_place place = { (uint32_t)child, CODE + image * 4096 + 8, UINT64_MAX };

	return jit_cfi__find(j, &place, NULL) != NULL;
}

static bool is_found(struct jit_cfi *j, pid_t child)
{
	return is_known(j, child, 0);
}

static void the_largest_process_loses_its_tables(void **state)
{
	struct jit *jit = jit__new(&(struct jit_places){ .proc = "/proc" });
	struct jit_cfi *j = jit_cfi__new(jit);
	pid_t children[CHILDREN];

	(void)state;
	assert_int_equal(jit_cfi__sz(NULL), 0);
	for (size_t i = 0; i < CHILDREN; i++) {
		size_t before = jit_cfi__sz(j);

		children[i] = start_listed(IMAGES + (i == LARGEST), FRAMES);
		assert_true(is_found(j, children[i]));
		assert_in_range(jit_cfi__sz(j), before + SMALL, before + (16 << 10));
	}
	for (int turn = 0; turn < 3; turn++)
		for (size_t i = 0; i < CHILDREN; i++)
			assert_int_equal(is_found(j, children[i]), i != LARGEST);
	for (size_t i = 0; i < CHILDREN; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	/* for the last callers of a process that has ended */
	assert_true(is_found(j, children[0]));
	jit_cfi__free(j);
	jit__free(jit);
}

static size_t count_known(struct jit_cfi *j, pid_t child)
{
	size_t cnt = 0;

	for (size_t i = 0; i < MANY; i++)
		cnt += is_known(j, child, i);
	return cnt;
}

/* Otherwise each walk through them would make all of them again. */
static void tables_beyond_the_limit_are_not_rebuilt(void **state)
{
	struct jit *jit = jit__new(&(struct jit_places){ .proc = "/proc" });
	struct jit_cfi *j = jit_cfi__new(jit);
	uint64_t begin_ns = monotonic__ns();
	pid_t child = start_listed(MANY, SMALL);
	size_t turns = 0;

	(void)state;
	assert_true(is_found(j, child));
	while (count_known(j, child) == MANY)
		assert_true(++turns < 1000);
	for (size_t i = 0; i < MANY; i++)
		while (!is_known(j, child, i)) {
			assert_true(monotonic__ns() - begin_ns < 60000000000);
			usleep(1000);
		}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	jit_cfi__free(j);
	jit__free(jit);
}

struct dump {
	char *dir;
	int fd;
	struct jit *jit;
	struct jit_cfi *cfi;
};

/* A jitdump of this process, with a function. */
static void begin_dump(struct dump *d)
{
	struct buf b = { 0 };
	char path[256];

	assert_int_equal(shell__setup((void **)&d->dir), 0);
	snprintf(path, sizeof(path), "%s/jit-%d.dump", d->dir, (int)getpid());
	d->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(d->fd >= 0);
	put_header(&b, 0);
	put_frames(&b, "", "FRAMES", false);
	put_load(&b, "first", CODE, 1);
	assert_int_equal(write(d->fd, b.data, b.sz), b.sz);
	buf__free(&b);
	assert_true(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, d->fd, 0) != MAP_FAILED);
	d->jit = jit__new(&(struct jit_places){ .proc = "/proc" });
	d->cfi = jit_cfi__new(d->jit);
}

static void end_dump(struct dump *d)
{
	jit_cfi__free(d->cfi);
	jit__free(d->jit);
	close(d->fd);
	shell__teardown((void **)&d->dir);
}

static void one_read_gives_names_and_frames(void **state)
{
	struct jit_place place = { (uint32_t)getpid(), CODE, 2 };
	static struct jit_symbol s;
	struct dump d;

	(void)state;
	begin_dump(&d);
	assert_non_null(jit_cfi__find(d.cfi, &place, NULL));
	assert_int_equal(ftruncate(d.fd, 0), 0); /* a second read would find nothing */
	assert_int_equal(jit__name(d.jit, &place, NULL, &s), JIT_NAMED);
	assert_string_equal(s.name, "first");
	end_dump(&d);
}

/* Looks up the last function that the dump will have, until it has it. */
static void *find_last_name(void *arg)
{
	const struct jit_place place = { (uint32_t)getpid(), CODE + LOADS * 64, UINT64_MAX };
	struct jobs *jobs = jobs__new();
	static struct jit_symbol s;

	while (jit__name(arg, &place, jobs, &s) != JIT_NAMED)
		jobs__collect(jobs);
	jobs__free(jobs);
	return s.name;
}

static void walks_and_names_share_a_growing_dump(void **state)
{
	struct jobs *jobs = jobs__new();
	struct jit_place place = { (uint32_t)getpid(), CODE + LOADS * 64, UINT64_MAX };
	pthread_t thread;
	struct dump d;
	void *name;

	(void)state;
	begin_dump(&d);
	assert_int_equal(pthread_create(&thread, NULL, find_last_name, d.jit), 0);
	for (size_t i = 1; i <= LOADS; i++) {
		struct buf b = { 0 };

		put_frames(&b, "", "FRAMES", false);
		put_load(&b, i < LOADS ? "other" : "last", CODE + i * 64, i);
		assert_int_equal(write(d.fd, b.data, b.sz), b.sz);
		buf__free(&b);
		jit_cfi__find(d.cfi, &place, jobs);
		jobs__collect(jobs);
	}
	assert_int_equal(pthread_join(thread, &name), 0);
	assert_string_equal(name, "last");
	while (!jit_cfi__find(d.cfi, &place, jobs))
		jobs__collect(jobs);
	jobs__free(jobs);
	end_dump(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_process_loses_its_tables),
		cmocka_unit_test(tables_beyond_the_limit_are_not_rebuilt),
		cmocka_unit_test(one_read_gives_names_and_frames),
		cmocka_unit_test(walks_and_names_share_a_growing_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
