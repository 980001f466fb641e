// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a thread waits, and whether it waits for work; also model/waittraits.c. */
#include "lib/test.h"

#include <string.h>

#include "stacksexport/model/waiting.h"
#include "stacksexport/model/waittraits.h"

#define FRAMES_MAX 12

struct named {
	const char *name, *module; /* NULL: the program */
};

#define LIBC(function)                \
	{                             \
		function, "libc.so.6" \
	}
#define KERNEL(function)             \
	{                            \
		function, "[kernel]" \
	}
#define PROG(function)           \
	{                        \
		function, "prog" \
	}

static struct frame_text text(const char *s)
{
	return (struct frame_text){ s, strlen(s) };
}

static const struct waiting_scene {
	struct named stack[FRAMES_MAX];
	const char *call, *waits_in; /* NULL: none */
	bool is_idle;
} scenes[] = {
	{ { { 0 } }, NULL, NULL, false },
	{ { PROG("main") }, NULL, "main", false },
	{ { LIBC("read"), PROG("serve"), PROG("main") }, "read", "serve", false },
	{ { LIBC("__syscall_cancel_arch"), LIBC("+0x12"), LIBC("read"), PROG("serve") },
	  "read",
	  "serve",
	  false },
	{ { LIBC("+0x12"), PROG("serve") }, "+0x12", "serve", false },
	{ { LIBC("read"), PROG("[no symbol]"), PROG("serve") }, "read", "serve", false },
	{ { LIBC("read"), PROG("[no symbol]"), LIBC("__libc_start_main") },
	  "read",
	  "[no symbol]",
	  false },
	{ { LIBC("read"), LIBC("__libc_start_main"), PROG("_start") }, "read", "read", false },
	/* the kernel alone */
	{ { KERNEL("__schedule"), KERNEL("schedule"), KERNEL("do_poll"), KERNEL("entry") },
	  NULL,
	  "do_poll",
	  false },
	{ { KERNEL("schedule") }, NULL, "schedule", false },
	/* runtimes */
	{ { { "do_recv", "_socket.cpython-311-x86_64-linux-gnu.so" },
	    { "f", "libpython3.12.so.1.0" },
	    { "get", "queue.py" },
	    { "handle", "app.py" } },
	  "do_recv",
	  "handle",
	  false },
	{ { LIBC("pthread_cond_wait"), PROG("java.lang.Object.wait"),
	    PROG("java.lang.ref.ReferenceQueue.remove"), PROG("java.lang.Thread.run") },
	  "pthread_cond_wait",
	  "java.lang.ref.ReferenceQueue.remove",
	  true },
	/* plumbing */
	{ { LIBC("epoll_wait"), PROG("WaitEventSetWait"), PROG("secure_read"), PROG("main") },
	  "epoll_wait",
	  "secure_read",
	  true },
	{ { LIBC("semop"), PROG("ProcSleep"), PROG("LockAcquire"), PROG("XactLockTableWait") },
	  "semop",
	  "XactLockTableWait",
	  false },
	/* for work, and not */
	{ { LIBC("__poll"), PROG("take"), PROG("worker"), LIBC("start_thread") },
	  "__poll",
	  "take",
	  true },
	{ { LIBC("poll"), PROG("read"), PROG("query"), PROG("worker"), LIBC("clone3") },
	  "poll",
	  "read",
	  false },
	{ { LIBC("clock_nanosleep"), PROG("naps") }, "clock_nanosleep", "naps", false },
	{ { PROG("epoll_wait"), PROG("main") }, NULL, "epoll_wait", false },
	{ { LIBC("recvmsg"), PROG("channel__receive"), PROG("task__serve") },
	  "recvmsg",
	  "task__serve",
	  true },
	{ { LIBC("recvmsg"), PROG("channel__receive"), PROG("task__ask"), PROG("task__serve") },
	  "recvmsg",
	  "task__ask",
	  false },
	{ { LIBC("read"), PROG("PostmasterMain") }, "read", "PostmasterMain", true },
	{ { LIBC("epoll_wait"), PROG("pg_sleep") }, "epoll_wait", "pg_sleep", false },
	{ { LIBC("read"), { "_worker", "thread.py" } }, "read", "_worker", true },
};

static void a_thread_waits_in_the_function_that_explains_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		const struct named *stack = scenes[i].stack;
		uint16_t traits[FRAMES_MAX];
		struct waiting w;
		size_t cnt = 0;

		for (; cnt < FRAMES_MAX && stack[cnt].name; cnt++)
			traits[cnt] =
				wait_traits__of(text(stack[cnt].name), text(stack[cnt].module));
		w = waiting__find(traits, cnt);
		assert_int_equal(w.call == WAITING_NONE, !scenes[i].call);
		if (scenes[i].call)
			assert_string_equal(stack[w.call].name, scenes[i].call);
		assert_int_equal(w.waits_in == WAITING_NONE, !scenes[i].waits_in);
		if (scenes[i].waits_in)
			assert_string_equal(stack[w.waits_in].name, scenes[i].waits_in);
		assert_int_equal(w.is_idle, scenes[i].is_idle);
	}
}

static void modules_of_libraries_are_known(void **state)
{
	static const struct {
		const char *module;
		uint16_t traits;
	} cases[] = {
		{ "libc.so.6", WAIT_LIBC | WAIT_RUNTIME },
		{ "libc.musl-x86_64.so.1", WAIT_LIBC | WAIT_RUNTIME },
		{ "ld-linux-x86-64.so.2", WAIT_LIBC | WAIT_RUNTIME },
		{ "libc.py", 0 },
		{ "ld-linux", 0 },
		{ "mylibc.so.6", 0 },
		{ "python3", WAIT_RUNTIME },
		{ "python3.11", WAIT_RUNTIME },
		{ "libpython3.12.so.1.0", WAIT_RUNTIME },
		{ "libpython3.so", WAIT_RUNTIME },
		{ "python3.11-config", 0 },
		{ "python", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(wait_traits__of(text("f"), text(cases[i].module)),
				 cases[i].traits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_waits_in_the_function_that_explains_it),
		cmocka_unit_test(modules_of_libraries_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
