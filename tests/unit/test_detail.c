// SPDX-License-Identifier: GPL-2.0-or-later
/* The columns that an event's detail fills, and its reason. */
#include "lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "collector/detail.h"
#include "event/kind.h"
#include "lib/shell.h"

struct rig {
	char *dir;
	struct recording *recording;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct recording_options o = { .owner_uid = geteuid(),
				       .owner_gid = getegid(),
				       .rows_per_group = 10,
				       .groups_per_file = 2,
				       .batch_ns = 10000000000,
				       .compression = "none" };

	log__init("test_detail", LOG_ERROR);
	if (!r || shell__setup((void **)&r->dir))
		return -1;
	o.dir = r->dir;
	r->recording = recording__new(&o);
	*state = r;
	return r->recording ? 0 : -1;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	recording__free(r->recording);
	shell__teardown((void **)&r->dir);
	free(r);
	return 0;
}

static struct row filled(struct rig *r, uint32_t kind, const void *data, size_t sz)
{
	struct resolved_event s = { .event = { .detail = kind, .detail_sz = (uint16_t)sz } };
	struct row row = { 0 };

	memcpy(s.detail, data, sz);
	detail__fill(&row, &s, r->recording);
	return row;
}

static void check(struct rig *r, uint32_t id, const char *expected)
{
	size_t sz;
	const char *s = recording__str(r->recording, id, &sz);

	assert_string_equal(s, expected);
}

static void endpoints_are_formatted(void **state)
{
	struct event_socket v4 = { .family = AF_INET,
				   .local_port = 80,
				   .peer_port = 65535,
				   .local = { 1, 2, 3, 4 },
				   .peer = { 127, 0, 0, 1 } };
	struct event_socket v6 = { .family = AF_INET6, .local_port = 1, .local = { [15] = 1 } };
	struct event_socket mapped = { .family = AF_INET6,
				       .peer = { [10] = 0xff, [11] = 0xff, 9, 8, 7, 6 } };
	struct event_socket unknown = { .family = AF_UNIX };
	struct row row = filled(*state, EVENT_DETAIL_SOCKET, &v4, sizeof(v4));

	check(*state, row.local, "1.2.3.4:80");
	check(*state, row.peer, "127.0.0.1:65535");
	row = filled(*state, EVENT_DETAIL_SOCKET, &v6, sizeof(v6));
	check(*state, row.local, "[::1]:1");
	assert_int_equal(row.peer, 0);
	row = filled(*state, EVENT_DETAIL_SOCKET, &mapped, sizeof(mapped));
	check(*state, row.peer, "9.8.7.6:0");
	row = filled(*state, EVENT_DETAIL_SOCKET, &unknown, sizeof(unknown));
	assert_int_equal(row.local + row.peer, 0);
	row = filled(*state, EVENT_DETAIL_SOCKET, &v4, sizeof(v4) - 8);
	assert_int_equal(row.local + row.peer, 0);
}

static void files_and_disks_are_named(void **state)
{
	struct event_file file = { .fs = "ext4", .name = "data.db" }, full;
	struct event_disk disk = { .name = "nvme0n1" };
	struct event_address address = { 0 };
	struct row row = filled(*state, EVENT_DETAIL_FILE, &file, sizeof(file));
	char longest[257];

	check(*state, row.fs, "ext4");
	check(*state, row.file, "data.db");
	row = filled(*state, EVENT_DETAIL_FILE, &file, 16 + 8); /* sent truncated */
	check(*state, row.file, "data.db");
	memset(&full, 'x', sizeof(full)); /* no NUL anywhere */
	memset(longest, 'x', 256);
	longest[256] = '\0';
	row = filled(*state, EVENT_DETAIL_FILE, &full, sizeof(full));
	check(*state, row.fs, "xxxxxxxxxxxxxxxx");
	check(*state, row.file, longest);
	row = filled(*state, EVENT_DETAIL_DISK, &disk, sizeof(disk));
	check(*state, row.device, "nvme0n1");
	row = filled(*state, EVENT_DETAIL_ADDRESS, &address, sizeof(address));
	assert_int_equal(row.present, ROW_ADDRESS); /* 0 is an address */
	row = filled(*state, EVENT_DETAIL_CNT, &disk, sizeof(disk));
	assert_int_equal(row.device, 0);
}

