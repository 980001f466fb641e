// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mount.h"

/* proc_pid_mountinfo(5): 8:1 and 0:50 are the administrator's, users mounted 0:60 and 8:16 */
static const char mountinfo[] =
	"25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	"31 25 0:50 / /run/rootfs\\040-\\040fuse rw shared:2 master:1 - overlay overlay rw\n"
	"32 25 0:60 / /home/user/remote rw,nosuid - fuse.sshfs host: rw,user_id=1000\n"
	"33 25 8:16 / /mnt/disk rw - fuseblk /dev/sdb1 rw,user_id=0\n"
	"34 25 0:62 / /broken rw\n"
	"35 25\n";

static void what_users_mount_is_told_apart(void **state)
{
	char path[] = "/tmp/test_mount-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, mountinfo, sizeof(mountinfo) - 1), sizeof(mountinfo) - 1);
	close(fd);
	assert_true(mount__is_of_admin(path, 8, 1));
	assert_true(mount__is_of_admin(path, 0, 50));
	assert_false(mount__is_of_admin(path, 0, 60));
	assert_false(mount__is_of_admin(path, 8, 16));
	assert_false(mount__is_of_admin(path, 0, 62)); /* not a whole line */
	assert_false(mount__is_of_admin(path, 0, 63)); /* in another namespace */
	assert_true(mount__is_of_admin(path, 8, 2));   /* a disk */
	unlink(path);
	assert_false(mount__is_of_admin(path, 0, 50));
}

static void the_test_itself_is_on_the_administrators_disk(void **state)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4096];
	unsigned major = 0, minor = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && !strstr(line, "test_mount"))
		;
	assert_int_equal(sscanf(line, "%*s %*s %*s %x:%x", &major, &minor), 2);
	fclose(f);
	assert_true(mount__is_of_admin("/proc/self/mountinfo", major, minor));
}

static void a_file_knows_whether_its_mount_is_here(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), other;

	(void)state;
	assert_true(mount__is_here("/proc/self/mountinfo", fd));
	assert_false(mount__is_here("/dev/null", fd));
	close(fd);
	other = memfd_create("test_mount", MFD_CLOEXEC); /* on a mount of the kernel */
	assert_false(mount__is_here("/proc/self/mountinfo", other));
	close(other);
}

RUN_TESTS(cmocka_unit_test(what_users_mount_is_told_apart),
	  cmocka_unit_test(a_file_knows_whether_its_mount_is_here),
	  cmocka_unit_test(the_test_itself_is_on_the_administrators_disk))
