// SPDX-License-Identifier: GPL-2.0-or-later
/* Workers: what they may not do, and what a hostile or dying one costs. */
#include "lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "cfi/tablebuild.h"
#include "cfi/tabletask.h"
#include "lib/shell.h"
#include "worker/sandbox.h"
#include "worker/sanitized.h"
#include "lib/workers_scene.h"

/* ---- the other side -----------------------------------------------------------------------------
 */

static int setup(void **state)
{
	log__init("test_workers", LOG_ERROR);
	*state = workers__new(functions);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	workers__put(*state);
	return 0;
}

static bool any_answer(const void *answer, size_t sz, void *arg)
{
	(void)answer, (void)sz, (void)arg;
	return true;
}

static int open_hosts(const void *what, size_t sz, void *arg)
{
	char *text = arg;

	assert_true(sz <= 5);
	memcpy(text, what, sz);
	return memfile__make(&(struct memfile_part){ "another file", 12 }, 1);
}

static char wanted[16];

static int ask_for(struct workers *w, const char *what, uint64_t owner, void **answer, size_t *sz)
{
	int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	struct worker_request r = { .owner = owner,
				    .path = "/bin/sh",
				    .data = what,
				    .sz = strlen(what),
				    .fd = fd,
				    .answer_max = LARGE,
				    .open = open_hosts,
				    .check = any_answer,
				    .arg = wanted };
	int err = workers__request(w, &r, answer, sz);

	close(fd);
	return err;
}

static struct workers_stats stats_of(struct workers *w)
{
	struct workers_stats s;

	workers__stats(w, &s);
	return s;
}

static void assert_echoes(struct workers *w, const char *text, uint64_t owner)
{
	char request[32] = "e";
	void *answer;
	size_t sz;

	memcpy(request + 1, text, strlen(text) + 1);
	assert_int_equal(ask_for(w, request, owner, &answer, &sz), 0);
	assert_int_equal(sz, strlen(text));
	assert_memory_equal(answer, text, sz);
	free(answer);
}

static void answers_are_small_or_large(void **state)
{
	void *answer;
	size_t sz;

	assert_echoes(*state, "hello", 0);
	assert_int_equal(ask_for(*state, "l", 0, &answer, &sz), 0);
	assert_int_equal(sz, LARGE);
	assert_int_equal(((char *)answer)[LARGE - 1], 'x');
	free(answer);
	assert_int_equal(stats_of(*state).started, 1);
}

static void a_worker_gets_the_files_that_it_wants(void **state)
{
	void *answer;
	size_t sz;

	assert_int_equal(ask_for(*state, "1", 0, &answer, &sz), 0);
	assert_int_equal(sz, 12);
	assert_memory_equal(answer, "another file", 12);
	assert_string_equal(wanted, "one");
	free(answer);
}

static void a_worker_reads_files_of_one_owner_only(void **state)
{
	assert_echoes(*state, "a", 7);
	assert_echoes(*state, "b", 7);
	assert_int_equal(stats_of(*state).started, 1);
	assert_echoes(*state, "c", 0);
	assert_echoes(*state, "d", 8);
	assert_int_equal(stats_of(*state).started, 3);
	assert_echoes(*state, "e", 7);
	assert_int_equal(stats_of(*state).started, 3);
}

static size_t open_cnt(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t cnt = 0;

	while (readdir(d))
		cnt++;
	closedir(d);
	return cnt;
}

static void forged_answers_are_refused(void **state)
{
	static const char *const forged[] = { "u", "m", "0", "f", "t" };
	size_t before = open_cnt();
	void *answer;
	size_t sz;

	for (size_t i = 0; i < sizeof(forged) / sizeof(*forged); i++) {
		struct workers_stats s = stats_of(*state);

		assert_int_equal(ask_for(*state, forged[i], 0, &answer, &sz), -ECHILD);
		assert_null(answer);
		assert_int_equal(stats_of(*state).refused - s.refused, 4);
		assert_echoes(*state, "still there", 0);
	}
	assert_true(open_cnt() <= before + 1);
}

static void a_worker_that_wants_too_much_is_ended(void **state)
{
	void *answer;
	size_t sz;

	assert_int_equal(ask_for(*state, "W", 0, &answer, &sz), -ECHILD);
	assert_echoes(*state, "still there", 0);
}

