// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/probe.h"

#define MS 1000000ull

static void valid_probes_are_parsed(void **state)
{
	static const struct {
		const char *text, *name;
		unsigned stacks;
		uint64_t param;
	} cases[] = {
		{ "profile", "profile", PROBE_USER, 99 },
		{ "profile:u:99", "profile", PROBE_USER, 99 },
		{ "profile:999", "profile", PROBE_USER, 999 },
		{ "profile::999", "profile", PROBE_USER, 999 },
		{ "profile:k", "profile", PROBE_KERNEL, 99 },
		{ "profile:1:uk", "profile", PROBE_USER | PROBE_KERNEL, 1 },
		{ "profile:9999:n", "profile", 0, 9999 },
		{ "switch", "switch", PROBE_KERNEL, 0 },
		{ "switch:ku", "switch", PROBE_USER | PROBE_KERNEL, 0 },
		{ "switch:ku:0s", "switch", PROBE_USER | PROBE_KERNEL, 0 },
		{ "switch:0", "switch", PROBE_KERNEL, 0 },
		{ "switch::10ms", "switch", PROBE_KERNEL, 10 * MS },
		{ "switch:10ms:u", "switch", PROBE_USER, 10 * MS },
		{ "switch:1h", "switch", PROBE_KERNEL, 3600000 * MS },
		{ "rss", "rss", PROBE_USER, 29 },
		{ "rss:uk:0", "rss", PROBE_USER | PROBE_KERNEL, 0 },
		{ "rss:1:n", "rss", 0, 1 },
		{ "alloc", "alloc", PROBE_USER, 512 << 10 },
		{ "alloc:uk:64K", "alloc", PROBE_USER | PROBE_KERNEL, 64 << 10 },
		{ "alloc::0", "alloc", PROBE_USER, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct probe_choice out[PROBE_CHOICE_MAX];
		char why[256] = "";

		assert_int_equal(probes__parse(strdupa(cases[i].text), out, why, sizeof(why)), 1);
		assert_string_equal(why, "");
		assert_string_equal(out[0].probe->name, cases[i].name);
		assert_int_equal(out[0].stacks, cases[i].stacks);
		assert_int_equal(out[0].param, cases[i].param);
	}
}

static void several_probes_are_parsed(void **state)
{
	struct probe_choice out[PROBE_CHOICE_MAX];
	char why[256];

	(void)state;
	assert_int_equal(
		probes__parse(strdupa("switch:uk:10ms,profile:uk:49"), out, why, sizeof(why)), 2);
	assert_string_equal(out[0].probe->name, "switch");
	assert_int_equal(out[0].param, 10 * MS);
	assert_string_equal(out[1].probe->name, "profile");
	assert_int_equal(out[1].param, 49);
}

/* Every probe that needs no path and no processes, except those listed explicitly. */
static void all_selects_every_probe_without_a_path(void **state)
{
	struct probe_choice out[PROBE_CHOICE_MAX];
	char why[256];
	int cnt = probes__parse(strdupa("all,profile:k:999"), out, why, sizeof(why)), profiles = 0;

	(void)state;
	assert_true(cnt > 1);
	for (int i = 0; i < cnt; i++) {
		bool profile = !strcmp(out[i].probe->name, "profile");

		assert_int_not_equal(out[i].probe->param, PROBE_PATH);
		assert_int_not_equal(out[i].probe->param, PROBE_TARGET);
		assert_false(out[i].probe->needs_processes);
		assert_int_equal(out[i].optional, !profile);
		profiles += profile && out[i].stacks == PROBE_KERNEL && out[i].param == 999;
	}
	assert_int_equal(profiles, 1);
}

/* A path may have colons, and be one of several. */
static void paths_are_parsed(void **state)
{
	static const struct {
		const char *text, *path;
		unsigned stacks;
	} cases[] = {
		{ "usdt:./server", "./server", PROBE_USER },
		{ "usdt:n:/opt/a:b", "/opt/a:b", 0 },
		{ "usdt:/opt/a:b:uk", "/opt/a:b", PROBE_USER | PROBE_KERNEL },
		{ "usdt::u:x", "u:x", PROBE_USER },
		{ "usdt:k:u", "u", PROBE_KERNEL },
	};
	struct probe_choice out[PROBE_CHOICE_MAX];
	char why[256] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(probes__parse(strdupa(cases[i].text), out, why, sizeof(why)), 1);
		assert_string_equal(out[0].path, cases[i].path);
		assert_int_equal(out[0].stacks, cases[i].stacks);
	}
	assert_int_equal(probes__parse(strdupa("usdt:a,usdt:n:b"), out, why, sizeof(why)), 2);
	assert_string_equal(out[1].path, "b");
}

