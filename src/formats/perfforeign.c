// SPDX-License-Identifier: GPL-2.0-or-later
#include "formats/perfforeign.h"

#include <string.h>
#include <time.h>

#include "base/array.h"
#include "formats/perffile.h"
#include "formats/stream.h"

#define RECORD_HEADER_SZ 8
#define TRAILER_SZ	 24 /* pid and tid; time; cpu */
#define NAME_MAX_SZ	 4096
#define COMM_SZ		 16
#define MMAP2_SZ	 64 /* the fields between the header and the name */
#define MAP_PRIVATE_FLAG 2
#define ID_FIELD_SZ	 20

#define SAMPLE_TYPE                                                              \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)
#define SAMPLE_SZ (RECORD_HEADER_SZ + 6 * 8) /* without the entries of the chain */

void perf_foreign__begin(struct output *out)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = 1,
					.sample_type = SAMPLE_TYPE,
					.sample_id_all = 1,
					.exclude_guest = 1,
					.mmap = 1,
					.mmap2 = 1,
					.comm = 1,
					.task = 1,
					.use_clockid = 1,
					.clockid = CLOCK_MONOTONIC };
	struct perf_event_header h = { .type = PERF_HEADER_ATTR,
				       .size = (uint16_t)(sizeof(h) + sizeof(attr) + 8) };

	output__write(out, &h, sizeof(h));
	output__write(out, &attr, sizeof(attr));
	output__u64(out, 1); /* its id; records need not have it */
}

static void perfforeign_write_header(struct output *out, uint32_t type, uint16_t misc, size_t sz)
{
	struct perf_event_header h = { .type = type, .misc = misc, .size = (uint16_t)sz };

	output__write(out, &h, sizeof(h));
}

static void perfforeign_write_trailer(struct output *out, const struct record *r)
{
	output__u32(out, r->tgid);
	output__u32(out, r->tid);
	output__u64(out, r->time_ns);
	output__u32(out, r->cpu);
	output__u32(out, 0);
}

/* Writes the name, padded to a multiple of 8 bytes with at least one zero. */
static void perfforeign_write_name(struct output *out, const char *name, size_t sz)
{
	output__write(out, name, sz);
	output__zeros(out, 8 - sz % 8);
}

static size_t perfforeign_name_room(size_t sz)
{
	return sz + 8 - sz % 8;
}

/* ---- writers of the record types ---- */

static bool perfforeign_write_mmap(struct output *out, const struct record *r)
{
	const struct record_mmap *m = &r->mmap;
	size_t name_sz = strnlen(m->path, NAME_MAX_SZ - 1);
	bool has_id = m->build_id.sz > 0;
	uint16_t misc = (r->tgid == UINT32_MAX ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) |
			(has_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);

	perfforeign_write_header(out, PERF_RECORD_MMAP2, misc,
				 RECORD_HEADER_SZ + MMAP2_SZ + perfforeign_name_room(name_sz) +
					 TRAILER_SZ);
	output__u32(out, r->tgid);
	output__u32(out, r->tid);
	output__u64(out, m->start);
	output__u64(out, m->len);
	output__u64(out, m->pgoff);
	output__u32(out, has_id ? m->build_id.sz : m->maj);
	if (has_id) {
		output__write(out, m->build_id.bytes, ID_FIELD_SZ);
	} else {
		output__u32(out, m->min);
		output__u64(out, m->ino);
		output__u64(out, 0);
	}
	output__u32(out, m->prot);
	output__u32(out, MAP_PRIVATE_FLAG);
	perfforeign_write_name(out, m->path, name_sz);
	perfforeign_write_trailer(out, r);
	return true;
}

/* Writes a COMM record. Converts a command line to the name that the kernel would set: the base
 * name of the program, cut to 15 bytes. */
