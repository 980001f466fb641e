// SPDX-License-Identifier: GPL-2.0-or-later
/* src/elf/debugfile.c: debug files beside programs of another user, on a file system that was just
 * mounted: the kernel has not read the access-control lists of its folders. */
#include "lib/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/handle.h"
#include "base/mount.h"
#include "elf/debugfile.h"
#include "lib/shell.h"

#define USER 1000

/* In FOLDER/disk/home/bin, of the user: prog, and its debug file. */
static int build(void **state)
{
	if (shell__setup(state) != 0)
		return -1;
	shell__run("cd '%s' && chmod 755 . && echo 'int main(void) { return 0; }' > p.c && "
		   "gcc -g -Wl,--build-id -o full p.c && mkdir -p disk tree/home/bin && "
		   "objcopy --only-keep-debug full prog.debug && "
		   "objcopy -S --add-gnu-debuglink=prog.debug full tree/home/bin/prog && "
		   "mv prog.debug tree/home/bin && ln -s home tree/link && "
		   "(chown -R %d tree/home && chmod 755 tree tree/home tree/home/bin && truncate "
		   "-s 8M image && "
		   "mkfs.ext4 -q -d tree image && mount -o loop image disk || true) 2>/dev/null",
		   (char *)*state, USER);
	return 0;
}

static int teardown(void **state)
{
	shell__run("umount -l '%s/disk' 2>/dev/null || true", (char *)*state);
	return shell__teardown(state);
}

/* Opens it like the user: for an own folder the kernel reads no access-control list. */
static struct elf_file *open_like_user(const char *path)
{
	uid_t before = (uid_t)setfsuid(USER);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	setfsuid(before);
	return fd < 0 ? NULL : elf_file__new(fd, path);
}

static void debug_files_of_users_are_found(void **state)
{
	char folder[256], path[300], want[300];
	struct elf_file *f, *debug;
	int handle;

	snprintf(folder, sizeof(folder), "%s/disk/home/bin", (char *)*state);
	snprintf(path, sizeof(path), "%s/prog", folder);
	snprintf(want, sizeof(want), "%s/prog.debug", folder);
	f = open_like_user(path);
	if (!f)
		skip_because("no file system can be mounted");
	handle = handle__open_cached(folder);
	if (handle >= 0) {
		close(handle);
		elf_file__put(f);
		skip_because("the kernel looks the folder up in memory");
	}
	assert_int_equal(handle, -EAGAIN);
	debug = debug_file__open(f, DEBUG_DIR);
	assert_non_null(debug);
	assert_string_equal(debug->path, want);
	elf_file__put(debug);
	elf_file__put(f);
}

static int folder_of(const struct elf_file *f, const char *folder, const char *name)
{
	char path[300];
	int handle;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	handle = mount__folder_of(f->fd, path);
	if (handle >= 0)
		close(handle);
	return handle < 0 ? handle : 0;
}

static void folders_are_looked_up_on_the_mount_alone(void **state)
{
	const char *folder = *state;
	char path[256];
	struct elf_file *f;

	snprintf(path, sizeof(path), "%s/disk/home/bin/prog", folder);
	f = open_like_user(path);
	if (!f)
		skip_because("no file system can be mounted");
	assert_int_equal(folder_of(f, folder, "disk/home/bin/"), 0);
	assert_int_equal(folder_of(f, folder, "disk/"), 0);
	assert_int_equal(folder_of(f, folder, "disk/link/bin/"), -ELOOP);
	assert_int_equal(folder_of(f, folder, "disk/../tree/"), -EXDEV);
	assert_int_equal(folder_of(f, folder, "tree/home/bin/"), -EXDEV);
	assert_int_equal(folder_of(f, folder, "diskette/"), -EXDEV);
	shell__run("cd '%s' && mount --bind tree disk/home", folder);
	assert_int_equal(folder_of(f, folder, "disk/home/bin/"), -EXDEV);
	shell__run("umount '%s/disk/home'", folder);
	elf_file__put(f);
}

#define test_on_disk(f) cmocka_unit_test_setup_teardown(f, build, teardown)

RUN_TESTS(test_on_disk(debug_files_of_users_are_found),
	  test_on_disk(folders_are_looked_up_on_the_mount_alone))
