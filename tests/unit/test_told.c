// SPDX-License-Identifier: GPL-2.0-or-later
/* src/process/process.h, when records instead of /proc report the mappings. */
#include "lib/test.h"

#include "lib/finder_scene.h"

static void without_proc_only_records_count(void **state)
{
	struct world w = begin(state, (struct process_options){ 0 });

	assert_null(look(&w, (uint32_t)getpid(), (uint64_t)&put_elf));
	assert_false(process_table__refresh(w.table, process_table__get(w.table, 10)));
	map(&w, 10, mmap_of("/nowhere", 1));
	assert_non_null(look(&w, 10, 0x40fff));
	assert_null(look(&w, 10, 0x40fff)->file);
	assert_true(process_table__scan(w.table) < 0);
	end(&w);
}

static void proc_describes_processes_without_records(void **state)
{
	struct world w = begin(state, (struct process_options){ .proc = *state });

	write_maps(*state, 10, "1000-2000 r-xp 00000000 08:01 5 /bin/ten\n");
	write_maps(*state, 11, "1000-2000 r-xp 00000000 08:01 5 /bin/eleven\n");
	map(&w, 10, mmap_of("/told", 0));
	tell(&w, (struct record){ RECORD_COMM, 0, 11, 11, 0, { .comm = { "x", false } } });
	assert_null(look(&w, 10, 0x1000));
	assert_non_null(look(&w, 10, 0x40000));
	assert_false(process_table__refresh(w.table, process_table__get(w.table, 10)));
	assert_non_null(look(&w, 11, 0x1000));
	/* Later reports apply on top, although the time of records differs. */
	map(&w, 11, mmap_of("/told", 0));
	assert_non_null(look(&w, 11, 0x1000));
	assert_non_null(look(&w, 11, 0x40000));
	/* A fork inherits the reported mappings of its parent. */
	write_maps(*state, 12, "1000-2000 r-xp 00000000 08:01 5 /bin/twelve\n");
	tell(&w, (struct record){ RECORD_FORK, 0, 12, 12, 0, { .fork = { 10, 10 } } });
	assert_null(look(&w, 12, 0x1000));
	assert_non_null(look(&w, 12, 0x40000));
	/* An exec removes all. */
	tell(&w, (struct record){ RECORD_COMM, 0, 12, 12, 0, { .comm = { "x", true } } });
	assert_string_equal(look(&w, 12, 0x1000)->path, "/bin/twelve");
	end(&w);
}

static void ended_processes_are_dropped_when_unused(void **state)
{
	struct world w = begin(state, (struct process_options){ .proc = *state });

	for (uint32_t tgid = 20; tgid < 22; tgid++) {
		map(&w, tgid, mmap_of("/told", 0));
		tell(&w, (struct record){ RECORD_EXIT, 0, tgid, tgid, 0, { .fork = { 1, 1 } } });
	}
	look(&w, 20, 0x40000);
	w.now_ns += 1500000000;
	tell(&w, (struct record){ .type = RECORD_LOST });
	assert_non_null(process_table__find(w.table, 20));
	assert_null(process_table__find(w.table, 21));
	w.now_ns += 1500000000;
	tell(&w, (struct record){ .type = RECORD_LOST });
	assert_null(process_table__find(w.table, 20));
	end(&w);
}

static void processes_are_bounded(void **state)
{
	struct world w = begin(state, (struct process_options){ .process_max = 100 });
	struct process_table_stats stats;

	for (uint32_t tgid = 1; tgid <= 5000; tgid++) {
		map(&w, tgid, mmap_of("/told", 0));
		assert_non_null(look(&w, 1, 0x40000)); /* in use all the time */
		process_table__get(w.table, 100000 + tgid);
		process_table__stats(w.table, &stats);
		assert_in_range(stats.processes, 1, 102);
	}
	assert_non_null(look(&w, 5000, 0x40000));
	end(&w);
}

RUN_TESTS(test_with_folder(without_proc_only_records_count),
	  test_with_folder(proc_describes_processes_without_records),
	  test_with_folder(ended_processes_are_dropped_when_unused),
	  test_with_folder(processes_are_bounded))
