// SPDX-License-Identifier: GPL-2.0-or-later
/* The search for the files of recorded mappings. */
#include "lib/test.h"

#include "base/monotonic.h"
#include "lib/debuginfod.h"
#include "lib/finder_scene.h"

/* ---- the search for files -----------------------------------------------------------------------
 */

static struct finder *finder(const char *sysroot, const char *dir)
{
	const char *dirs[] = { dir, NULL };
	struct finder *f =
		finder__new(&(struct finder_options){ .sysroot = sysroot, .dirs = dirs });

	assert_non_null(f);
	return f;
}

static void the_sysroot_comes_first(void **state)
{
	char host[128], root[128];
	struct world w;

	shell__run("mkdir -p %s/root%s/lib %s/lib", (char *)*state, (char *)*state, (char *)*state);
	snprintf(root, sizeof(root), "%s/root", (char *)*state);
	snprintf(host, sizeof(host), "%s/lib/a.so", (char *)*state);
	put_elf(root, host, 1);
	put_elf("", host, 2);
	w = begin(state, (struct process_options){ .finder = finder(root, NULL) });
	assert_int_equal(found(&w, mmap_of(host, 1)), 1);
	assert_int_equal(found(&w, mmap_of(host, 2)), 2); /* not in the sysroot: the host's */
	assert_int_equal(found(&w, mmap_of(host, 3)), 0);
	assert_int_equal(found(&w, mmap_of(host, 0)), 1);
	end(&w);
	assert_null(finder__new(&(struct finder_options){ .sysroot = "/nothing/there" }));
	assert_int_equal(errno, ENOENT);
}

/* They have other inodes; the user of a sysroot says that it has the right files. */
static void copies_in_a_sysroot_are_accepted(void **state)
{
	struct record_mmap m;
	struct world w;
	char root[128];

	shell__run("mkdir -p %s/root/lib", (char *)*state);
	snprintf(root, sizeof(root), "%s/root", (char *)*state);
	put_elf(root, "/lib/a.so", 1);
	w = begin(state, (struct process_options){ .finder = finder(root, NULL) });
	m = mmap_of("/lib/a.so", 0);
	m.maj = 8;
	m.ino = 4711;
	assert_int_equal(found(&w, m), 1);
	m.pgoff = 0x100000;
	assert_int_equal(found(&w, m), 0);
	end(&w);
}

static struct record_mmap by_path(const char *path, unsigned char id, uint64_t dev, uint64_t ino)
{
	struct record_mmap m = mmap_of(path, id);

	m.maj = major(dev);
	m.min = minor(dev);
	m.ino = ino;
	m.by_path = true;
	return m;
}

static bool is_misnamed(struct world *w)
{
	return look(w, 10, 0x40000)->misnamed;
}

/* A table of build IDs by path has that of the host's file, although a process in a chroot maps
 * another one. */
static void an_inode_counts_more_than_a_build_id_by_path(void **state)
{
	const char *dir = *state;
	char root[128], host[128], copy[256], ids[128];
	struct stat here, there;
	struct world w;

	shell__run("mkdir -p %s/root%s %s/ids/01", dir, dir, dir);
	snprintf(root, sizeof(root), "%s/root", dir);
	snprintf(host, sizeof(host), "%s/a.so", dir);
	snprintf(copy, sizeof(copy), "%s%s", root, host);
	snprintf(ids, sizeof(ids), "%s/ids", dir);
	put_elf("", host, 1);
	put_elf(root, host, 2);
	shell__run("ln %s %s/01/01010101010101010101010101010101010101", host, ids);
	assert_int_equal(stat(host, &here) | stat(copy, &there), 0);
	w = begin(state, (struct process_options){ .finder = finder(NULL, ids) });
	assert_int_equal(found(&w, by_path(host, 1, here.st_dev, here.st_ino)), 1);
	assert_int_equal(found(&w, by_path(host, 1, there.st_dev, there.st_ino)), 0);
	assert_true(is_misnamed(&w));
	assert_int_equal(look(&w, 10, 0x40000)->build_id.sz, 0);
	/* No contradiction: this may be another machine, or the file is gone. */
	assert_int_equal(found(&w, by_path("/nowhere/a.so", 1, 0, 4711)), 1);
	assert_false(is_misnamed(&w));
	end(&w);
	w = begin(state, (struct process_options){ .finder = finder(root, ids) });
	assert_int_equal(found(&w, by_path(host, 1, there.st_dev, there.st_ino)), 2);
	assert_int_equal(found(&w, by_path(host, 1, here.st_dev, here.st_ino)), 1);
	assert_int_equal(found(&w, by_path(host, 2, 0, 4711)), 2); /* a copy */
	end(&w);
}

/* A process with its id may be another one now: its files count only if a build ID or an inode
 * matches. */
