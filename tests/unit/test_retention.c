// SPDX-License-Identifier: GPL-2.0-or-later
/* --keep: the oldest batches go, all files of each. */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "store/folder.h"
#include "store/retention.h"

#define SECOND_NS 1000000000ull
#define FILE_SZ	  1000

static struct folder folder;
static struct retention limits;
static char dir[] = "/tmp/test_retention.XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	log__init("test_retention", LOG_ERROR);
	snprintf(dir, sizeof(dir), "/tmp/test_retention.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	limits = (struct retention){ 0 };
	folder = (struct folder){ .fd = open(dir, O_RDONLY | O_DIRECTORY), .path = dir };
	return folder.fd < 0 ? -1 : 0;
}

static int leave_folder(void **state)
{
	char command[64];

	(void)state;
	close(folder.fd);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static void make_file(enum folder_file file, uint32_t batch, unsigned age_s)
{
	char name[FOLDER_NAME_MAX];
	struct timespec times[2] = { { 0 } };
	int fd;

	folder__name(name, file, batch);
	fd = openat(folder.fd, name, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, FILE_SZ), 0);
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= age_s;
	times[1] = times[0];
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

/* Batches 1 to cnt, the newest now, the others 10 s apart. */
static void make_batches(uint32_t cnt)
{
	for (uint32_t batch = 1; batch <= cnt; batch++)
		for (int file = 0; file < FOLDER_FILE_CNT; file++)
			make_file((enum folder_file)file, batch, 10 * (cnt - batch));
}

static bool has_file(enum folder_file file, uint32_t batch)
{
	char name[FOLDER_NAME_MAX];

	folder__name(name, file, batch);
	return faccessat(folder.fd, name, F_OK, 0) == 0;
}

static void check_left(uint32_t first, uint32_t last)
{
	for (uint32_t batch = 1; batch <= last; batch++)
		for (int file = 0; file < FOLDER_FILE_CNT; file++)
			assert_int_equal(has_file((enum folder_file)file, batch), batch >= first);
}

static void keeps_all_without_a_limit(void **state)
{
	(void)state;
	make_batches(3);
	assert_int_equal(retention__apply(&limits, &folder), 0);
	check_left(1, 3);
}

static void removes_the_oldest_above_the_size(void **state)
{
	(void)state;
	make_batches(12);
	limits.sz = 5 * FOLDER_FILE_CNT * FILE_SZ + 1;
	assert_int_equal(retention__apply(&limits, &folder), 7);
	check_left(8, 12);
	assert_int_equal(retention__apply(&limits, &folder), 0);
}

static void removes_what_is_older_than_the_age(void **state)
{
	(void)state;
	make_batches(6);
	limits.age_ns = 25 * SECOND_NS;
	assert_int_equal(retention__apply(&limits, &folder), 3);
	check_left(4, 6);
}

static void keeps_the_newest_batch_in_any_case(void **state)
{
	(void)state;
	make_batches(2);
	limits.sz = 1;
	assert_int_equal(retention__apply(&limits, &folder), 1);
	check_left(2, 2);
}

static void leaves_other_files_alone(void **state)
{
	(void)state;
	make_batches(3);
	assert_int_equal(mknodat(folder.fd, "events-notes.parquet", S_IFREG | 0600, 0), 0);
	assert_int_equal(mknodat(folder.fd, "events-000009.parquet.tmp", S_IFREG | 0600, 0), 0);
	limits.sz = 1;
	assert_int_equal(retention__apply(&limits, &folder), 2);
	assert_int_equal(faccessat(folder.fd, "events-notes.parquet", F_OK, 0), 0);
	assert_int_equal(faccessat(folder.fd, "events-000009.parquet.tmp", F_OK, 0), 0);
}

static void mount_small_disk(void)
{
	if (mount("none", dir, "tmpfs", 0, "size=64k") != 0)
		skip();
	close(folder.fd);
	folder.fd = open(dir, O_RDONLY | O_DIRECTORY);
}

static void unmount_small_disk(void)
{
	close(folder.fd);
	folder.fd = -1;
	assert_int_equal(umount(dir), 0);
	folder.fd = open(dir, O_RDONLY | O_DIRECTORY);
}

static void removes_the_oldest_above_a_part_of_the_file_system(void **state)
{
	(void)state;
	mount_small_disk();
	limits = (struct retention){ .percent = 10, .sz = 1 << 30 };
	make_batches(5);
	assert_int_equal(retention__apply(&limits, &folder),
			 3); /* 6.4 KB; a batch has 3,000 bytes */
	check_left(4, 5);
	limits.sz = 3 * FILE_SZ; /* the smaller limit counts */
	assert_int_equal(retention__apply(&limits, &folder), 1);
	unmount_small_disk();
}

/* Two batches of the largest size, by their bytes, need two pages; one page is free. */
static void makes_room_on_a_full_disk(void **state)
{
	(void)state;
	mount_small_disk();
	limits.age_ns = 3600 * SECOND_NS;
	make_batches(5); /* 15 files, a page each: all but one */
	assert_int_equal(retention__apply(&limits, &folder), 1);
	check_left(2, 5);
	unmount_small_disk();
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)
RUN_TESTS(IN_FOLDER(keeps_all_without_a_limit), IN_FOLDER(removes_the_oldest_above_the_size),
	  IN_FOLDER(removes_what_is_older_than_the_age),
	  IN_FOLDER(keeps_the_newest_batch_in_any_case), IN_FOLDER(leaves_other_files_alone),
	  IN_FOLDER(removes_the_oldest_above_a_part_of_the_file_system),
	  IN_FOLDER(makes_room_on_a_full_disk))
