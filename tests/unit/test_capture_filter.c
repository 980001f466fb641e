// SPDX-License-Identifier: GPL-2.0-or-later
/* The filters of the BPF programs. */
#include "lib/capture_take.h"

#include <mntent.h>
#include <pthread.h>
#include <sys/stat.h>

static void nap_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		usleep(2000);
}

static void rename_and_nap(void *arg)
{
	prctl(PR_SET_NAME, (const char *)arg);
	nap_for_ever(NULL);
}

#define SOME 6

/* Checks that there are events, and only of `pid`. */
static void check_only(struct take *t, pid_t pid)
{
	take__begin(t, "switch:n");
	take__wait(t, pid, SOME);
	take__end(t);
	assert_int_equal(take__count(t, pid), t->cnt);
	take__free(t);
}

static void a_comm_selects(void **state)
{
	pid_t pid = take__fork(rename_and_nap, "test-comm-00001");
	pid_t other = take__fork(rename_and_nap, "test-comm-00002");
	const char *comms[] = { "nobody-has-this", "test-comm-00001" };
	struct take t = { .options.filter = { .comms = comms, .comm_cnt = 2 } };

	(void)state;
	check_only(&t, pid);
	take__kill(pid);
	take__kill(other);
}

static void rename_later_and_nap(void *go)
{
	while (!*(volatile bool *)go)
		usleep(1000);
	rename_and_nap("test-comm-00003");
}

/* The name is checked when an event occurs. */
static void a_later_comm_selects(void **state)
{
	bool *go = take__shared(sizeof(*go));
	const char *comms[] = { "test-comm-00003" };
	struct take t = { .options.filter = { .comms = comms, .comm_cnt = 1 } };
	pid_t pid = take__fork(rename_later_and_nap, go);

	(void)state;
	take__begin(&t, "switch:n");
	take__for(&t, 30);
	assert_int_equal(t.cnt, 0);
	*go = true;
	take__wait(&t, pid, SOME);
	take__end(&t);
	assert_int_equal(take__count(&t, pid), t.cnt);
	take__free(&t);
	take__kill(pid);
}

static void nap_as_54321(void *arg)
{
	assert_int_equal(setresuid(54321, 54321, 54321), 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* reset by the change of user */
	nap_for_ever(arg);
}

static void a_uid_selects(void **state)
{
	uint32_t uids[] = { 54321 };
	struct take t = { .options.filter = { .uids = uids, .uid_cnt = 1 } };
	pid_t pid = take__fork(nap_as_54321, NULL);

	(void)state;
	check_only(&t, pid);
	take__kill(pid);
}

static void all_kinds_must_accept(void **state)
{
	pid_t pid = take__fork(nap_for_ever, NULL);
	uint32_t pids[] = { (uint32_t)pid }, uids[] = { 54321 };
	struct take t = { .options.filter = {
				  .pids = pids, .pid_cnt = 1, .uids = uids, .uid_cnt = 1 } };

	(void)state;
	take__begin(&t, "switch:n,profile");
	take__for(&t, 40);
	take__end(&t);
	assert_int_equal(t.cnt, 0);
	take__free(&t);
	take__kill(pid);
}

static bool cgroup_root(char *root, size_t sz)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	struct mntent *m;

	assert_non_null(f);
	while ((m = getmntent(f)) != NULL && strcmp(m->mnt_type, "cgroup2"))
		;
	if (m)
		snprintf(root, sz, "%s", m->mnt_dir);
	endmntent(f);
	return m;
}

static bool join(const char *cgroup, pid_t pid)
{
	char path[640];
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	f = fopen(path, "w");
	return f && fprintf(f, "%d\n", pid) > 0 && fclose(f) == 0;
}

/* Processes that were in it may still be exiting. */
static void remove_cgroup(const char *path)
{
	for (int i = 0; rmdir(path) != 0; i++) {
		assert_int_equal(errno, EBUSY);
		assert_true(i < 60000);
		usleep(1000);
	}
}