static void a_recording_of_the_past_finds_its_files(void **state)
{
	struct record_mmap m = mmap_of("/lib/a.so", 0);
	struct world w;
	struct stat st;
	char path[128];

	write_maps(*state, 10, "1000-2000 r-xp 00000000 08:01 5 /bin/ten\n");
	shell__run("mkdir -p %s/10/root/lib", (char *)*state);
	snprintf(path, sizeof(path), "%s/10/root", (char *)*state);
	put_elf(path, "/lib/a.so", 1);
	w = begin(state, (struct process_options){ .proc = *state, .past = true });
	assert_null(look(&w, 10, 0x1000));
	assert_false(process_table__refresh(w.table, process_table__get(w.table, 10)));
	assert_int_equal(found(&w, m), 0);
	assert_int_equal(found(&w, mmap_of("/lib/a.so", 1)), 1);
	snprintf(path, sizeof(path), "%s/10/root/lib/a.so", (char *)*state);
	assert_int_equal(stat(path, &st), 0);
	m.maj = major(st.st_dev);
	m.min = minor(st.st_dev);
	m.ino = st.st_ino;
	assert_int_equal(found(&w, m), 1);
	m.ino++;
	assert_int_equal(found(&w, m), 0);
	end(&w);
}

/* A path alone is accepted if the file has code at the mapped offsets; an inode must match. */
static void files_match_without_a_build_id(void **state)
{
	struct world w = begin(state, (struct process_options){ 0 });
	struct record_mmap m;
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/a", w.dir);
	put_elf("", path, 1);
	assert_int_equal(stat(path, &st), 0);
	m = mmap_of(path, 0);
	assert_int_equal(found(&w, m), 1);
	m.pgoff = 0x100000;
	assert_int_equal(found(&w, m), 0);
	m = mmap_of(path, 0);
	m.ino = st.st_ino;
	assert_int_equal(found(&w, m), 1);
	m.ino++;
	assert_int_equal(found(&w, m), 0);
	m.ino = 0;
	m.min = 99; /* a device without an inode does not occur */
	assert_int_equal(found(&w, m), 0);
	end(&w);
}

static void trees_of_build_ids_are_searched(void **state)
{
	char tree[128], hex[41] = "";
	struct world w;

	snprintf(tree, sizeof(tree), "%s/.build-id", (char *)*state);
	w = begin(state, (struct process_options){ .finder = finder(NULL, tree) });
	for (int i = 1; i <= 5; i++) {
		for (int at = 0; at < 20; at++)
			snprintf(hex + 2 * at, 3, "%02x", i);
		shell__run("mkdir -p %s/%.2s", tree, hex);
		if (i == 1) /* a link to the file */
			shell__run("ln -s ../../a %s/%.2s/%s", tree, hex, hex + 2);
		else /* perf's: to a folder */
			shell__run("mkdir %s/../b%d && ln -s ../../b%d %s/%.2s/%s", tree, i, i,
				   tree, hex, hex + 2);
	}
	put_elf(w.dir, "/a", 1);
	put_elf(w.dir, "/b2/elf", 2);
	put_elf(w.dir, "/b3/elf", 33); /* a wrong file */
	put_elf(w.dir, "/b4/vdso", 4);
	shell__run("mkfifo %s/b5/elf", w.dir);
	for (unsigned char i = 1; i <= 6; i++)
		assert_int_equal(found(&w, mmap_of("/gone", i)),
				 i == 1 || i == 2 || i == 4 ? i : 0);
	/* The vdso of another kernel, and of this one. */
	for (unsigned char i = 4; i <= 5; i++) {
		struct record_mmap m = mmap_of("[vdso]", i);

		m.start = 0x7fff00000000;
		assert_int_equal(found(&w, m), i == 4 ? 4 : 0);
	}
	end(&w);
}

static void overlays_are_below(void **state)
{
	struct world w = begin(state, (struct process_options){ 0 });
	char one[128], two[128];

	shell__run("mkdir -p %s/one/lib/x %s/two/lib && ln -s /lib %s/two/link", w.dir, w.dir,
		   w.dir);
	snprintf(one, sizeof(one), "%s/one", w.dir);
	snprintf(two, sizeof(two), "%s/two", w.dir);
	put_elf(one, "/lib/a", 1);
	put_elf(two, "/lib/a", 2);
	put_elf(two, "/lib/b", 3);
	put_elf(one, "/lib/x/b", 4);
	assert_int_equal(process_table__overlay(w.table, 10, "/", one), 0);
	assert_int_equal(process_table__overlay(w.table, 10, "/", two), 0);
	assert_int_equal(found(&w, mmap_of("/lib/a", 1)), 1);
	assert_int_equal(found(&w, mmap_of("/lib/a", 2)), 2);
	assert_int_equal(found(&w, mmap_of("/lib/a", 0)), 1); /* the first */
	assert_int_equal(found(&w, mmap_of("/link/b", 0)), 3);
	assert_int_equal(found(&w, mmap_of("/../lib/b", 0)), 3);
	/* The longest name wins, and it ends at a folder's end. */
	snprintf(two, sizeof(two), "%s/one/lib/x", w.dir);
	assert_int_equal(process_table__overlay(w.table, 10, "/lib/", two), 0);
	assert_int_equal(found(&w, mmap_of("/lib/b", 0)), 4);
	assert_int_equal(found(&w, mmap_of("/libb", 0)), 0);
	tell(&w, (struct record){ RECORD_FORK, 0, 11, 11, 0, { .fork = { 10, 10 } } });
	map(&w, 11, mmap_of("/lib/a", 2));
	assert_non_null(look(&w, 11, 0x40000)->file);
	map(&w, 12, mmap_of("/lib/a", 2)); /* another process's are not its */
	assert_int_equal(look(&w, 12, 0x40000)->file != NULL, geteuid() == 0);
	for (int i = 0; i < 300; i++)
		process_table__overlay(w.table, 13, "/", one);
	assert_int_equal(process_table__overlay(w.table, 13, "/", one), -E2BIG);
	end(&w);
}

