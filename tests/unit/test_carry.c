// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks that continue in the next batch. */
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "stacks/carry.h"
#include "lib/duck.h"
#include "lib/shell.h"

#define SECOND 1000000000ull

struct rig {
	char *dir;
	struct recording *recording;
	struct carry *carry;
	uint64_t now_ns;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct recording_options o = { .owner_uid = geteuid(),
				       .owner_gid = getegid(),
				       .rows_per_group = 10,
				       .groups_per_file = 10,
				       .batch_ns = SECOND,
				       .compression = "none" };

	log__init("test_carry", LOG_ERROR);
	if (!r || shell__setup((void **)&r->dir))
		return -1;
	o.dir = r->dir;
	r->recording = recording__new(&o);
	r->carry = carry__new();
	r->now_ns = SECOND;
	*state = r;
	return r->recording && r->carry && recording__tick(r->recording, r->now_ns) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	carry__free(r->carry);
	recording__free(r->recording);
	shell__teardown((void **)&r->dir);
	free(r);
	return 0;
}

static uint32_t string(struct rig *r, const char *s)
{
	return recording__string(r->recording, s, strlen(s));
}

/* A stack of two frames with strings that begin with `name`. */
static void add(struct rig *r, uint64_t id, const char *name)
{
	char module[64], build_id[64];
	struct row_frame frames[2] = { 0 };

	snprintf(module, sizeof(module), "%s.module", name);
	snprintf(build_id, sizeof(build_id), "%s.build_id", name);
	frames[0] = (struct row_frame){ .name = string(r, name),
					.module = string(r, module),
					.build_id = string(r, build_id),
					.mark = string(r, "frame_pointer"),
					.has_file_offset = true,
					.address = id,
					.offset = id + 1,
					.file_offset = id + 2 };
	frames[1].module = string(r, module);
	assert_int_equal(recording__add_stack(r->recording, id, frames, 2), 0);
}

static void check_string(struct rig *r, uint32_t id, const char *prefix, const char *suffix)
{
	char expected[64];
	size_t sz;

	snprintf(expected, sizeof(expected), "%s%s", prefix, suffix);
	assert_string_equal(recording__str(r->recording, id, &sz), expected);
	assert_int_equal(sz, strlen(expected));
}

static void check(struct rig *r, uint64_t id, const char *name)
{
	struct buf frames = { 0 };
	struct row_frame *f;

	assert_int_equal(recording__stack(r->recording, id, &frames), 2);
	f = (struct row_frame *)(void *)frames.data;
	check_string(r, f[0].name, name, "");
	check_string(r, f[0].module, name, ".module");
	check_string(r, f[0].build_id, name, ".build_id");
	check_string(r, f[0].mark, "frame_pointer", "");
	assert_int_equal(f[0].address, id);
	assert_int_equal(f[0].offset, id + 1);
	assert_int_equal(f[0].file_offset, id + 2);
	assert_true(f[0].has_file_offset);
	check_string(r, f[1].module, name, ".module");
	assert_int_equal(f[1].name + f[1].build_id + f[1].mark + f[1].has_file_offset, 0);
	buf__free(&frames);
}

/* Starts the next batch, which has other strings first: ids of the last batch are invalid. */
static void next_batch(struct rig *r)
{
	struct row row = { .kind = string(r, "switch"), .timestamp = 1 };
	uint32_t generation = recording__generation(r->recording);

	assert_int_equal(recording__add(r->recording, &row), 0);
	r->now_ns += 2 * SECOND;
	assert_int_equal(recording__tick(r->recording, r->now_ns), 0);
	assert_int_equal(recording__generation(r->recording), generation + 1);
	for (int i = 0; i < 50; i++) {
		char other[16];

		snprintf(other, sizeof(other), "other %d", i);
		string(r, other);
	}
}

static void stacks_keep_their_strings(void **state)
{
	struct rig *r = *state;

	add(r, 100, "f");
	add(r, 200, "g");
	add(r, 300, "left behind");
	assert_true(carry__save(r->carry, r->recording, 100));
	assert_true(carry__save(r->carry, r->recording, 200));
	assert_true(carry__save(r->carry, r->recording, 100)); /* of another row */
	next_batch(r);
	carry__restore(r->carry, r->recording);
	check(r, 100, "f");
	check(r, 200, "g");
	assert_false(recording__has_stack(r->recording, 300));
}

static void a_stack_is_carried_repeatedly(void **state)
{
	struct rig *r = *state;

	add(r, 100, "f");
	for (int i = 0; i < 3; i++) {
		assert_true(carry__save(r->carry, r->recording, 100));
		next_batch(r);
		carry__restore(r->carry, r->recording);
		check(r, 100, "f");
	}
	next_batch(r);
	carry__restore(r->carry, r->recording); /* nothing was saved */
	assert_false(recording__has_stack(r->recording, 100));
}

static void unknown_stacks_are_not_carried(void **state)
{
	struct rig *r = *state;

	add(r, 100, "f");
	assert_true(carry__save(r->carry, r->recording, 0)); /* no stack */
	assert_true(carry__save(r->carry, r->recording, 100));
	assert_false(carry__save(r->carry, r->recording, 400));
	next_batch(r);
	carry__restore(r->carry, r->recording);
	check(r, 100, "f");
	assert_false(recording__has_stack(r->recording, 400));
	assert_false(recording__has_stack(r->recording, 0));
}

/* The new batch already has the stack: it is not added twice. */
static void a_known_stack_is_not_added_twice(void **state)
{
	struct rig *r = *state;

	add(r, 100, "f");
	assert_true(carry__save(r->carry, r->recording, 100));
	next_batch(r);
	add(r, 100, "f");
	carry__restore(r->carry, r->recording);
	check(r, 100, "f");
	next_batch(r);
	assert_int_equal(recording__finish(r->recording), 0);
	duck__reads(r->dir,
		    "SELECT stack_id || ' in ' || parse_filename(filename) FROM stacktraces ORDER "
		    "BY 1",
		    "100 in stacktraces-000001.parquet\n100 in stacktraces-000002.parquet\n");
}

#define test_with_rig(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(test_with_rig(stacks_keep_their_strings), test_with_rig(a_stack_is_carried_repeatedly),
	  test_with_rig(unknown_stacks_are_not_carried),
	  test_with_rig(a_known_stack_is_not_added_twice))
