// SPDX-License-Identifier: GPL-2.0-or-later
/* Captures of sysprof, converted to perf.data and back. */
#include "lib/test.h"

#include <byteswap.h>
#include <stdlib.h>

#include "formats/formats.h"
#include "formats/itemstack.h"
#include "formats/sysprof.h"
#include "lib/streams.h"

#define GOLDEN "tests/golden/sysprof.syscap"
#define STACKS "tests/golden/sysprof-with-type18.syscap"

/* Reads as `from`, writes as `to`; samples with stacks get the chain marker, 7, 8. */
static struct bytes convert(const struct bytes *b, enum format from, enum format to)
{
	static const uint64_t chain[] = { CONTEXT_USER, 7, 8 };
	int out_fd = memfd_create("out", MFD_CLOEXEC);
	struct stream_writer_options o = { to, NULL, output__new(out_fd) };
	struct stream_in s;
	struct item item;
	struct raw raw;
	struct stream_writer *w;
	struct bytes out;

	stream_in__open(&s, from, b->data, b->sz);
	o.reader = s.reader;
	w = stream_writer__new(&o);
	w->start_ns = 1000;
	stream_writer__begin(w);
	while (stream_reader__next(s.reader, &raw)) {
		stream_reader__parse(s.reader, &raw, &item);
		if (item.kind != ITEM_SAMPLE || !item.sample.has_stack) {
			stream_writer__pass(w, s.reader, &raw);
			continue;
		}
		item.sample.chain = chain;
		item.sample.chain_cnt = 3;
		stream_writer__unwound(w, s.reader, &raw, &item);
	}
	assert_false(s.reader->fault.set);
	stream_writer__end(w);
	output__flush(o.out);
	out = bytes__of_fd(out_fd);
	stream_writer__free(w);
	output__free(o.out);
	stream_in__close(&s);
	close(out_fd);
	return out;
}

static void passes_every_frame(void **state)
{
	struct bytes b = bytes__of_file(GOLDEN);
	struct bytes again = convert(&b, FORMAT_SYSPROF, FORMAT_SYSPROF);

	(void)state;
	assert_int_equal(again.sz, b.sz);
	assert_memory_equal(again.data, b.data, b.sz);
	free(b.data);
	free(again.data);
}

/* Finds the nth frame of that type, or of any with type 0. */
static bool find(struct stream_reader *r, uint8_t type, struct raw *raw)
{
	while (stream_reader__next(r, raw))
		if (raw->data[SYSPROF_AT_TYPE] == type)
			return true;
	return false;
}

static void reads_what_sysprof_wrote(void **state)
{
	struct bytes b = bytes__of_file(GOLDEN);
	struct stream_in s;
	struct item item;
	struct raw raw;

	(void)state;
	stream_in__open(&s, FORMAT_SYSPROF, b.data, b.sz);
	assert_true(find(s.reader, SYSPROF_PROCESS, &raw));
	stream_reader__parse(s.reader, &raw, &item);
	assert_int_equal(item.kind, ITEM_PROCESS);
	assert_int_equal(item.record.type, RECORD_COMM);
	assert_int_equal(item.record.tgid, 42);
	assert_int_equal(item.record.time_ns, 1000);
	assert_string_equal(item.record.comm.name, "demo --x");
	assert_true(find(s.reader, SYSPROF_MAP, &raw));
	stream_reader__parse(s.reader, &raw, &item);
	assert_int_equal(item.record.type, RECORD_MMAP);
	assert_int_equal(item.record.mmap.start, 0x400000);
	assert_int_equal(item.record.mmap.len, 0x1000);
	assert_int_equal(item.record.mmap.ino, 7);
	assert_string_equal(item.record.mmap.path, "/bin/d");
	assert_int_equal(item.record.mmap.build_id.sz, 0);
	assert_true(find(s.reader, SYSPROF_OVERLAY, &raw));
	stream_reader__parse(s.reader, &raw, &item);
	assert_int_equal(item.kind, ITEM_OVERLAY);
	assert_int_equal(item.overlay.layer, 3);
	assert_string_equal(item.overlay.src, "/src");
	assert_string_equal(item.overlay.dst, "/");
	assert_true(find(s.reader, SYSPROF_SAMPLE, &raw));
	stream_reader__parse(s.reader, &raw, &item);
	assert_int_equal(item.kind, ITEM_SAMPLE);
	assert_false(item.sample.has_stack);
	assert_int_equal(item.record.tid, 43);
	assert_int_equal(item.record.cpu, 1);
	assert_int_equal(item.sample.chain_cnt, 3);
	assert_int_equal(item.sample.chain[0], CONTEXT_USER);
	assert_int_equal(item.sample.ip, 0x400123);
	assert_true(find(s.reader, SYSPROF_FORK, &raw));
	stream_reader__parse(s.reader, &raw, &item);
	assert_int_equal(item.record.type, RECORD_FORK);
	assert_int_equal(item.record.fork.parent_tgid, 42);
	assert_int_equal(item.record.tgid, 50);
	stream_in__close(&s);
	free(b.data);
}

