// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording's folder, its numbers and generations, and errors with them. */
#include "lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "store/folder.h"
#include "store/recording.h"
#include "store/strings.h"

#define SECOND 1000000000ull

static int enter_tmp(void **state)
{
	char dir[] = "/tmp/test_recording.XXXXXX";

	log__init("test_recording", LOG_ERROR);
	if (!mkdtemp(dir) || chdir(dir) != 0)
		return -1;
	*state = strdup(dir);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int leave_tmp(void **state)
{
	int err = chdir("/") || nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);

	free(*state);
	return err;
}

static struct recording *open_recording(const char *dir, bool append)
{
	struct recording_options o = { .dir = dir,
				       .root = "root",
				       .append = append,
				       .owner_uid = geteuid(),
				       .owner_gid = getegid(),
				       .rows_per_group = 10,
				       .groups_per_file = 2,
				       .batch_ns = 10 * SECOND,
				       .compression = "zstd(1)" };

	return recording__new(&o);
}

static void add_rows(struct recording *r, size_t cnt)
{
	struct row row = { .kind = recording__string(r, "switch", 6), .timestamp = 1 };

	for (size_t i = 0; i < cnt; i++)
		assert_int_equal(recording__add(r, &row), 0);
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static size_t count(const char *dir)
{
	DIR *d = opendir(dir);
	size_t cnt = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		cnt += e->d_name[0] != '.';
	closedir(d);
	return cnt;
}

static void touch(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	close(fd);
}

/* A batch also ends if its strings take many MB: they may all differ. */
static void large_strings_end_a_batch(void **state)
{
	struct recording *r = open_recording("rec", false);
	char name[4096];

	(void)state;
	assert_non_null(r);
	assert_int_equal(recording__tick(r, SECOND), 0);
	memset(name, 'x', sizeof(name));
	for (uint32_t i = 0; i < (64 << 20) / sizeof(name); i++) {
		assert_false(recording__due(r, SECOND));
		memcpy(name,
		       (char[4]){ (char)('a' + (i >> 12)), (char)('0' + (i >> 6) % 64),
				  (char)('0' + i % 64), 'x' },
		       4);
		assert_int_not_equal(recording__string(r, name, sizeof(name)), 0);
	}
	assert_true(recording__due(r, SECOND));
	add_rows(r, 1);
	assert_int_equal(recording__tick(r, SECOND), 0);
	assert_int_equal(recording__generation(r), 2);
	assert_false(recording__due(r, SECOND));
	assert_int_equal(recording__finish(r), 0);
	recording__free(r);
}

/* A batch, its strings and its stacks end if it is full or old. */
static void generations_end_when_full_or_old(void **state)
{
	struct recording *r = open_recording("rec", false);
	struct recording_stats stats;
	uint32_t first;

	(void)state;
	assert_non_null(r);
	first = recording__generation(r);
	assert_int_equal(first, 1);
	assert_int_equal(recording__tick(r, SECOND), 0);
	assert_int_equal(recording__add_stack(r, 7, NULL, 0), 0);
	assert_true(recording__has_stack(r, 7));
	add_rows(r, 19);
	assert_int_equal(recording__tick(r, 2 * SECOND), 0);
	assert_int_equal(recording__generation(r), 1);
	add_rows(r, 1);
	assert_int_equal(recording__tick(r, 2 * SECOND), 0);
	assert_int_equal(recording__generation(r), 2); /* 2 groups of 10 rows */
	assert_false(recording__has_stack(r, 7));

	add_rows(r, 1);
	assert_int_equal(recording__tick(r, 11 * SECOND), 0);
	assert_int_equal(recording__generation(r), 2);
	assert_int_equal(recording__tick(r, 12 * SECOND), 0);
	assert_int_equal(recording__generation(r), 3); /* 10 s old */
	assert_int_equal(recording__tick(r, 40 * SECOND), 0);
	assert_int_equal(recording__generation(r), 3); /* empty */
	assert_int_equal(recording__finish(r), 0);
	assert_int_equal(recording__finish(r), 0);
	recording__stats(r, &stats);
	assert_int_equal(stats.rows, 21);
	assert_int_equal(stats.batches, 2);
	assert_true(stats.bytes > 0);
	assert_int_equal(count("rec"), 2 * FOLDER_FILE_CNT);
	assert_true(exists("rec/events-000001.parquet"));
	assert_true(exists("rec/stacktraces-000002.parquet"));
	recording__free(r);
}

/* Strings of a pending row belong to the batch of the row. */
static void strings_belong_to_the_batch_of_their_row(void **state)
{
	static char longest[STRING_MAX + 10];
	struct recording *r = open_recording("rec", false);

	(void)state;
	assert_int_equal(recording__string(r, "", 0), 0);
	assert_int_equal(recording__bytes(r, NULL, 0), 0);
	assert_int_equal(recording__string(r, "a", 1), recording__string(r, "a", 1));
	assert_int_equal(recording__string(r, "a\xff", 2),
			 recording__string(r, "a\xef\xbf\xbd", 4));
	assert_int_not_equal(recording__bytes(r, "a\xff", 2),
			     recording__bytes(r, "a\xef\xbf\xbd", 4));
	memset(longest, 'x', sizeof(longest));
	assert_int_equal(recording__string(r, longest, sizeof(longest)),
			 recording__string(r, longest, STRING_MAX));
	memset(longest, 0xff, sizeof(longest));
	assert_int_not_equal(recording__string(r, longest, sizeof(longest)), 0);
	recording__free(r);
}

static void stacks_are_bounded(void **state)
{
	static struct row_frame frames[RECORDING_FRAMES_MAX + 1];
	struct recording *r = open_recording("rec", false);

	(void)state;
	assert_int_equal(recording__add_stack(r, 1, frames, RECORDING_FRAMES_MAX + 1), -E2BIG);
	assert_false(recording__has_stack(r, 1));
	/* several row groups of stacks */
	for (uint64_t id = 0; id < 40; id++)
		assert_int_equal(recording__add_stack(r, id, frames, RECORDING_FRAMES_MAX), 0);
	assert_true(recording__has_stack(r, 1));
	assert_false(recording__has_stack(r, 40));
	assert_int_equal(recording__reserve_stack(r, 40), 0);
	assert_true(recording__has_stack(r, 40));
	assert_int_equal(recording__finish(r), 0);
	recording__free(r);
	assert_int_equal(count("rec"), 0); /* no event, no batch */
}

static void free_without_finish_leaves_no_file(void **state)
{
	struct recording *r = open_recording("rec", false);

	(void)state;
	add_rows(r, 15);
	recording__free(r);
	assert_int_equal(count("rec"), 0);
	recording__free(NULL);
}

static void a_folder_in_use_is_refused(void **state)
{
	struct recording *r = open_recording("a/b/rec", false);
	struct stat st;

	(void)state;
	assert_non_null(r);
	assert_null(open_recording("a/b/rec", true)); /* two writers */
	assert_int_equal(errno, EBUSY);
	add_rows(r, 1);
	assert_int_equal(recording__finish(r), 0);
	recording__free(r);
	assert_int_equal(stat("a/b", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(stat("a/b/rec", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(stat("a/b/rec/events-000001.parquet", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);

	assert_null(open_recording("a/b/rec", false));
	assert_int_equal(errno, EEXIST);

	touch("a/b/rec/events-000041.parquet.tmp");
	touch("a/b/rec/stacktraces-000040.parquet");
	touch("a/b/rec/notes.tmp");
	r = open_recording("a/b/rec/", true);
	assert_non_null(r);
	assert_false(exists("a/b/rec/events-000041.parquet.tmp"));
	assert_true(exists("a/b/rec/notes.tmp"));
	add_rows(r, 1);
	assert_int_equal(recording__finish(r), 0);
	recording__free(r);
	assert_true(exists("a/b/rec/events-000041.parquet"));
}

static void folders_get_the_next_number(void **state)
{
	struct recording *r;

	(void)state;
	assert_int_equal(mkdir("root", 0755), 0);
	assert_int_equal(mkdir("root/8", 0755), 0);
	assert_int_equal(mkdir("root/30x", 0755), 0);
	touch("root/9");
	r = open_recording(NULL, false);
	assert_non_null(r);
	assert_string_equal(recording__dir(r), "root/10");
	recording__free(r);
}

/* A numbered folder is removed if it is empty; a named one stays. */
static void empty_numbered_folders_are_removed(void **state)
{
	const char *const dirs[] = { NULL, "rec", NULL };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct recording *r = open_recording(dirs[i], false);
		char *dir = strdup(recording__dir(r));

		if (i == 2)
			touch("root/1/somebody's");
		assert_int_equal(recording__finish(r), 0);
		assert_int_equal(recording__removed(r), i == 0);
		assert_int_equal(access(dir, F_OK), i == 0 ? -1 : 0);
		recording__free(r);
		free(dir);
	}
}

static void bad_folders_are_refused(void **state)
{
	(void)state;
	touch("file");
	assert_null(open_recording("file", false));
	assert_int_equal(errno, ENOTDIR);
	assert_null(open_recording("file/rec", false));
	assert_int_equal(errno, ENOTDIR);
	assert_null(open_recording("", false));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_null(open_recording("loop", false));
	assert_int_equal(errno, ELOOP);
}

/* A link that another user made is not followed; the owner's and root's are. */
static void links_of_other_users_are_not_followed(void **state)
{
	struct recording *r;

	(void)state;
	if (geteuid() != 0)
		skip_because("only root can give files away");
	assert_int_equal(mkdir("target", 0755), 0);
	assert_int_equal(symlink("target", "mine"), 0);
	assert_int_equal(symlink("target", "theirs"), 0);
	assert_int_equal(lchown("theirs", 65534, 65534), 0);
	r = open_recording("mine", false);
	assert_non_null(r);
	recording__free(r);
	assert_null(open_recording("theirs", false));
	assert_int_equal(errno, ELOOP);
	assert_null(open_recording("theirs/rec", false));
	assert_int_equal(errno, ELOOP);
}

/* A planted file with the name of a new one is replaced, not followed or filled. */
static void a_planted_file_is_replaced(void **state)
{
	struct folder_options o = { .dir = "rec", .owner = { geteuid(), getegid() } };
	struct folder f;
	struct stat st;
	int fd;

	(void)state;
	touch("precious");
	assert_int_equal(folder__open(&f, &o), 0);
	assert_int_equal(symlink("../precious", "rec/events-000001.parquet.tmp"), 0);
	fd = folder__create(&f, FOLDER_EVENTS, 1);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	assert_int_equal(stat("precious", &st), 0);
	assert_int_equal(st.st_size, 0);
	folder__discard(&f, FOLDER_EVENTS, 1);
	folder__close(&f);
}

/* A user who owns the folder, or may write there, could replace our batches. */
static void refuses_a_folder_of_another_user(void **state)
{
	struct folder_options o = { .dir = "rec", .owner = { geteuid(), getegid() } };
	struct folder f;

	(void)state;
	if (geteuid() != 0)
		skip_because("only root can give folders away");
	assert_int_equal(mkdir("rec", 0755), 0);
	assert_int_equal(chown("rec", 65534, 65534), 0);
	assert_int_equal(folder__open(&f, &o), -EPERM);
	folder__close(&f);
	o.owner.uid = 65534; /* the user who called sudo */
	assert_int_equal(folder__open(&f, &o), 0);
	folder__close(&f);
	o.owner.uid = 65533;
	o.force = true;
	assert_int_equal(folder__open(&f, &o), 0);
	folder__close(&f);
}

static void refuses_a_folder_that_others_may_write_to(void **state)
{
	static const mode_t modes[] = { 0775, 0757, 01777 };
	struct folder_options given = { .dir = "rec", .owner = { geteuid(), getegid() } };
	struct folder_options below = { .root = "rec", .owner = { geteuid(), getegid() } };
	struct folder f;

	(void)state;
	assert_int_equal(mkdir("rec", 0755), 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		assert_int_equal(chmod("rec", modes[i]), 0);
		assert_int_equal(folder__open(&f, &given), -EPERM);
		folder__close(&f);
		assert_int_equal(folder__open(&f, &below), -EPERM);
		folder__close(&f);
		assert_false(exists("rec/1"));
	}
	below.force = true;
	assert_int_equal(folder__open(&f, &below), 0);
	assert_true(exists("rec/1"));
	folder__close(&f);
}

static void bad_options_are_refused(void **state)
{
	struct recording_options o = {
		.dir = "rec", .rows_per_group = 1, .groups_per_file = 1, .compression = "lz4"
	};

	(void)state;
	assert_null(recording__new(&o));
	assert_int_equal(errno, EINVAL);
	o.compression = "none";
	o.rows_per_group = 0;
	assert_null(recording__new(&o));
	assert_int_equal(errno, EINVAL);
	assert_false(exists("rec"));
}

/* A failed write is an error of every later call, and has no other effect. */
static void a_missing_folder_is_an_error(void **state)
{
	struct recording *r = open_recording("rec", false);
	int err = 0;

	(void)state;
	assert_int_equal(rmdir("rec"), 0);
	add_rows(r, 20);
	for (uint64_t t = 1; t < 60000 && !err; t++) {
		err = recording__tick(r, t * SECOND);
		usleep(1000);
	}
	assert_int_equal(err, -ENOENT);
	add_rows(r, 100); /* nothing blocks or breaks afterwards */
	assert_int_equal(recording__tick(r, SECOND), -ENOENT);
	assert_int_equal(recording__finish(r), -ENOENT);
	recording__free(r);
}

#define IN_TMP(test) cmocka_unit_test_setup_teardown(test, enter_tmp, leave_tmp)
RUN_TESTS(IN_TMP(generations_end_when_full_or_old), IN_TMP(large_strings_end_a_batch),
	  IN_TMP(strings_belong_to_the_batch_of_their_row), IN_TMP(stacks_are_bounded),
	  IN_TMP(free_without_finish_leaves_no_file), IN_TMP(a_folder_in_use_is_refused),
	  IN_TMP(folders_get_the_next_number), IN_TMP(empty_numbered_folders_are_removed),
	  IN_TMP(bad_folders_are_refused), IN_TMP(links_of_other_users_are_not_followed),
	  IN_TMP(a_planted_file_is_replaced), IN_TMP(refuses_a_folder_of_another_user),
	  IN_TMP(refuses_a_folder_that_others_may_write_to), IN_TMP(bad_options_are_refused),
	  IN_TMP(a_missing_folder_is_an_error))