static void a_cgroup_selects(void **state)
{
	pid_t pid = take__fork(nap_for_ever, NULL), other = take__fork(nap_for_ever, NULL);
	char root[256], outer[512], inner[600], name[64];
	const char *cgroups[1];
	struct take t = { .options.filter = { .cgroups = cgroups, .cgroup_cnt = 1 } };
	struct stat st;

	(void)state;
	if (!cgroup_root(root, sizeof(root)))
		skip_because("no cgroup v2 is mounted");
	snprintf(name, sizeof(name), "/stacks-test-%d", getpid());
	snprintf(outer, sizeof(outer), "%s%s", root, name);
	snprintf(inner, sizeof(inner), "%s/inner", outer);
	assert_int_equal(mkdir(outer, 0755), 0);
	assert_int_equal(mkdir(inner, 0755), 0);
	assert_int_equal(stat(inner, &st), 0);
	assert_true(join(inner, pid)); /* below the selected cgroup */
	cgroups[0] = name;
	take__begin(&t, "switch:n");
	take__wait(&t, pid, SOME);
	take__end(&t);
	assert_int_equal(take__count(&t, pid), t.cnt);
	assert_int_equal(take__first(&t, pid)->cgroup_id, st.st_ino);
	take__free(&t);
	take__kill(pid);
	take__kill(other);
	remove_cgroup(inner);
	remove_cgroup(outer);
}

static void *nap_in_thread(void *arg)
{
	*(pid_t *)arg = gettid();
	nap_for_ever(NULL);
	return NULL;
}

static void start_two_threads(void *arg)
{
	pid_t *tids = arg;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, nap_in_thread, &tids[0]), 0);
	assert_int_equal(pthread_create(&thread, NULL, nap_in_thread, &tids[1]), 0);
	nap_for_ever(NULL);
}

/* Waits until another process has set it. */
static void wait_for_id(const pid_t *id)
{
	for (int i = 0; !*(volatile const pid_t *)id; i++) {
		assert_true(i < 60000);
		usleep(1000);
	}
}

static void a_pid_means_all_threads_a_tid_only_that_one(void **state)
{
	pid_t *tids = take__shared(2 * sizeof(*tids));
	pid_t pid = take__fork(start_two_threads, tids);
	uint32_t pids[1] = { (uint32_t)pid };
	struct take all = { .options.filter = { .pids = pids, .pid_cnt = 1 } };
	struct take one = all;

	(void)state;
	wait_for_id(&tids[0]);
	wait_for_id(&tids[1]);
	take__begin(&all, "switch:n");
	take__wait(&all, pid, SOME);
	take__wait(&all, tids[0], SOME);
	take__wait(&all, tids[1], SOME);
	take__end(&all);
	take__free(&all);
	pids[0] = (uint32_t)tids[1];
	check_only(&one, tids[1]);
	take__kill(pid);
}

struct family {
	pid_t before, after, grandchild;
	bool go;
};

static void have_grandchild(void *arg)
{
	struct family *family = arg;

	family->grandchild = take__fork(nap_for_ever, NULL);
	nap_for_ever(NULL);
}

static void have_children(void *arg)
{
	struct family *family = arg;

	family->before = take__fork(nap_for_ever, NULL);
	while (!*(volatile bool *)&family->go)
		usleep(1000);
	family->after = take__fork(have_grandchild, family);
	nap_for_ever(NULL);
}

static void descendants_belong_to_it(void **state)
{
	struct family *family = take__shared(sizeof(*family));
	pid_t pid = take__fork(have_children, family);
	uint32_t pids[] = { (uint32_t)pid };
	struct take t = { .options.filter = { .pids = pids, .pid_cnt = 1 } };

	(void)state;
	wait_for_id(&family->before);
	take__begin(&t, "switch:n");
	family->go = true;
	wait_for_id(&family->after);
	wait_for_id(&family->grandchild);
	take__wait(&t, pid, SOME);
	take__wait(&t, family->before, SOME);
	take__wait(&t, family->after, SOME);
	take__wait(&t, family->grandchild, SOME);
	take__end(&t);
	assert_int_equal(take__count(&t, pid) + take__count(&t, family->before) +
				 take__count(&t, family->after) +
				 take__count(&t, family->grandchild),
			 t.cnt);
	/* a thread that was created later has no row at the start, but one at the end */
	assert_true(take__first(&t, family->after)->time_ns > t.begin_ns);
	take__free(&t);
	take__kill(pid); /* and with it its children */
}