static void a_file_of_which_workers_die_is_given_up(void **state)
{
	void *answer;
	size_t sz;

	assert_int_equal(ask_for(*state, "d", 0, &answer, &sz), -ECHILD);
	assert_in_range(stats_of(*state).died, 4, 16); /* 16, unless they need five seconds */
	assert_echoes(*state, "still there", 0);
}

static void a_worker_that_waits_for_its_file_is_ended(void **state)
{
	uint64_t begin_ns = monotonic__ns();
	void *answer;
	size_t sz;

#ifdef __SANITIZE_THREAD__
	skip_because("the sanitizer has a thread that uses CPU time in a waiting worker");
#endif
	assert_int_equal(ask_for(*state, "w", 0, &answer, &sz), -ETIMEDOUT);
	assert_true(monotonic__ns() - begin_ns >= 3000000000);
	assert_int_equal(stats_of(*state).late, 1);
	assert_echoes(*state, "still there", 0);
}

static void *wait_in_thread(void *arg)
{
	void *answer;
	size_t sz;

	return (void *)(intptr_t)ask_for(arg, "w", 9, &answer, &sz);
}

static void stopping_ends_requests_in_progress(void **state)
{
	pthread_t thread;
	void *err, *answer;
	size_t sz;

	assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, *state), 0);
	while (stats_of(*state).started < 1 || stats_of(*state).cpu_ns == 0)
		sched_yield();
	workers__stop(*state);
	pthread_join(thread, &err);
	assert_int_equal((intptr_t)err, -ECHILD);
	assert_int_equal(ask_for(*state, "e", 0, &answer, &sz), -ECHILD);
}

/* ---- the sandbox --------------------------------------------------------------------------------
 */

static void a_worker_can_do_nothing_else(void **state)
{
	void *answer;
	size_t sz;

	assert_int_equal(ask_for(*state, "T", 0, &answer, &sz), 0);
	assert_memory_equal(answer, ".", sz);
	assert_int_equal(sz, 1);
	free(answer);
}

/* Returns the ids of the starter's children. */
static size_t worker_pids(const struct workers *w, pid_t pids[16])
{
	pid_t starter = workers__starter_pid(w);
	char path[64];
	size_t cnt = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", starter, starter);
	f = fopen(path, "re");
	while (f && cnt < 16 && fscanf(f, "%d", &pids[cnt]) == 1)
		cnt++;
	if (f)
		fclose(f);
	return cnt;
}

static void assert_line(pid_t pid, const char *line)
{
	char *found = shell__output("grep -cx '%s' /proc/%d/status || true", line, pid);

	if (found[0] != '1')
		fail_msg("there is no line '%s'", line);
	free(found);
}

static void assert_own(pid_t pid, const char *namespace)
{
	char *same = shell__output("[ $(readlink /proc/%d/ns/%s) = $(readlink /proc/%d/ns/%s) ] && "
				   "echo same || echo own",
				   pid, namespace, getpid(), namespace);

	if (strcmp(same, "own\n") != 0)
		fail_msg("the namespace %s is shared", namespace);
	free(same);
}

static void the_kernel_says_what_a_worker_lacks(void **state)
{
	static const char *const namespaces[] = { "net", "mnt", "pid", "ipc", "uts" };
	char *mounts, lacks[SANDBOX_LACKS_MAX];
	pid_t pids[16];

	if (geteuid() != 0)
		skip_because("needs root, to look at the process of another user");
	sandbox__lacks_text(workers__lack(*state), lacks);
	if (*lacks)
		skip_because("this machine refuses own: %s", lacks);
	assert_echoes(*state, "x", 0);
	assert_int_equal(worker_pids(*state, pids), 1);
	assert_line(pids[0], "Seccomp:\t2");
	assert_line(pids[0], "NoNewPrivs:\t1");
	assert_line(pids[0], "Uid:\t65534\t65534\t65534\t65534");
	assert_line(pids[0], "Gid:\t65534\t65534\t65534\t65534");
	assert_line(pids[0], "Groups:\t ");
	for (size_t i = 0; i < 4; i++) {
		static const char *const sets[] = { "Inh", "Prm", "Eff", "Amb" };
		char line[64];

		snprintf(line, sizeof(line), "Cap%s:\t0000000000000000", sets[i]);
		assert_line(pids[0], line);
	}
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(*namespaces); i++)
		assert_own(pids[0], namespaces[i]);
	mounts = shell__output("cut -d' ' -f5,6 /proc/%d/mountinfo", pids[0]);
	assert_string_equal(mounts, "/ ro,nosuid,nodev,noexec,relatime\n");
	free(mounts);
}