static bool perfforeign_write_comm(struct output *out, const struct record *r)
{
	const char *name = r->comm.name;
	size_t sz = strcspn(name, " ");

	for (size_t i = 0; i < sz; i++) {
		if (name[i] != '/' || i + 1 == sz)
			continue;
		name += i + 1;
		sz -= i + 1;
		i = (size_t)-1;
	}
	if (sz > COMM_SZ - 1)
		sz = COMM_SZ - 1;
	perfforeign_write_header(out, PERF_RECORD_COMM,
				 r->comm.exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
				 RECORD_HEADER_SZ + 8 + perfforeign_name_room(sz) + TRAILER_SZ);
	output__u32(out, r->tgid);
	output__u32(out, r->tid);
	perfforeign_write_name(out, name, sz);
	perfforeign_write_trailer(out, r);
	return true;
}

static bool perfforeign_write_task(struct output *out, const struct record *r, uint32_t type)
{
	bool fork = type == PERF_RECORD_FORK;

	perfforeign_write_header(out, type, 0, RECORD_HEADER_SZ + 24 + TRAILER_SZ);
	output__u32(out, r->tgid);
	output__u32(out, fork ? r->fork.parent_tgid : r->tgid);
	output__u32(out, r->tid);
	output__u32(out, fork ? r->fork.parent_tid : r->tid);
	output__u64(out, r->time_ns);
	perfforeign_write_trailer(out, r);
	return true;
}

static bool perfforeign_write_fork(struct output *out, const struct record *r)
{
	return perfforeign_write_task(out, r, PERF_RECORD_FORK);
}

static bool perfforeign_write_exit(struct output *out, const struct record *r)
{
	return perfforeign_write_task(out, r, PERF_RECORD_EXIT);
}

static bool perfforeign_write_lost(struct output *out, const struct record *r)
{
	perfforeign_write_header(out, PERF_RECORD_LOST, 0, RECORD_HEADER_SZ + 16 + TRAILER_SZ);
	output__u64(out, 1);
	output__u64(out, r->lost.cnt);
	perfforeign_write_trailer(out, r);
	return true;
}

static bool perfforeign_write_process(struct output *out, const struct item *item)
{
	static bool (*const writers[])(struct output *, const struct record *) = {
		[RECORD_MMAP] = perfforeign_write_mmap, [RECORD_COMM] = perfforeign_write_comm,
		[RECORD_FORK] = perfforeign_write_fork, [RECORD_EXIT] = perfforeign_write_exit,
		[RECORD_LOST] = perfforeign_write_lost,
	};
	size_t type = item->record.type;

	return type < sizeof(writers) / sizeof(*writers) && writers[type] &&
	       writers[type](out, &item->record);
}

static bool perfforeign_write_sample(struct output *out, const struct item *item)
{
	const struct record *r = &item->record;
	const struct item_sample *s = &item->sample;
	size_t cnt = s->chain_cnt, room = (PERF_RECORD_MAX - SAMPLE_SZ) / 8;

	if (cnt > room)
		cnt = room;
	perfforeign_write_header(out, PERF_RECORD_SAMPLE,
				 s->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
				 SAMPLE_SZ + cnt * 8);
	output__u64(out, s->ip);
	output__u32(out, r->tgid);
	output__u32(out, r->tid);
	output__u64(out, r->time_ns);
	output__u32(out, r->cpu);
	output__u32(out, 0);
	output__u64(out, s->period);
	output__u64(out, cnt);
	output__write(out, s->chain, cnt * 8);
	return true;
}

static bool perfforeign_write_nothing(struct output *out, const struct item *item)
{
	(void)out;
	(void)item;
	return false;
}

bool perf_foreign__write(struct output *out, const struct item *item)
{
	static bool (*const writers[ITEM_KIND_CNT])(struct output *, const struct item *) = {
		[ITEM_OTHER] = perfforeign_write_nothing,
		[ITEM_SAMPLE] = perfforeign_write_sample,
		[ITEM_PROCESS] = perfforeign_write_process,
		[ITEM_OVERLAY] = perfforeign_write_nothing,
		[ITEM_CHAIN] = perfforeign_write_nothing,
	};

	return writers[item->kind](out, item);
}
