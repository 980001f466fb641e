// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "profile.pb-c.h"
#include "pprof/builder.h"

typedef Perftools__Profiles__Profile Profile;

#define TEXT(t)                  \
	{                        \
		t, sizeof(t) - 1 \
	}

static struct builder *new_builder(struct binaries **binaries, bool offsets)
{
	struct builder_options options = { .value_names = { "count", "cpu_time" },
					   .offsets = offsets };
	struct builder *b;

	options.binaries = *binaries = binaries__new(NULL);
	b = builder__new(&options);
	assert_non_null(*binaries);
	assert_non_null(b);
	return b;
}

/* Writes the profile, reads it back, frees the builder. */
static Profile *finish(struct builder *b, struct binaries *binaries)
{
	static uint8_t bytes[1 << 20];
	char path[] = "/tmp/test_builder.XXXXXX";
	Profile *p;
	gzFile gz;
	int sz;

	close(mkstemp(path));
	assert_int_equal(builder__write(b, path), 0);
	gz = gzopen(path, "rb");
	sz = gzread(gz, bytes, sizeof(bytes));
	assert_true(sz > 0);
	gzclose(gz);
	unlink(path);
	p = perftools__profiles__profile__unpack(NULL, (size_t)sz, bytes);
	assert_non_null(p);
	builder__free(b);
	binaries__free(binaries);
	return p;
}

static const char *str(const Profile *p, int64_t id)
{
	assert_in_range(id, 0, p->n_string_table - 1);
	return p->string_table[id];
}

static const char *name_at(const Profile *p, uint64_t location)
{
	return str(p, p->function[p->location[location - 1]->line[0]->function_id - 1]->name);
}

static void add(struct builder *b, const struct named_frame *frames, size_t cnt, int64_t count,
		int64_t value)
{
	for (size_t i = 0; i < cnt; i++)
		builder__frame(b, &frames[i]);
	builder__sample(b, (const int64_t[]){ count, value });
}

/* A frame of a program's function, which begins at `start`, 0x1000 behind its place in the file. */
#define FRAME(function, path, id, start, off)                                               \
	{                                                                                   \
		.name = TEXT(function), .module = TEXT(path), .build_id = TEXT(id),         \
		.address = (start), .offset = (off), .file_offset = (start) + (off)-0x1000, \
		.has_file_offset = true                                                     \
	}

static const struct named_frame work = FRAME("work", "/bin/p", "ab12", 0x1100, 0x10);
static const struct named_frame caller = FRAME("main", "/bin/p", "ab12", 0x1200, 0x2f);

static void same_stacks_are_one_sample(void **state)
{
	const struct named_frame stack[] = { work, work, caller };
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, false);
	Profile *p;

	(void)state;
	add(b, stack, 3, 2, 200);
	add(b, stack, 2, 1, INT64_MAX);
	add(b, stack, 3, 3, 300);
	add(b, stack, 2, 1, 1);
	p = finish(b, binaries);
	assert_int_equal(p->n_sample, 2);
	assert_int_equal(p->sample[0]->n_location_id, 3); /* recursion is kept */
	assert_int_equal(p->sample[0]->value[0], 5);
	assert_int_equal(p->sample[0]->value[1], 500);
	assert_int_equal(p->sample[1]->value[1], INT64_MAX);
	assert_int_equal(p->n_location, 2);
	assert_int_equal(p->n_function, 2);
	assert_int_equal(p->location[1]->address, 0x122f);
	assert_string_equal(name_at(p, 1), "work");
	perftools__profiles__profile__free_unpacked(p, NULL);
}

static void mappings_say_where_the_file_lies(void **state)
{
	struct named_frame data = work;
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, false);
	Profile *p;

	(void)state;
	data.file_offset = 0x1110; /* another segment of the same file */
	add(b, (const struct named_frame[]){ data, work, caller }, 3, 1, 1);
	p = finish(b, binaries);
	assert_int_equal(p->n_mapping, 2);
	assert_int_equal(p->mapping[0]->memory_start, 0x1000);
	assert_int_equal(p->mapping[0]->memory_limit, 0x2000);
	assert_int_equal(p->mapping[0]->file_offset, 0);
	assert_int_equal(p->mapping[1]->file_offset, 0x1000);
	assert_string_equal(str(p, p->mapping[0]->filename), "/bin/p");
	assert_string_equal(str(p, p->mapping[0]->build_id), "ab12");
	assert_true(p->mapping[0]->has_functions);
	assert_false(p->mapping[0]->has_line_numbers);
	perftools__profiles__profile__free_unpacked(p, NULL);
}