/* The name at the end may look like stacks. */
static void places_are_parsed(void **state)
{
	static const struct {
		const char *text, *probe, *path;
		unsigned stacks;
	} cases[] = {
		{ "uprobe:/bin/a:f=ds", "uprobe", "/bin/a:f=ds", PROBE_USER },
		{ "uprobe:n:/bin/a:k", "uprobe", "/bin/a:k", 0 },
		{ "tracepoint:uk:sched:sched_switch", "tracepoint", "sched:sched_switch",
		  PROBE_USER | PROBE_KERNEL },
		{ "sdt:/bin/a:p:n", "sdt", "/bin/a:p:n", PROBE_USER },
		{ "usdt:/bin/a:p:n=s", "sdt", "/bin/a:p:n=s", PROBE_USER },
		{ "usdt:k:/bin/a:p:n1", "sdt", "/bin/a:p:n1", PROBE_KERNEL },
	};
	struct probe_choice out[PROBE_CHOICE_MAX];
	char why[256] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(probes__parse(strdupa(cases[i].text), out, why, sizeof(why)), 1);
		assert_string_equal(out[0].probe->name, cases[i].probe);
		assert_string_equal(out[0].path, cases[i].path);
		assert_int_equal(out[0].stacks, cases[i].stacks);
	}
}

/* Each message names the wrong part and the allowed values; checks its start. */
static void wrong_probes_are_explained(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "profil", "probe 'profil': unknown; the probes are: profile, switch, " },
		{ "", "probe '': empty; the probes are: profile, switch, " },
		{ "profile,", "probe '': empty; the probes are: profile, switch, " },
		{ ",profile", "probe '': empty; the probes are: profile, switch, " },
		{ "Profile", "probe 'Profile': unknown; the probes are: profile, switch, " },
		{ "profile:", "probe 'profile:': nothing follows the last ':'; "
			      "expected profile[:S][:HZ]" },
		{ "profile:u:", "probe 'profile:u:': nothing follows the last ':'; "
				"expected profile[:S][:HZ]" },
		{ "profile:u:0", "probe 'profile:u:0': HZ is 1 to 9999" },
		{ "profile:10000", "probe 'profile:10000': HZ is 1 to 9999" },
		{ "profile:99999999999999999999",
		  "probe 'profile:99999999999999999999': HZ is 1 to 9999" },
		{ "profile:x", "probe 'profile:x': 'x' is not stacks (u, k, uk, ku, n) or HZ" },
		{ "profile:-1", "probe 'profile:-1': '-1' is not stacks (u, k, uk, ku, n) or HZ" },
		{ "profile:u:k", "probe 'profile:u:k': the stacks are given twice" },
		{ "profile:1:2", "probe 'profile:1:2': unexpected part '2'; "
				 "expected profile[:S][:HZ]" },
		{ "switch:10", "probe 'switch:10': '10' is not stacks (u, k, uk, ku, n) "
			       "or a time such as 0s, 500us, 10ms" },
		{ "switch:2h", "probe 'switch:2h': the time is at most 1h" },
		{ "switch:999999999999999h",
		  "probe 'switch:999999999999999h': the time is at most 1h" },
		{ "rss:x", "probe 'rss:x': 'x' is not stacks (u, k, uk, ku, n) or N (1 of N)" },
		{ "rss:1000001", "probe 'rss:1000001': N is 0 (all) to 1000000" },
		{ "switch,profile:u,switch:u", "probe 'switch:u': named twice" },
		{ "usdt", "probe 'usdt': a path is missing; expected usdt[:S]:PATH" },
		{ "usdt:u:", "probe 'usdt:u:': a path is missing; expected usdt[:S]:PATH" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct probe_choice out[PROBE_CHOICE_MAX];
		char why[256] = "";

		assert_int_equal(probes__parse(strdupa(cases[i].text), out, why, sizeof(why)),
				 -EINVAL);
		assert_memory_equal(why, cases[i].why, strlen(cases[i].why));
	}
}

static void long_probes_are_refused(void **state)
{
	struct probe_choice out[PROBE_CHOICE_MAX];
	char text[4096], why[64];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(probes__parse(text, out, why, sizeof(why)), -EINVAL);
	assert_true(strlen(why) < sizeof(why));
	memset(text, ',', sizeof(text) - 1);
	assert_int_equal(probes__parse(text, out, why, sizeof(why)), -EINVAL);
	memset(text, ':', sizeof(text) - 1);
	memcpy(text, "switch", 6);
	assert_int_equal(probes__parse(text, out, why, sizeof(why)), -EINVAL);
}

/* --help and the README show the table. */
static void the_table_is_well_formed(void **state)
{
	(void)state;
	for (const struct probe *p = probes; p->name; p++) {
		struct probe_choice out[PROBE_CHOICE_MAX];
		bool has_path = p->param == PROBE_PATH || p->param == PROBE_TARGET;
		char why[256], text[64];

		assert_memory_equal(p->usage, p->name, strlen(p->name));
		assert_true(strlen(p->help) > 0);
		assert_true(p->param_default <= p->param_max);
		snprintf(text, sizeof(text), "%s%s", p->name, has_path ? ":x" : "");
		assert_int_equal(probes__parse(text, out, why, sizeof(why)), 1);
		assert_ptr_equal(out[0].probe, p);
	}
}

RUN_TESTS(cmocka_unit_test(valid_probes_are_parsed), cmocka_unit_test(several_probes_are_parsed),
	  cmocka_unit_test(all_selects_every_probe_without_a_path),
	  cmocka_unit_test(paths_are_parsed), cmocka_unit_test(places_are_parsed),
	  cmocka_unit_test(wrong_probes_are_explained), cmocka_unit_test(long_probes_are_refused),
	  cmocka_unit_test(the_table_is_well_formed))
