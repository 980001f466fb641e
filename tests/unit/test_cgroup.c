// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mount.h"
#include "collector/cgroup.h"

static void finds_the_root_and_one_made_later(void **state)
{
	char *root = mount__point("cgroup2"), path[512];
	struct cgroups *c = cgroups__new();
	struct stat st;

	(void)state;
	assert_non_null(c);
	if (!root) {
		assert_null(cgroups__path(c, 1));
		cgroups__free(c);
		skip_because("no cgroup v2 is mounted");
	}
	assert_int_equal(stat(root, &st), 0);
	assert_string_equal(cgroups__path(c, st.st_ino), "/");
	assert_null(cgroups__path(c, UINT64_MAX));
	snprintf(path, sizeof(path), "%s/test_cgroup.%d", root, (int)getpid());
	if (mkdir(path, 0755) != 0) {
		cgroups__free(c);
		free(root);
		skip_because("cannot make the cgroup %s: %s", path, strerror(errno));
	}
	assert_int_equal(stat(path, &st), 0);
	assert_string_equal(cgroups__path(c, st.st_ino), path + strlen(root));
	rmdir(path);
	assert_string_equal(cgroups__path(c, st.st_ino), path + strlen(root));
	assert_null(cgroups__path(c, st.st_ino + 1000000));
	cgroups__free(c);
	free(root);
}

/* A user may create any number of cgroups: none costs more than another. */
static void finds_one_of_many(void **state)
{
	char *root = mount__point("cgroup2"), path[512];
	struct cgroups *c = cgroups__new();
	char name[64];
	struct stat st;

	(void)state;
	snprintf(name, sizeof(name), "/test_cgroups.%d", (int)getpid());
	snprintf(path, sizeof(path), "%s%s", root ? root : "", name);
	if (!root || mkdir(path, 0755) != 0) {
		cgroups__free(c);
		free(root);
		skip_because("no cgroup can be made");
	}
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "%s%s/%d", root, name, i);
		assert_int_equal(mkdir(path, 0755), 0);
		assert_int_equal(stat(path, &st), 0);
		assert_string_equal(cgroups__path(c, st.st_ino), path + strlen(root));
		rmdir(path);
	}
	snprintf(path, sizeof(path), "%s%s", root, name);
	assert_int_equal(rmdir(path), 0);
	cgroups__free(c);
	free(root);
}

RUN_TESTS(cmocka_unit_test(finds_the_root_and_one_made_later), cmocka_unit_test(finds_one_of_many))