static void the_program_that_most_began_in_is_first(void **state)
{
	const struct named_frame launcher = FRAME("execve", "/bin/launcher", "ef", 0x1500, 0);
	const struct named_frame library = FRAME("start_thread", "/lib/libc.so.6", "cd", 0x1600, 0);
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, false);
	Profile *p;

	(void)state;
	add(b, &launcher, 1, 9, 10);
	add(b, (const struct named_frame[]){ library, work, library }, 3, 1, 6);
	add(b, &caller, 1, 1, 5);
	p = finish(b, binaries);
	assert_int_equal(p->n_mapping, 3);
	assert_string_equal(str(p, p->mapping[0]->filename), "/bin/p");
	perftools__profiles__profile__free_unpacked(p, NULL);
}

static const struct named_frame jitted = { .name = TEXT("Shop.work"),
					   .module = TEXT("[jit]"),
					   .address = 0x700 };

static void a_library_goes_before_code_without_a_file(void **state)
{
	const struct named_frame library = { .name = TEXT("start_thread"),
					     .module = TEXT("/lib/libc.so.6"),
					     .build_id = TEXT("cd"),
					     .address = 0x600,
					     .file_offset = 0x600,
					     .has_file_offset = true };
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, false);
	Profile *p;

	(void)state;
	add(b, (const struct named_frame[]){ jitted, library }, 2, 1, 6);
	p = finish(b, binaries);
	assert_int_equal(p->n_mapping, 2);
	assert_string_equal(str(p, p->mapping[0]->filename), "/lib/libc.so.6");
	perftools__profiles__profile__free_unpacked(p, NULL);
}

static void a_script_is_not_the_program(void **state)
{
	const struct named_frame script = { .name = TEXT("main"),
					    .module = TEXT("Shop.java"),
					    .line = 7 };
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, false);
	Profile *p;

	(void)state;
	add(b, (const struct named_frame[]){ work, script }, 2, 1, 6);
	p = finish(b, binaries);
	assert_int_equal(p->n_mapping, 2);
	assert_string_equal(str(p, p->mapping[0]->filename), "/bin/p");
	perftools__profiles__profile__free_unpacked(p, NULL);
}

static void a_program_without_a_frame_is_first(void **state)
{
	struct binaries *binaries = binaries__new(NULL);
	const struct builder_options options = { .value_names = { "count", "cpu_time" },
						 .binaries = binaries,
						 .program = "java" };
	struct builder *b = builder__new(&options);
	Profile *p;

	(void)state;
	assert_non_null(b);
	add(b, &jitted, 1, 1, 6);
	p = finish(b, binaries);
	assert_int_equal(p->n_mapping, 2);
	assert_string_equal(str(p, p->mapping[0]->filename), "java");
	assert_int_equal(p->mapping[0]->memory_start, 0);
	assert_int_equal(p->mapping[0]->memory_limit, 0);
	perftools__profiles__profile__free_unpacked(p, NULL);
}

static void suffixes_of_the_compiler_are_left_out(void **state)
{
	static const char *const names[][2] = {
		{ "work.constprop.0", "work" },
		{ "work.isra.12.part.0.cold", "work" },
		{ "work.cold.3", "work" },
		{ "shop::work(int) [clone .isra.0] [clone .cold]", "shop::work(int)" },
		{ "main.part", "main.part" },
		{ "main.1", "main.1" },
		{ ".cold", ".cold" },
		{ " [clone .cold]", " [clone .cold]" },
		{ "f[abi:cxx11]", "f[abi:cxx11]" },
		{ "work.constprop.0x", "work.constprop.0x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct frame_text name = { names[i][0], strlen(names[i][0]) };
		struct frame_text cut = frame_text__function(name);

		assert_int_equal(cut.sz, strlen(names[i][1]));
		assert_memory_equal(cut.s, names[i][1], cut.sz);
	}
}

/* pprof removes what is in brackets from a name that is also the system's. */
static void names_in_brackets_are_no_names_of_the_system(void **state)
{
	const struct named_frame frames[] = {
		{ .name = TEXT("<module>"), .module = TEXT("a.py"), .address = 1 },
		{ .name = TEXT("block in <main>"), .module = TEXT("a.rb"), .address = 2 },
		{ .name = TEXT("a<int>"), .module = TEXT("a.so"), .address = 3 },
	};
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, false);
	Profile *p;

	(void)state;
	add(b, frames, 3, 1, 1);
	p = finish(b, binaries);
	assert_int_equal(p->n_function, 3);
	for (size_t i = 0; i < p->n_function; i++)
		assert_int_equal(p->function[i]->system_name == p->function[i]->name,
				 strcmp(str(p, p->function[i]->name), "a<int>") == 0);
	perftools__profiles__profile__free_unpacked(p, NULL);
}