/* ---- debuginfod ---------------------------------------------------------------------------------
 */

struct seen {
	size_t calls, pending, found, failed;
};

static void note(const struct download_stats *s, void *arg)
{
	struct seen *seen = arg;

	seen->calls++;
	seen->pending = s->pending;
	seen->found = s->found;
	seen->failed = s->failed;
}

static struct finder *downloader(const char *dir, const char *url, struct seen *seen)
{
	const char *none[] = { NULL };

	debuginfod__set(url, dir);
	return finder__new(&(struct finder_options){
		.dirs = none, .debuginfod = true, .progress = note, .arg = seen });
}

/* A file that is missing here comes later; walks do not wait. */
static void a_file_comes_from_a_server(void **state)
{
	struct elf_file *served = elf_file__open("/bin/sh");
	struct record_mmap m = mmap_of("/gone/sh", 0), none = mmap_of("/gone/b", 8);
	struct download_stats stats;
	struct seen seen = { 0 };
	char url[64];
	struct world w;
	pid_t server;

	if (!shell__has("debuginfod"))
		skip_because("debuginfod is not installed");
	assert_non_null(served);
	m.build_id = served->build_id;
	none.start = 0x80000;
	shell__run("mkdir %s/served && cp /bin/sh %s/served", (char *)*state, (char *)*state);
	close(debuginfod__listen(url));
	server = debuginfod__start(*state, url);
	debuginfod__wait(url, &m.build_id);
	w = begin(state, (struct process_options){ .finder = downloader(*state, url, &seen) });
	assert_non_null(w.finder);
	assert_int_equal(found(&w, m), 0);
	assert_int_equal(found(&w, m), 0); /* requested once */
	assert_int_equal(found(&w, none), 0);
	assert_true(finder__wait(w.finder, 60000000000));
	finder__stats(w.finder, &stats);
	assert_int_equal(stats.found, 1);
	assert_int_equal(stats.failed, 1);
	assert_int_equal(stats.pending, 0);
	assert_true(process_table__collect(w.table));
	assert_false(process_table__collect(w.table));
	assert_true(build_id__equal(&look(&w, 10, 0x40000)->file->build_id, &m.build_id));
	assert_null(look(&w, 10, 0x80000)->file);
	m.path = "/other/sh"; /* another process's */
	assert_int_equal(found(&w, m), m.build_id.bytes[0]);
	end(&w); /* and with it the thread that calls note() */
	assert_true(seen.calls >= 2);
	assert_int_equal(seen.found, 1);
	assert_int_equal(seen.failed, 1);
	elf_file__put(served);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

/* A server that accepts the request and never answers blocks nothing. */
static void a_server_that_does_not_answer_blocks_nothing(void **state)
{
	struct seen seen = { 0 };
	char url[64];
	int fd = debuginfod__listen(url);
	struct world w =
		begin(state, (struct process_options){ .finder = downloader(*state, url, &seen) });

	uint64_t began_ns;

	assert_non_null(w.finder);
	assert_int_equal(found(&w, mmap_of("/gone/a.so", 7)), 0);
	assert_false(finder__wait(w.finder, 100000000));
	began_ns = monotonic__ns();
	end(&w);
	assert_in_range(monotonic__ns() - began_ns, 0, 30000000000u); /* the time-out is 90 s */
	close(fd);
}

static void servers_are_asked_on_request(void **state)
{
	const struct build_id id = { 20, { 1 } };
	struct finder *f;

	(void)state;
	unsetenv("DEBUGINFOD_URLS");
	f = finder__new(&(struct finder_options){ .debuginfod = true });
	assert_non_null(f);
	finder__request_download(f, &id);
	assert_true(finder__wait(f, 0));
	assert_int_equal(finder__found(f), 0);
	finder__free(f);
	finder__free(NULL);
}

RUN_TESTS(test_with_folder(the_sysroot_comes_first),
	  test_with_folder(copies_in_a_sysroot_are_accepted),
	  test_with_folder(an_inode_counts_more_than_a_build_id_by_path),
	  test_with_folder(a_recording_of_the_past_finds_its_files),
	  test_with_folder(files_match_without_a_build_id),
	  test_with_folder(trees_of_build_ids_are_searched), test_with_folder(overlays_are_below),
	  test_with_folder(a_file_comes_from_a_server),
	  test_with_folder(a_server_that_does_not_answer_blocks_nothing),
	  cmocka_unit_test(servers_are_asked_on_request))
