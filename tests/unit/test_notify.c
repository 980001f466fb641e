// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages to the service manager; the test has the socket. */
#include "lib/test.h"

#include "collector/notify.h"
#include "lib/manager.h"

#include <string.h>

#define SECOND_NS 1000000000ULL

static void set_watchdog(const char *usec, const char *pid)
{
	setenv("WATCHDOG_USEC", usec, 1);
	if (pid)
		setenv("WATCHDOG_PID", pid, 1);
}

static void messages_reach_sockets_of_both_kinds(void **state)
{
	static const char kinds[] = "/@";

	(void)state;
	for (const char *kind = kinds; *kind; kind++) {
		struct manager m;
		struct notify n;

		manager__begin(&m, *kind);
		notify__open(&n);
		assert_true(notify__is_open(&n));
		notify__ready(&n);
		notify__status(&n, "10 s  5 samples");
		notify__stopping(&n);
		assert_string_equal(manager__received(&m), "READY=1");
		assert_string_equal(manager__received(&m), "STATUS=10 s  5 samples");
		assert_string_equal(manager__received(&m), "STOPPING=1");
		assert_string_equal(manager__received(&m), "");
		notify__close(&n);
		manager__end(&m);
	}
}

static void the_environment_of_commands_names_no_socket(void **state)
{
	struct manager m;
	struct notify n;

	(void)state;
	manager__begin(&m, '@');
	set_watchdog("2000000", "1");
	notify__open(&n);
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_null(getenv("WATCHDOG_USEC"));
	assert_null(getenv("WATCHDOG_PID"));
	notify__close(&n);
	manager__end(&m);
}

static void nothing_is_sent_without_a_usable_socket(void **state)
{
	char longest[256];
	const char *names[] = { NULL, "", "/", "@", "relative", "vsock:2:1234", longest };

	(void)state;
	memset(longest, 'a', sizeof(longest) - 1);
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct notify n;

		if (names[i])
			setenv("NOTIFY_SOCKET", names[i], 1);
		set_watchdog("2000000", NULL);
		notify__open(&n);
		assert_false(notify__is_open(&n));
		assert_int_equal(notify__interval_ns(&n), UINT64_MAX);
		notify__ready(&n);
		notify__tick(&n, SECOND_NS);
		notify__stopping(&n);
		notify__close(&n);
	}
}

static void the_watchdog_gets_a_message_at_half_of_its_time(void **state)
{
	struct manager m;
	struct notify n;

	(void)state;
	manager__begin(&m, '@');
	set_watchdog("2000000", NULL);
	notify__open(&n);
	assert_in_range(notify__interval_ns(&n), 1, SECOND_NS);
	notify__tick(&n, 5 * SECOND_NS);
	assert_string_equal(manager__received(&m), "WATCHDOG=1");
	notify__tick(&n, 6 * SECOND_NS - 1);
	assert_string_equal(manager__received(&m), "");
	notify__tick(&n, 6 * SECOND_NS);
	assert_string_equal(manager__received(&m), "WATCHDOG=1");
	notify__stopping(&n);
	assert_string_equal(manager__received(&m), "STOPPING=1");
	notify__tick(&n, 60 * SECOND_NS);
	assert_string_equal(manager__received(&m), "");
	notify__close(&n);
	manager__end(&m);
}

static void a_malformed_or_foreign_watchdog_is_none(void **state)
{
	static const struct {
		const char *usec, *pid;
	} cases[] = {
		{ "", NULL },	    { "-1", NULL },
		{ "2s", NULL },	    { "18446744073709551615", NULL },
		{ "2000000", "1" }, { "2000000", "me" },
		{ "0", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct manager m;
		struct notify n;

		manager__begin(&m, '@');
		set_watchdog(cases[i].usec, cases[i].pid);
		notify__open(&n);
		assert_int_equal(notify__interval_ns(&n), UINT64_MAX);
		notify__tick(&n, SECOND_NS);
		assert_string_equal(manager__received(&m), "");
		notify__close(&n);
		manager__end(&m);
	}
}

static void readiness_is_sent_again_when_the_queue_was_full(void **state)
{
	struct manager m;
	struct notify n;

	(void)state;
	manager__begin(&m, '@');
	notify__open(&n);
	do
		notify__ready(&n);
	while (!n.ready_due);
	while (*manager__received(&m))
		;
	notify__tick(&n, SECOND_NS);
	assert_string_equal(manager__received(&m), "READY=1");
	notify__tick(&n, SECOND_NS);
	assert_string_equal(manager__received(&m), "");
	notify__close(&n);
	manager__end(&m);
}

RUN_TESTS(cmocka_unit_test(messages_reach_sockets_of_both_kinds),
	  cmocka_unit_test(the_environment_of_commands_names_no_socket),
	  cmocka_unit_test(nothing_is_sent_without_a_usable_socket),
	  cmocka_unit_test(the_watchdog_gets_a_message_at_half_of_its_time),
	  cmocka_unit_test(a_malformed_or_foreign_watchdog_is_none),
	  cmocka_unit_test(readiness_is_sent_again_when_the_queue_was_full))