static void copies_of_a_function_are_one(void **state)
{
	struct named_frame copy = work;
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, false);
	Profile *p;

	(void)state;
	copy.name = (struct frame_text){ "work.constprop.0", strlen("work.constprop.0") };
	add(b, (const struct named_frame[]){ copy, caller }, 2, 1, 1);
	add(b, (const struct named_frame[]){ work, caller }, 2, 1, 1);
	p = finish(b, binaries);
	assert_int_equal(p->n_function, 2);
	assert_string_equal(name_at(p, 1), "work");
	perftools__profiles__profile__free_unpacked(p, NULL);
}

static void nameless_frames_are_seen(void **state)
{
	const struct named_frame frames[] = {
		{ .module = TEXT("/lib/x.so"),
		  .build_id = TEXT("cd"),
		  .offset = 0x1234,
		  .file_offset = 0x234,
		  .has_file_offset = true },
		{ .offset = 0x99 },
		{ .module = TEXT("[kernel]"), .offset = UINT64_MAX },
	};
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, false);
	struct builder_stats stats;
	Profile *p;

	(void)state;
	add(b, frames, 3, 1, 1);
	builder__stats(b, &stats);
	assert_int_equal(stats.unnamed, 3);
	p = finish(b, binaries);
	assert_string_equal(name_at(p, 1), "x.so+0x1234");
	assert_string_equal(name_at(p, 2), "[unknown]+0x99");
	assert_string_equal(name_at(p, 3), "[kernel]+0xffffffffffffffff");
	assert_true(p->mapping[2]->memory_limit > p->mapping[2]->memory_start);
	perftools__profiles__profile__free_unpacked(p, NULL);
}

static void a_sample_without_frames_is_seen(void **state)
{
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, false);
	Profile *p;

	(void)state;
	add(b, NULL, 0, 4, 44);
	p = finish(b, binaries);
	assert_int_equal(p->sample[0]->n_location_id, 1);
	assert_string_equal(name_at(p, 1), "[no stack]");
	perftools__profiles__profile__free_unpacked(p, NULL);
}

static void offsets_part_functions(void **state)
{
	struct named_frame other = work;
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, true);
	Profile *p;

	(void)state;
	other.offset = 0x2a;
	add(b, (const struct named_frame[]){ work, other }, 2, 1, 1);
	p = finish(b, binaries);
	assert_int_equal(p->n_function, 2);
	assert_string_equal(name_at(p, 1), "work-10");
	assert_string_equal(name_at(p, 2), "work-2a");
	perftools__profiles__profile__free_unpacked(p, NULL);
}

/* JIT code: one address, two functions. */
static void names_part_locations(void **state)
{
	const struct named_frame a = {
		.name = TEXT("a"), .module = TEXT("[jit]"), .address = 0x1000, .offset = 1
	};
	const struct named_frame c = {
		.name = TEXT("b\xff"), .module = TEXT("[jit]"), .address = 0x1000, .offset = 1
	};
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, false);
	Profile *p;

	(void)state;
	add(b, (const struct named_frame[]){ a, c }, 2, 1, 1);
	p = finish(b, binaries);
	assert_int_equal(p->n_location, 2);
	assert_string_equal(name_at(p, 2), "b\xef\xbf\xbd");
	perftools__profiles__profile__free_unpacked(p, NULL);
}