static void stacks_become_samples(void **state)
{
	struct bytes b = bytes__of_file(STACKS);
	struct bytes again = convert(&b, FORMAT_SYSPROF, FORMAT_SYSPROF);
	struct stream_in was, is;
	struct item item;
	struct raw x, y;
	size_t frames = 0, changed = 0;

	(void)state;
	stream_in__open(&was, FORMAT_SYSPROF, b.data, b.sz);
	stream_in__open(&is, FORMAT_SYSPROF, again.data, again.sz);
	while (stream_reader__next(was.reader, &x)) {
		assert_true(stream_reader__next(is.reader, &y));
		frames++;
		if (x.data[SYSPROF_AT_TYPE] != SYSPROF_STACK_USER) {
			assert_int_equal(x.sz, y.sz);
			assert_memory_equal(x.data, y.data, x.sz);
			continue;
		}
		changed++;
		assert_int_equal(y.data[SYSPROF_AT_TYPE], SYSPROF_SAMPLE);
		assert_memory_equal(y.data + 2, x.data + 2, SYSPROF_AT_TYPE - 2);
		stream_reader__parse(was.reader, &x, &item);
		assert_true(item.sample.has_stack);
		assert_int_equal(item.sample.stack.sz, 16);
		assert_int_equal(item.sample.stack.bytes[15], 0x0f);
		assert_int_equal(item.sample.stack.cnt, 3);
		assert_int_equal(item.sample.stack.regs[2], 0x401234);
		stream_reader__parse(is.reader, &y, &item);
		assert_int_equal(item.record.tid, 43);
		assert_int_equal(item.sample.chain_cnt, 3);
		assert_int_equal(item.sample.chain[1], 7);
	}
	assert_false(stream_reader__next(is.reader, &y));
	assert_int_equal(changed, 1);
	assert_true(frames > 10);
	stream_in__close(&was);
	stream_in__close(&is);
	free(b.data);
	free(again.data);
}

/* ---- the other byte order ---- */

static void put(uint8_t *at, uint64_t v, size_t sz)
{
	for (size_t i = 0; i < sz; i++)
		at[i] = (uint8_t)(v >> 8 * (sz - 1 - i));
}

static void frame_head(uint8_t *f, uint16_t sz, uint8_t type)
{
	put(f, sz, 2);
	put(f + 2, 1, 2);
	put(f + 4, 42, 4);
	put(f + 8, 5000, 8);
	f[16] = type;
}

static void big_endian_stays_big_endian(void **state)
{
	uint8_t data[SYSPROF_HEADER_SZ + 88] = SYSPROF_MAGIC, *f = data + SYSPROF_HEADER_SZ;
	struct bytes b = { data, sizeof(data) }, again;
	struct perfregs_order order = { 0 };
	uint64_t regs[MACHINE_REG_MAX];
	struct sample sample;
	struct stream_in s;
	struct item item;
	struct raw raw;

	(void)state;
	data[4] = 1;
	frame_head(f, 88, SYSPROF_STACK_USER);
	put(f + 24, 16, 8);
	put(f + 32, 43, 4);
	put(f + 56, 3, 4);
	put(f + 60, 2, 4);
	put(f + 80, 0x1234, 8);
	stream_in__open(&s, FORMAT_SYSPROF, data, sizeof(data));
	assert_true(stream_reader__next(s.reader, &raw));
	stream_reader__parse(s.reader, &raw, &item);
	assert_int_equal(item.kind, ITEM_SAMPLE);
	assert_int_equal(item.record.time_ns, 5000);
	assert_int_equal(item.sample.stack.sz, 16);
	assert_int_equal(item.sample.stack.regs[2], 0x1234);
	assert_false(
		item_stack__sample(&item.sample.stack, &order, regs, &sample)); /* without a walk */
	stream_in__close(&s);

	again = convert(&b, FORMAT_SYSPROF, FORMAT_SYSPROF);
	assert_int_equal(again.sz, SYSPROF_HEADER_SZ + SYSPROF_SAMPLE_SZ + 3 * 8);
	assert_int_equal(again.data[SYSPROF_HEADER_SZ + 1], SYSPROF_SAMPLE_SZ + 3 * 8);
	assert_int_equal(again.data[SYSPROF_HEADER_SZ + 25], 3);
	assert_int_equal(again.data[SYSPROF_HEADER_SZ + 31], 43);
	assert_int_equal(again.data[SYSPROF_HEADER_SZ + 32], 0xff); /* the marker's first byte */
	assert_int_equal(again.data[SYSPROF_HEADER_SZ + 55], 8);
	free(again.data);
}

/* ---- to perf.data and back ---- */

