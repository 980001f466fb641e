// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of containers, from files as the runtimes write them. */
#include "lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/jsonscan.h"
#include "collector/containernames.h"

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define SCOPE "/system.slice/docker-" ID ".scope"

static char root[64];

/* Writes a file below the root. */
static void put(const char *path, const char *text)
{
	char command[1024], whole[512];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	snprintf(command, sizeof(command), "mkdir -p \"$(dirname %s)\"", whole);
	assert_int_equal(system(command), 0);
	f = fopen(whole, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void expect(const char *cgroup, const char *name)
{
	struct container_names *c = container_names__new(root);
	const char *found;

	assert_non_null(c);
	found = container_names__find(c, cgroup);
	if (name)
		assert_string_equal(found ? found : "(none)", name);
	else
		assert_null(found);
	container_names__free(c);
}

static int begin(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/test_containernames.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command) == 0 ? 0 : -1;
}

static void need_root(void)
{
	if (geteuid() != 0)
		skip_because("only root's files are read");
}

static void docker_has_the_name_at_the_top(void **state)
{
	(void)state;
	need_root();
	put("/var/lib/docker/containers/" ID "/config.v2.json",
	    "{\"ID\":\"" ID "\",\"Config\":{\"Labels\":{\"Name\":\"wrong\",\"a\":\"\\\"Name\\\":"
	    "\\\"b\\\"\"}},\"Name\":\"/web-1\"}");
	expect(SCOPE, "web-1");
	expect("/docker/" ID, "web-1");
	expect("/docker/" ID "/below", "web-1");
	expect("/docker/0" ID, NULL);
	expect("/docker/" OTHER, NULL);
	expect("/", NULL);
}

static void kubernetes_has_namespace_and_pod(void **state)
{
	(void)state;
	need_root();
	put("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
	    "{\"process\":{\"annotations\":\"no\"},\"annotations\":{\"io.kubernetes.cri.container-"
	    "name\":\"app\","
	    "\"io.kubernetes.cri.sandbox-name\":\"app-7f\",\"io.kubernetes.cri.sandbox-namespace\":"
	    "\"prod\"}}");
	expect("/kubepods.slice/cri-containerd-" ID ".scope", "prod/app-7f/app");
	put("/var/lib/containers/storage/overlay-containers/" OTHER "/userdata/config.json",
	    "{\"annotations\":{\"io.kubernetes.container.name\":\"db\"}}");
	expect("/kubepods.slice/crio-" OTHER ".scope", "db");
}

static void podman_has_a_list(void **state)
{
	(void)state;
	need_root();
	put("/var/lib/containers/storage/overlay-containers/containers.json",
	    "[{\"id\":\"" OTHER "\",\"names\":[\"one\"]}, {\"id\":\"" ID
	    "\",\"names\":[\"two\",\"three\"]}]");
	expect("/machine.slice/libpod-" ID ".scope/container", "two");
	expect("/machine.slice/libpod-" OTHER ".scope", "one");
}

/* Files that others own, links, large files and odd names are not read. */
static void odd_files_give_no_name(void **state)
{
	static const char path[] = "/var/lib/docker/containers/" ID "/config.v2.json";
	char whole[512], target[128];

	(void)state;
	need_root();
	put(path, "{\"Name\":\"/a b\\u0000\"}");
	expect(SCOPE, NULL);
	put(path, "{\"Name\":\"/unended");
	expect(SCOPE, NULL);
	put(path, "{\"Name\":\"web\"}");
	snprintf(whole, sizeof(whole), "%s%s", root, path);
	assert_int_equal(chown(whole, 65534, 65534), 0);
	expect(SCOPE, NULL);
	assert_int_equal(chown(whole, 0, 0), 0);
	expect(SCOPE, "web");
	assert_int_equal(truncate(whole, 2 << 20), 0);
	expect(SCOPE, NULL);
	unlink(whole);
	put("/elsewhere", "{\"Name\":\"web\"}");
	snprintf(target, sizeof(target), "%s/elsewhere", root);
	assert_int_equal(symlink(target, whole), 0);
	expect(SCOPE, NULL);
}

static bool count(const struct jsonscan_value *v, void *arg)
{
	(void)v;
	++*(int *)arg;
	return false;
}

static void deep_documents_end(void **state)
{
	static const char closed[] = "[\"a\", {\"b\": \"c\", \"d\": [\"e\", 1, null]}]]]\"f\"";
	char deep[1000];
	int texts = 0;

	(void)state;
	memset(deep, '[', sizeof(deep));
	jsonscan__each(deep, sizeof(deep), count, &texts);
	assert_int_equal(texts, 0);
	jsonscan__each(closed, strlen(closed), count, &texts);
	assert_int_equal(texts, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(docker_has_the_name_at_the_top, begin, end),
		cmocka_unit_test_setup_teardown(kubernetes_has_namespace_and_pod, begin, end),
		cmocka_unit_test_setup_teardown(podman_has_a_list, begin, end),
		cmocka_unit_test_setup_teardown(odd_files_give_no_name, begin, end),
		cmocka_unit_test(deep_documents_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