static void head_has_time_and_comments(void **state)
{
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, false);
	Profile *p;

	(void)state;
	add(b, &work, 1, 1, 1);
	builder__set_time(b, 1700000000000000000, 5, 10101010);
	builder__comment(b, "why");
	p = finish(b, binaries);
	assert_string_equal(str(p, 0), "");
	assert_int_equal(p->n_sample_type, 2);
	assert_string_equal(str(p, p->sample_type[0]->type), "count");
	assert_string_equal(str(p, p->sample_type[0]->unit), "count");
	assert_string_equal(str(p, p->sample_type[1]->type), "cpu_time");
	assert_string_equal(str(p, p->sample_type[1]->unit), "nanoseconds");
	assert_string_equal(str(p, p->default_sample_type), "cpu_time");
	assert_string_equal(str(p, p->period_type->type), "cpu");
	assert_int_equal(p->period, 10101010);
	assert_int_equal(p->time_nanos, 1700000000000000000);
	assert_int_equal(p->duration_nanos, 5);
	assert_string_equal(str(p, p->comment[0]), "why");
	perftools__profiles__profile__free_unpacked(p, NULL);
}

static void units_follow_from_names(void **state)
{
	static const struct {
		const char *name, *unit;
	} cases[] = {
		{ "sampled_duration", "nanoseconds" },
		{ "cpu_time", "nanoseconds" },
		{ "wait_ns", "nanoseconds" },
		{ "sum(duration)", "nanoseconds" },
		{ "amount", "bytes" },
		{ "rss_growth", "bytes" },
		{ "bandwidth", "bytes" },
		{ "read_bytes", "bytes" },
		{ "bytes", "bytes" },
		{ "count", "count" },
		{ "timeouts", "count" },
		{ "", "count" },
		{ ")))", "count" },
		{ "ns", "count" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(builder__unit(cases[i].name), cases[i].unit);
}

static void a_failed_write_is_reported(void **state)
{
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, false);

	(void)state;
	add(b, &work, 1, 1, 1);
	assert_int_equal(builder__write(b, "/nonexistent/x"), -ENOENT);
	assert_int_equal(builder__write(b, "/dev/full"), -ENOSPC);
	builder__free(b);
	binaries__free(binaries);
	builder__free(NULL);
	binaries__free(NULL);
}

static void kept_stacks_make_samples(void **state)
{
	const uint64_t stack = UINT64_MAX;
	struct binaries *binaries;
	struct builder *b = new_builder(&binaries, false);
	Profile *p;

	(void)state;
	builder__frame(b, &work);
	builder__frame(b, &caller);
	builder__keep(b, stack);
	builder__kept(b, stack, true);
	builder__kept(b, stack, false);
	builder__kept(b, 1, false); /* there is none */
	builder__sample(b, (const int64_t[]){ 1, 2 });
	p = finish(b, binaries);
	assert_int_equal(p->n_sample, 1);
	assert_int_equal(p->sample[0]->n_location_id, 4);
	assert_string_equal(name_at(p, p->sample[0]->location_id[0]), "main");
	assert_string_equal(name_at(p, p->sample[0]->location_id[1]), "work");
	assert_string_equal(name_at(p, p->sample[0]->location_id[2]), "work");
	assert_string_equal(name_at(p, p->sample[0]->location_id[3]), "main");
	perftools__profiles__profile__free_unpacked(p, NULL);
}

RUN_TESTS(cmocka_unit_test(same_stacks_are_one_sample),
	  cmocka_unit_test(names_in_brackets_are_no_names_of_the_system),
	  cmocka_unit_test(mappings_say_where_the_file_lies),
	  cmocka_unit_test(the_program_that_most_began_in_is_first),
	  cmocka_unit_test(a_library_goes_before_code_without_a_file),
	  cmocka_unit_test(a_script_is_not_the_program),
	  cmocka_unit_test(a_program_without_a_frame_is_first),
	  cmocka_unit_test(suffixes_of_the_compiler_are_left_out),
	  cmocka_unit_test(copies_of_a_function_are_one),
	  cmocka_unit_test(nameless_frames_are_seen),
	  cmocka_unit_test(a_sample_without_frames_is_seen),
	  cmocka_unit_test(offsets_part_functions), cmocka_unit_test(names_part_locations),
	  cmocka_unit_test(kept_stacks_make_samples), cmocka_unit_test(head_has_time_and_comments),
	  cmocka_unit_test(units_follow_from_names), cmocka_unit_test(a_failed_write_is_reported))