static void paths_end_in_a_file(void **state)
{
	struct event_path whole = { .fs = "ext4", .path = "/srv/data.db" };
	struct event_path plain = { .path = "data.db" }, folder = { .path = "/srv/" }, full;
	struct row row = filled(*state, EVENT_DETAIL_PATH, &whole, sizeof(whole));
	char longest[257];

	check(*state, row.fs, "ext4");
	check(*state, row.path, "/srv/data.db");
	check(*state, row.file, "data.db");
	row = filled(*state, EVENT_DETAIL_PATH, &plain, 16 + 8); /* sent shorter */
	assert_int_equal(row.fs, 0);
	check(*state, row.path, "data.db");
	check(*state, row.file, "data.db");
	row = filled(*state, EVENT_DETAIL_PATH, &folder, sizeof(folder));
	check(*state, row.path, "/srv/");
	check(*state, row.file, "");
	memset(&full, 'x', sizeof(full)); /* no NUL anywhere */
	memset(longest, 'x', 256);
	longest[256] = '\0';
	row = filled(*state, EVENT_DETAIL_PATH, &full, sizeof(full));
	check(*state, row.path, longest);
	row = filled(*state, EVENT_DETAIL_PATH, &whole, 8);
	assert_int_equal(row.path + row.file + row.fs, 0);
}

static void unix_sockets_have_a_path(void **state)
{
	struct event_unix server = { .path = "/run/x.sock", .is_local = 1 },
			  full = { .is_local = 0 };
	struct event_unix none = { .is_local = 0 };
	struct row row = filled(*state, EVENT_DETAIL_UNIX, &server, sizeof(server));
	char longest[109];

	check(*state, row.local, "/run/x.sock");
	assert_int_equal(row.peer, 0);
	memset(full.path, 'x', sizeof(full.path)); /* no NUL */
	memset(longest, 'x', 108);
	longest[108] = '\0';
	row = filled(*state, EVENT_DETAIL_UNIX, &full, sizeof(full));
	check(*state, row.peer, longest);
	assert_int_equal(row.local, 0);
	row = filled(*state, EVENT_DETAIL_UNIX, &none, sizeof(none));
	assert_int_equal(row.local + row.peer, 0);
	row = filled(*state, EVENT_DETAIL_UNIX, &server, sizeof(server) - 8);
	assert_int_equal(row.local + row.peer, 0);
}

static void reasons_have_names(void **state)
{
	(void)state;
	assert_null(event_reason__name(0));
	assert_string_equal(event_reason__name(ECONNREFUSED), "refused");
	assert_string_equal(event_reason__name(ETIMEDOUT), "timeout");
	assert_string_equal(event_reason__name(EIO), "EIO");
	assert_string_equal(event_reason__name(4095), "error");
	assert_string_equal(event_reason__name(EVENT_REASON_SENT), "sent");
	assert_string_equal(event_reason__name(EVENT_REASON_WRITEBACK), "writeback");
	assert_null(event_reason__name(EVENT_REASON_END));
}

RUN_TESTS(cmocka_unit_test_setup_teardown(endpoints_are_formatted, setup, teardown),
	  cmocka_unit_test_setup_teardown(files_and_disks_are_named, setup, teardown),
	  cmocka_unit_test_setup_teardown(paths_end_in_a_file, setup, teardown),
	  cmocka_unit_test_setup_teardown(unix_sockets_have_a_path, setup, teardown),
	  cmocka_unit_test(reasons_have_names))