static void workers_end_with_the_program(void **state)
{
	pid_t pids[16], starter = workers__starter_pid(*state);

	assert_echoes(*state, "x", 0);
	assert_int_equal(worker_pids(*state, pids), 1);
	workers__stop(*state);
	while (kill(pids[0], 0) == 0 || kill(starter, 0) == 0)
		sched_yield();
	assert_int_equal(errno, ESRCH);
}

/* ---- workers that end ---------------------------------------------------------------------------
 */

#define KILLS	1000
#define THREADS 4

struct storm {
	struct workers *workers;
	const struct cfi_table *right;
	struct elf_file *file;
	atomic_bool over;
	atomic_size_t built, given_up;
};

static void *build_tables(void *arg)
{
	struct storm *s = arg;

	while (!s->over) {
		struct table_request r = { .file = s->file, .whole = true };
		struct cfi_table *t;
		int err = table_task__request(s->workers, &r, &t);

		assert_true(err == 0 || err == -ECHILD);
		if (err) {
			s->given_up++;
			continue;
		}
		assert_int_equal(t->sz, s->right->sz);
		assert_memory_equal(t, s->right, t->sz);
		s->built++;
		free(t);
	}
	return NULL;
}

/* A worker is killed at any moment of its life, a thousand times. */
static void killed_workers_cost_no_answer(void **state)
{
	struct elf_file *f = elf_file__open("/bin/sh");
	struct storm s = { .workers = *state, .file = f };
	pthread_t threads[THREADS];
	size_t kills = 0;

	if (geteuid() != 0)
		skip_because("needs root, to kill the process of another user");
	s.right = cfi_table__of_file(f);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, build_tables, &s);
	while (kills < KILLS) {
		pid_t pids[16];
		size_t cnt = worker_pids(*state, pids), built = s.built;

		if (cnt && kill(pids[(size_t)random() % cnt], SIGKILL) == 0)
			kills++;
		while (s.built == built && kills % 8 == 0)
			sched_yield();
	}
	s.over = true;
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(s.built >= KILLS / 8);
	assert_true(stats_of(*state).died > 0);
	assert_true(s.given_up < s.built);
	assert_echoes(*state, "still there", 0);
	free((void *)s.right);
	elf_file__put(f);
}

static void without_the_starter_requests_fail(void **state)
{
	void *answer;
	size_t sz;

	assert_int_equal(kill(workers__starter_pid(*state), SIGKILL), 0);
	while (ask_for(*state, "e", 0, &answer, &sz) == 0)
		free(answer);
	assert_int_equal(ask_for(*state, "e", 0, &answer, &sz), -ECHILD);
}

/* On all file systems without a disk, which may not answer. */
static void a_user_answers_for_all_its_ids(void **state)
{
	const dev_t fuse = makedev(0, 50), other = makedev(0, 51), disk = makedev(8, 1);
	uint32_t user = worker_user(worker_owner(fuse, 1000));

	(void)state;
	assert_int_not_equal(user, WORKER_NO_USER);
	assert_int_equal(worker_user(worker_owner(other, 1000)), user);
	assert_int_not_equal(worker_user(worker_owner(fuse, 1001)), user);
	assert_int_equal(worker_user(worker_owner(fuse, 65536)),
			 worker_user(worker_owner(fuse, 131071)));
	assert_int_not_equal(worker_user(worker_owner(fuse, 0)), WORKER_NO_USER);
	assert_int_equal(worker_user(worker_owner(disk, 1000)), WORKER_NO_USER);
	assert_int_equal(worker_user(WORKER_TRUSTED), WORKER_NO_USER);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(T(answers_are_small_or_large), T(a_worker_gets_the_files_that_it_wants),
	  T(a_worker_reads_files_of_one_owner_only), T(forged_answers_are_refused),
	  T(a_worker_that_wants_too_much_is_ended), T(a_file_of_which_workers_die_is_given_up),
	  T(a_worker_that_waits_for_its_file_is_ended), T(stopping_ends_requests_in_progress),
	  T(a_worker_can_do_nothing_else), T(the_kernel_says_what_a_worker_lacks),
	  T(workers_end_with_the_program), T(killed_workers_cost_no_answer),
	  T(without_the_starter_requests_fail), cmocka_unit_test(a_user_answers_for_all_its_ids))
