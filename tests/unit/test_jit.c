// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of generated code: which files are trusted. */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/monotonic.h"
#include "lib/shell.h"
#include "jit/codemap.h"
#include "jit/jit.h"
#include "jit/dumppaths.h"

static char map_path[64];

static int setup(void **state)
{
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	*state = jit__new(&(struct jit_places){ .proc = "/proc" });
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	jit__free(*state);
	unlink(map_path);
	return 0;
}

static void write_map(const char *text)
{
	FILE *f = fopen(map_path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Returns the present name of an address in this process, or "". */
static const char *told(struct jit *j, uint64_t addr)
{
	const struct jit_place place = { (uint32_t)getpid(), addr, monotonic__ns() };
	static char name[64];
	struct jit_symbol s;

	if (jit__name(j, &place, NULL, &s) != JIT_NAMED)
		return "";
	snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, s.name);
	return name;
}

static uint32_t own_generation(struct jit *j)
{
	return jit__generation(j, (uint32_t)getpid());
}

static void a_map_of_this_process(void **state)
{
	uint64_t from_ns = monotonic__ns();
	uint32_t generation;

	write_map("1000 10 a\n");
	assert_int_equal(own_generation(*state), 0);
	assert_string_equal(told(*state, 0x1008), "a");
	generation = own_generation(*state);
	assert_int_not_equal(generation, 0);
	write_map("1000 10 a\n2000 10 b\n"); /* indistinguishable from the old text plus more */
	assert_string_equal(told(*state, 0x2000), "b");
	assert_int_equal(own_generation(*state), generation);
	write_map("1000 10 other\n2000 10 b\n3000 10 c\n");
	assert_string_equal(told(*state, 0x1000), "other");
	assert_int_not_equal(own_generation(*state), generation);
	generation = own_generation(*state);
	unlink(map_path);
	write_map("1000 10 new\n");
	while (strcmp(told(*state, 0x1000), "new") != 0)
		assert_true(monotonic__ns() - from_ns < 60000000000);
	/* the search is not repeated all the time */
	assert_true(monotonic__ns() - from_ns >= 250000000);
	assert_int_not_equal(own_generation(*state), generation);
}

/* Enough functions that reading them takes milliseconds, and one of that name. */
static void write_many(const char *name)
{
	FILE *f = fopen(map_path, "w");

	assert_non_null(f);
	fprintf(f, "1000 10 %s\n", name);
	for (unsigned i = 0; i < 300000; i++)
		fprintf(f, "%x 10 function_%u\n", 0x10000 + i * 16, i);
	fclose(f);
}

/* A process that writes much repeatedly does not keep us busy; its names are known in the end. */
static void a_large_map_is_read_seldom(void **state)
{
	uint64_t begin_ns, took_ns;
	const char *name;

	write_many("first");
	assert_string_equal(told(*state, 0x1000), "first");
	write_many("second"); /* a file that is large at first is not suspicious */
	begin_ns = monotonic__ns();
	assert_string_equal(told(*state, 0x1000), "second");
	took_ns = monotonic__ns() - begin_ns;
	write_map("1000 10 third\n");
	name = told(*state, 0x1000);
	if (monotonic__ns() - begin_ns < 10 * took_ns)
		assert_string_equal(name, "second");
	while (strcmp(told(*state, 0x1000), "third") != 0) {
		assert_true(monotonic__ns() - begin_ns < 60000000000 + 20 * took_ns);
		usleep(1000);
	}
	assert_true(monotonic__ns() - begin_ns > 10 * took_ns);
}

static void refuse(struct jit *j)
{
	alarm(60); /* nothing blocks */
	assert_string_equal(told(j, 0x1000), "");
	assert_int_equal(own_generation(j), 0);
	alarm(0);
}

static void links_to_other_files_are_not_believed(void **state)
{
	const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	char other[80];

	snprintf(other, sizeof(other), "%s.other", map_path);
	assert_int_equal(mkfifo(map_path, 0666), 0);
	refuse(*state);
	unlink(map_path);

	write_map("1000 10 a\n");
	assert_int_equal(rename(map_path, other), 0);
	assert_int_equal(symlink(other, map_path), 0);
	refuse(*state);
	unlink(map_path);

	assert_int_equal(link(other, map_path), 0);
	refuse(*state);
	unlink(map_path);

	unlink(other);
	write_map("1000 10 a\n");
	assert_int_equal(utimensat(AT_FDCWD, map_path, old, 0), 0);
	refuse(*state);
}

static void a_file_of_another_user_is_not_believed(void **state)
{
	write_map("1000 10 a\n");
	if (geteuid() != 0)
		skip_because("giving a file away needs root");
	assert_int_equal(chown(map_path, 12345, 12345), 0);
	refuse(*state);
}

static void processes_that_ended_have_no_names(void **state)
{
	struct jit_symbol s;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(jit__name(*state, &(struct jit_place){ (uint32_t)pid, 1, 1 }, NULL, &s),
			 JIT_NONE);
	/* Far more than are kept. */
	for (uint32_t tgid = 4000000; tgid < 4001000; tgid++)
		assert_int_equal(jit__name(*state, &(struct jit_place){ tgid, 1, 1 }, NULL, &s),
				 JIT_NONE);
	assert_int_equal(jit__generation(*state, 4000999), 0);
}

#define test_with_jit(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void apply_mmap(struct dump_paths *t, uint32_t tgid, const char *path, uint32_t prot)
{
	const struct record r = {
		.type = RECORD_MMAP,
		.tgid = tgid,
		.tid = tgid,
		.mmap = { .start = 0x1000, .len = 4096, .prot = prot, .path = path }
	};

	dump_paths__apply(t, &r);
}

static void recorded_dumps_are_found(void **state)
{
	static const char *const others[] = { "/tmp/jit-.dump",
					      "/tmp/jit-1.dump.so",
					      "jit-1.dump",
					      "/tmp/jit-1x.dump",
					      "/tmp/xjit-1.dump",
					      "//anon",
					      "/tmp/jit-1.dump/file",
					      "",
					      "/" };
	struct dump_paths *t = dump_paths__new();
	const char *dump;

	(void)state;
	assert_non_null(t);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		apply_mmap(t, 7, others[i], PROT_READ | PROT_EXEC);
	apply_mmap(t, 7, "/tmp/jit-7.dump", PROT_READ);
	assert_null(dump_paths__dump(t, 7));
	apply_mmap(t, 7, "/home/u/.debug/jit-7.dump", PROT_READ | PROT_EXEC);
	dump = dump_paths__dump(t, 7);
	assert_string_equal(dump, "/home/u/.debug/jit-7.dump");
	apply_mmap(t, 7, "/home/u/.debug/jit-7.dump", PROT_READ | PROT_EXEC);
	assert_ptr_equal(dump_paths__dump(t, 7), dump);
	/* its process id in its container is 1 */
	apply_mmap(t, 7, "/tmp/jit-1.dump", PROT_READ | PROT_EXEC);
	assert_string_equal(dump_paths__dump(t, 7), "/tmp/jit-1.dump");
	assert_null(dump_paths__dump(t, 8));
	dump_paths__free(t);
}

/* A process that has ended, with files of any owner; they are read at the first request. */
static void a_recorded_process_has_names(void **state)
{
	struct dump_paths *t = dump_paths__new();
	struct jit_places places = { .root = "/", .told = t };
	struct jit *j = jit__new(&places);
	const struct jit_place place = { (uint32_t)getpid(), 0x1008, UINT64_MAX };
	struct jit_symbol s;

	(void)state;
	write_map("1000 10 a\n");
	assert_int_equal(chown(map_path, geteuid() ? geteuid() : 12345, (gid_t)-1), 0);
	assert_int_equal(jit__name(j, &place, NULL, &s), JIT_NAMED);
	assert_string_equal(s.name, "a");
	write_map("1000 10 b\n");
	assert_int_equal(jit__name(j, &place, NULL, &s), JIT_NAMED);
	assert_string_equal(s.name, "a");
	jit__free(j);
	dump_paths__free(t);
	unlink(map_path);
}

#define SWEEPS 3

static void a_sweep_forgets_processes_that_are_not_used(void **state)
{
	size_t sz;

	write_map("1000 10 a\n");
	assert_int_equal(jit__sz(*state), 0);
	assert_string_equal(told(*state, 0x1000), "a");
	sz = jit__sz(*state);
	assert_true(sz > 0);
	for (int i = 0; i < 2 * SWEEPS; i++) {
		assert_int_equal(jit__sweep(*state, SWEEPS), 0);
		assert_string_equal(told(*state, 0x1000), "a");
	}
	assert_int_equal(jit__sweep(*state, SWEEPS), 0); /* sees the last use */
	for (int i = 0; i < SWEEPS; i++)
		assert_int_equal(jit__sweep(*state, SWEEPS), 0);
	assert_int_equal(jit__sweep(*state, SWEEPS), sz);
	assert_int_equal(jit__sz(*state), 0);
	assert_string_equal(told(*state, 0x1000), "a"); /* reads it again */
}

static void shrinking_empties_the_largest_process(void **state)
{
	size_t sz;

	write_map("1000 10 a\n");
	assert_int_equal(jit__shrink(*state, 1), 0);
	assert_string_equal(told(*state, 0x1000), "a");
	sz = jit__sz(*state);
	assert_int_equal(jit__shrink(*state, 1), sz);
	assert_int_equal(jit__sz(*state), 0);
	assert_string_equal(told(*state, 0x1000), ""); /* not read again for some time */
}

RUN_TESTS(test_with_jit(a_sweep_forgets_processes_that_are_not_used),
	  test_with_jit(shrinking_empties_the_largest_process),
	  test_with_jit(a_map_of_this_process), test_with_jit(a_large_map_is_read_seldom),
	  test_with_jit(links_to_other_files_are_not_believed),
	  test_with_jit(a_file_of_another_user_is_not_believed),
	  test_with_jit(processes_that_ended_have_no_names),
	  cmocka_unit_test(recorded_dumps_are_found),
	  cmocka_unit_test(a_recorded_process_has_names))