static void an_empty_filter_accepts_no_process(void **state)
{
	pid_t pid = take__fork(nap_for_ever, NULL);
	struct take t = { .options.filter.none_yet = true };

	(void)state;
	take__begin(&t, "switch:n,profile:u");
	take__for(&t, 30);
	assert_int_equal(t.cnt, 0);
	assert_int_equal(capture__add_target(t.capture, (uint32_t)pid), 0);
	take__wait(&t, pid, SOME);
	take__end(&t);
	assert_int_equal(take__count(&t, pid), t.cnt);
	take__free(&t);
	take__kill(pid);
}

static void nap_until_told_and_exec(void *arg)
{
	volatile bool *go = arg;

	while (!*go)
		usleep(2000);
	execl("/bin/sh", "sh", "-c", "while sleep 0.01; do :; done", NULL);
	_exit(127);
}

/* Its exec is its first event, however late the collector learns of it. */
static void a_command_is_accepted_from_its_exec_on(void **state)
{
	volatile bool *go = take__shared(sizeof(*go));
	pid_t pid = take__fork(nap_until_told_and_exec, (void *)(uintptr_t)go);
	struct take t = { .options.filter.none_yet = true };

	(void)state;
	take__begin(&t, "switch:n,profile:u,exec:n");
	assert_int_equal(capture__add_command(t.capture, (uint32_t)pid, NULL), 0);
	take__for(&t, 30);
	assert_int_equal(t.cnt, 0);
	*go = true;
	take__wait(&t, pid, SOME);
	take__end(&t);
	assert_int_equal(take__first(&t, pid)->kind, EVENT_EXEC);
	take__free(&t);
	take__kill(pid);
}

static void our_own_process_is_recorded_on_request(void **state)
{
	uint32_t pids[] = { (uint32_t)getpid() };
	struct take t = { .options.filter = { .pids = pids, .pid_cnt = 1 } };

	(void)state;
	take__begin(&t, "switch:n");
	take__wait(&t, getpid(), SOME);
	take__end(&t);
	for (size_t i = 0; i < t.cnt; i++)
		assert_int_equal(t.events[i]->tgid, getpid());
	take__free(&t);
}

static void an_unknown_process_is_an_error(void **state)
{
	uint32_t pids[] = { 4194305 }; /* more than PID_MAX_LIMIT */
	const char *cgroups[] = { "/there/is/no/such/cgroup" };
	struct probe_choice choice = { .probe = &probes[0], .stacks = PROBE_USER, .param = 99 };
	struct capture_options o = { .probes = &choice,
				     .probe_cnt = 1,
				     .stack_sz = 65536,
				     .ring_sz = 65536,
				     .filter = { .pids = pids, .pid_cnt = 1 } };
	struct capture *c;

	(void)state;
	c = capture__new(&o);
	assert_int_equal(capture__load(c), -ESRCH);
	capture__free(c);
	o.filter = (struct capture_filter){ .cgroups = cgroups, .cgroup_cnt = 1 };
	c = capture__new(&o);
	assert_int_not_equal(capture__load(c), 0);
	capture__free(c);
}

RUN_TESTS(ROOT_TEST(a_comm_selects), ROOT_TEST(a_later_comm_selects), ROOT_TEST(a_uid_selects),
	  ROOT_TEST(all_kinds_must_accept), ROOT_TEST(a_cgroup_selects),
	  ROOT_TEST(a_pid_means_all_threads_a_tid_only_that_one),
	  ROOT_TEST(descendants_belong_to_it), ROOT_TEST(an_empty_filter_accepts_no_process),
	  ROOT_TEST(a_command_is_accepted_from_its_exec_on),
	  ROOT_TEST(our_own_process_is_recorded_on_request),
	  ROOT_TEST(an_unknown_process_is_an_error))