/* Compares what both formats can express. */
static void check_same(const struct item *a, const struct item *b)
{
	assert_int_equal(b->kind, a->kind);
	assert_int_equal(b->record.time_ns, a->record.time_ns);
	assert_int_equal(b->record.tgid, a->record.tgid);
	assert_int_equal(b->record.tid, a->record.tid);
	if (a->kind == ITEM_SAMPLE) {
		assert_int_equal(b->sample.chain_cnt, a->sample.chain_cnt);
		assert_memory_equal(b->sample.chain, a->sample.chain, a->sample.chain_cnt * 8);
		return;
	}
	assert_int_equal(b->record.type, a->record.type);
	if (a->record.type == RECORD_MMAP) {
		assert_int_equal(b->record.mmap.start, a->record.mmap.start);
		assert_int_equal(b->record.mmap.len, a->record.mmap.len);
		assert_int_equal(b->record.mmap.pgoff, a->record.mmap.pgoff);
		assert_int_equal(b->record.mmap.ino, a->record.mmap.ino);
		assert_string_equal(b->record.mmap.path, a->record.mmap.path);
	}
	if (a->record.type == RECORD_FORK)
		assert_int_equal(b->record.fork.parent_tid, a->record.fork.parent_tid);
}

static bool next_kind(struct stream_in *s, struct item *item)
{
	struct raw raw;

	while (stream_reader__next(s->reader, &raw)) {
		stream_reader__parse(s->reader, &raw, item);
		if (item->kind == ITEM_SAMPLE || item->kind == ITEM_PROCESS)
			return true;
	}
	return false;
}

static void check_equal(const struct bytes *a, enum format fa, const struct bytes *b,
			enum format fb, size_t expected)
{
	struct stream_in x, y;
	struct item item_x, item_y;
	size_t cnt = 0;

	stream_in__open(&x, fa, a->data, a->sz);
	stream_in__open(&y, fb, b->data, b->sz);
	for (; next_kind(&x, &item_x); cnt++) {
		assert_true(next_kind(&y, &item_y));
		check_same(&item_x, &item_y);
	}
	assert_false(next_kind(&y, &item_y));
	assert_int_equal(cnt, expected);
	stream_in__close(&x);
	stream_in__close(&y);
}

static void captures_survive_perf_and_back(void **state)
{
	struct bytes b = bytes__of_file(GOLDEN);
	struct bytes perf = convert(&b, FORMAT_SYSPROF, FORMAT_PERF);
	struct bytes back = convert(&perf, FORMAT_PERF, FORMAT_SYSPROF);

	(void)state;
	check_equal(&b, FORMAT_SYSPROF, &perf, FORMAT_PERF,
		    5); /* process, map, sample, fork, exit */
	check_equal(&perf, FORMAT_PERF, &back, FORMAT_SYSPROF, 5);
	free(b.data);
	free(perf.data);
	free(back.data);
}

static void recordings_survive_sysprof_and_back(void **state)
{
	struct bytes b = bytes__of_file("tests/golden/pipe.data");
	struct bytes cap = convert(&b, FORMAT_PERF, FORMAT_SYSPROF);
	struct bytes perf = convert(&cap, FORMAT_SYSPROF, FORMAT_PERF);

	(void)state;
	check_equal(&cap, FORMAT_SYSPROF, &perf, FORMAT_PERF,
		    /* samples, exec's name and fork's, end, executable mappings */ 6 + 2 + 1 + 9);
	free(b.data);
	free(cap.data);
	free(perf.data);
}

/* ---- damaged files ---- */

static void a_capture_may_end_at_every_byte(void **state)
{
	struct bytes b = bytes__of_file(STACKS);
	size_t last = 0;

	(void)state;
	for (size_t sz = 0; sz < b.sz; sz++) {
		struct stream_in s;
		struct raw raw;
		size_t cnt = 0, at = SYSPROF_HEADER_SZ;

		stream_in__open(&s, FORMAT_SYSPROF, b.data, sz);
		for (; stream_reader__next(s.reader, &raw); cnt++)
			at += raw.sz;
		assert_true(cnt >= last);
		assert_int_equal(s.reader->fault.set, at != sz);
		last = cnt;
		stream_in__close(&s);
	}
	free(b.data);
}

static void damaged_frames_pass(void **state)
{
	struct bytes b = bytes__of_file(GOLDEN);
	struct stream_in s;
	struct item item;
	struct raw raw;

	(void)state;
	/* For any contents of a frame. */
	for (size_t at = SYSPROF_HEADER_SZ; at + 40 < b.sz;) {
		uint16_t sz;

		memcpy(&sz, b.data + at, sizeof(sz));
		memset(b.data + at + 24, 0xff, sz - 24u);
		at += sz;
	}
	stream_in__open(&s, FORMAT_SYSPROF, b.data, b.sz);
	while (stream_reader__next(s.reader, &raw))
		stream_reader__parse(s.reader, &raw, &item);
	assert_false(s.reader->fault.set);
	stream_in__close(&s);
	free(b.data);
}

RUN_TESTS(cmocka_unit_test(passes_every_frame), cmocka_unit_test(reads_what_sysprof_wrote),
	  cmocka_unit_test(stacks_become_samples), cmocka_unit_test(big_endian_stays_big_endian),
	  cmocka_unit_test(captures_survive_perf_and_back),
	  cmocka_unit_test(recordings_survive_sysprof_and_back),
	  cmocka_unit_test(a_capture_may_end_at_every_byte), cmocka_unit_test(damaged_frames_pass))
