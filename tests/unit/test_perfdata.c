// SPDX-License-Identifier: GPL-2.0-or-later
/* perf.data files of perf, compared with perf's own output (perf script -D). */
#include "lib/test.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/formats.h"
#include "formats/itemstack.h"
#include "formats/perfdata.h"
#include "lib/streams.h"

#define FILE_DATA "tests/golden/file.data"

struct counts {
	size_t records, samples, stacks, mmaps, comms, exits, rounds;
	struct item first; /* sample */
	uint8_t stack[1024];
};

static void count(struct counts *c, struct stream_reader *r)
{
	struct item item;
	struct raw raw;

	*c = (struct counts){ 0 };
	while (stream_reader__next(r, &raw)) {
		stream_reader__parse(r, &raw, &item);
		c->records++;
		c->rounds += raw.round;
		if (item.kind == ITEM_SAMPLE) {
			assert_int_equal(item.record.time_ns, stream_reader__time(r, &raw));
			if (c->samples++ == 0) {
				c->first = item;
				memcpy(c->stack, item.sample.stack.bytes, item.sample.stack.sz);
			}
			c->stacks += item.sample.has_stack;
		}
		c->mmaps += item.kind == ITEM_PROCESS && item.record.type == RECORD_MMAP;
		c->comms += item.kind == ITEM_PROCESS && item.record.type == RECORD_COMM;
		c->exits += item.kind == ITEM_PROCESS && item.record.type == RECORD_EXIT;
	}
}

static void count_file(struct counts *c, const char *path)
{
	struct bytes b = bytes__of_file(path);
	struct stream_in s;

	stream_in__open(&s, FORMAT_PERF, b.data, b.sz);
	count(c, s.reader);
	assert_false(s.reader->fault.set);
	stream_in__close(&s);
	free(b.data);
}

static void reads_what_perf_wrote(void **state)
{
	struct counts c;

	(void)state;
	count_file(&c, FILE_DATA);
	assert_int_equal(c.samples, 6);
	assert_int_equal(c.stacks, 6);
	assert_int_equal(c.mmaps, 53);
	assert_int_equal(c.comms, 2);
	assert_int_equal(c.exits, 1);
	assert_int_equal(c.rounds, 2);
	assert_int_equal(c.first.record.tgid, 17457);
	assert_int_equal(c.first.record.tid, 17457);
	assert_int_equal(c.first.record.time_ns, 13463105933105);
	assert_int_equal(c.first.sample.ip, 0x7f6e3d92e7fe);
	assert_int_equal(c.first.sample.period, 3333333);
	assert_int_equal(c.first.sample.chain_cnt, 0);
	assert_false(c.first.sample.kernel);
	assert_int_equal(c.first.sample.stack.sz, 1024);
	assert_int_equal(c.first.sample.stack.wanted, 1024);
}

static void registers_go_by_their_dwarf_numbers(void **state)
{
	struct perfregs_order order = { 0 };
	uint64_t regs[MACHINE_REG_MAX];
	struct sample s;
	struct counts c;

	(void)state;
	count_file(&c, FILE_DATA);
	assert_true(item_stack__sample(&c.first.sample.stack, &order, regs, &s));
	assert_ptr_equal(s.machine, &machine_x86_64);
	assert_int_equal(s.valid, (1 << 17) - 1);
	assert_int_equal(regs[0], 0xfffffffffffc2d80); /* rax */
	assert_int_equal(regs[1], 0x5e);	       /* rdx */
	assert_int_equal(regs[2], 0x00007f6e3d970708); /* rcx */
	assert_int_equal(regs[3], 0x0000562619d567c8); /* rbx */
	assert_int_equal(regs[5], 0x0000562619d56840); /* rdi */
	assert_int_equal(regs[7], 0x00007ffd04819b30); /* rsp */
	assert_int_equal(regs[8], 0x65);
	assert_int_equal(regs[13], 0x0000562619d4fa98);
	assert_int_equal(regs[15], 0x5e);
	assert_int_equal(regs[16], 0x7f6e3d92e7fe); /* rip */
	assert_int_equal(s.stack.addr, regs[7]);
	assert_true(s.truncated);
	assert_false(s.compat);
	c.first.sample.stack.regs[8] = UINT64_MAX; /* as after an NMI */
	assert_false(item_stack__sample(&c.first.sample.stack, &order, regs, &s));
}

static void registers_of_aarch64_are_read(void **state)
{
	struct item_stack s = { .abi = 2, .mask = 0x1ffffffff, .cnt = 33 };
	struct perfregs_order order = { 0 };
	uint64_t regs[MACHINE_REG_MAX];
	struct sample sample;

	(void)state;
	for (unsigned i = 0; i < 33; i++)
		s.regs[i] = 0x1000 + i;
	assert_true(item_stack__sample(&s, &order, regs, &sample));
	assert_ptr_equal(sample.machine, &machine_aarch64);
	for (unsigned i = 0; i < 33; i++)
		assert_int_equal(regs[i], 0x1000 + i);
	s.foreign = true;
	assert_false(item_stack__sample(&s, &order, regs, &sample));
}

static void reads_streams_and_compressed_files(void **state)
{
	struct counts c;

	(void)state;
	count_file(&c, "tests/golden/pipe.data");
	assert_int_equal(c.samples, 6);
	assert_int_equal(c.mmaps, 52);
	assert_int_equal(c.first.record.time_ns, 13466498317056);
	assert_int_equal(c.first.sample.ip, 0x7f75a161bc49);
	count_file(&c, "tests/golden/zstd.data");
	assert_int_equal(c.samples, 7);
	assert_int_equal(c.stacks, 7);
	assert_int_equal(c.mmaps, 53);
	assert_int_equal(c.exits, 1);
	assert_int_equal(c.first.record.time_ns, 13465422970613);
	assert_int_equal(c.first.sample.ip, 0x7f7acd085a9c);
}

static void reads_what_other_versions_wrote(void **state)
{
	static const struct {
		const char *path;
		size_t samples;
	} goldens[] = {
		{ "tests/golden/perf-5.10-pipe.data", 12 },
		{ "tests/golden/perf-6.12.data", 8 },
		{ "tests/golden/perf-7.3-pipe.data", 17 },
		{ "tests/golden/perf-7.3-z.data", 7 },
	};
	struct counts c;

	(void)state;
	for (size_t i = 0; i < sizeof(goldens) / sizeof(*goldens); i++) {
		count_file(&c, goldens[i].path);
		assert_int_equal(c.samples, goldens[i].samples);
		assert_int_equal(c.stacks, goldens[i].samples);
		assert_int_equal(c.comms, 2);
		assert_int_equal(c.exits, 1);
	}
}

static void samples_belong_to_their_events(void **state)
{
	struct bytes b = bytes__of_file("tests/golden/two-events.data");
	struct stream_in s;
	struct item item;
	struct raw raw;
	size_t clock = 0, faults = 0;

	(void)state;
	stream_in__open(&s, FORMAT_PERF, b.data, b.sz);
	while (stream_reader__next(s.reader, &raw)) {
		stream_reader__parse(s.reader, &raw, &item);
		if (item.kind != ITEM_SAMPLE)
			continue;
		if (perf_reader__attr((struct perf_reader *)s.reader, &raw)->attr.config ==
		    PERF_COUNT_SW_CPU_CLOCK)
			clock++;
		else
			faults++;
		assert_int_equal(item.sample.stack.wanted, 512);
		assert_int_equal(item.sample.kernel, faults + clock <= 2 && clock == 0);
	}
	assert_int_equal(clock, 6);
	assert_int_equal(faults, 5);
	stream_in__close(&s);
	free(b.data);
}

/* ---- written again ---- */

/* Samples get the chain 1, 2, marker, 3. */
static struct bytes write_again(const struct bytes *b)
{
	static const uint64_t chain[] = { 1, 2, CONTEXT_USER, 3 };
	int out_fd = memfd_create("out", MFD_CLOEXEC);
	struct stream_writer_options o = { FORMAT_PERF, NULL, output__new(out_fd) };
	struct stream_in s;
	struct stream_writer *w;
	struct item item;
	struct raw raw;
	struct bytes out;

	stream_in__open(&s, FORMAT_PERF, b->data, b->sz);
	o.reader = s.reader;
	w = stream_writer__new(&o);
	stream_writer__begin(w);
	while (stream_reader__next(s.reader, &raw)) {
		stream_reader__parse(s.reader, &raw, &item);
		if (item.kind != ITEM_SAMPLE) {
			stream_writer__pass(w, s.reader, &raw);
			continue;
		}
		item.sample.chain = chain;
		item.sample.chain_cnt = 4;
		stream_writer__unwound(w, s.reader, &raw, &item);
	}
	stream_writer__end(w);
	output__flush(o.out);
	assert_int_equal(output__err(o.out), 0);
	out = bytes__of_fd(out_fd);
	stream_writer__free(w);
	output__free(o.out);
	stream_in__close(&s);
	close(out_fd);
	return out;
}

static void check_sample(const struct item *was, const struct item *is)
{
	assert_int_equal(is->record.tgid, was->record.tgid);
	assert_int_equal(is->record.tid, was->record.tid);
	assert_int_equal(is->record.time_ns, was->record.time_ns);
	assert_int_equal(is->sample.ip, was->sample.ip);
	assert_int_equal(is->sample.period, was->sample.period);
	assert_false(is->sample.has_stack);
	assert_int_equal(is->sample.chain_cnt, 4);
	assert_int_equal(is->sample.chain[0], 1);
	assert_int_equal(is->sample.chain[2], CONTEXT_USER);
	assert_int_equal(is->sample.chain[3], 3);
}

/* Returns whether that record is changed on purpose. */
static bool is_changed(const struct raw *raw)
{
	uint32_t type = raw__type(raw);

	return type == PERF_HEADER_ATTR || type == PERF_HEADER_FEATURE;
}

static void check_written_again(const char *path)
{
	struct bytes b = bytes__of_file(path), again = write_again(&b);
	struct stream_in was, is;
	struct item item_was, item_is;
	struct raw raw_was, raw_is;

	stream_in__open(&was, FORMAT_PERF, b.data, b.sz);
	stream_in__open(&is, FORMAT_PERF, again.data, again.sz);
	while (stream_reader__next(was.reader, &raw_was)) {
		uint64_t id = 0;

		stream_reader__parse(was.reader, &raw_was, &item_was);
		if (raw__type(&raw_was) == PERF_HEADER_FEATURE)
			memcpy(&id, raw_was.data + 8, sizeof(id));
		if (id == PERF_FEAT_COMPRESSED)
			continue;
		assert_true(stream_reader__next(is.reader, &raw_is));
		stream_reader__parse(is.reader, &raw_is, &item_is);
		if (item_was.kind == ITEM_SAMPLE) {
			check_sample(&item_was, &item_is);
			continue;
		}
		assert_int_equal(raw_is.sz, raw_was.sz);
		if (!is_changed(&raw_was))
			assert_memory_equal(raw_is.data, raw_was.data, raw_was.sz);
	}
	assert_false(stream_reader__next(is.reader, &raw_is));
	assert_false(is.reader->fault.set);
	stream_in__close(&was);
	stream_in__close(&is);
	free(b.data);
	free(again.data);
}

static void only_samples_change(void **state)
{
	(void)state;
	check_written_again(FILE_DATA);
	check_written_again("tests/golden/two-events.data");
	check_written_again("tests/golden/zstd.data");
	check_written_again("tests/golden/pipe.data");
	check_written_again("tests/golden/perf-5.10-pipe.data");
	check_written_again("tests/golden/perf-6.12.data");
	check_written_again("tests/golden/perf-7.3-pipe.data");
	check_written_again("tests/golden/perf-7.3-z.data");
}

static void features_stay(void **state)
{
	struct bytes b = bytes__of_file("tests/golden/zstd.data"), again = write_again(&b);
	struct stream_in was, is;
	struct perf_reader *x, *y;

	(void)state;
	stream_in__open(&was, FORMAT_PERF, b.data, b.sz);
	stream_in__open(&is, FORMAT_PERF, again.data, again.sz);
	x = (struct perf_reader *)was.reader;
	y = (struct perf_reader *)is.reader;
	assert_non_null(x->features[PERF_FEAT_COMPRESSED].data);
	assert_null(y->features[PERF_FEAT_COMPRESSED].data);
	for (unsigned id = 0; id < PERF_FEATURES; id++) {
		if (id == PERF_FEAT_COMPRESSED)
			continue;
		assert_int_equal(y->features[id].sz, x->features[id].sz);
		if (x->features[id].data && id != PERF_FEAT_EVENT_DESC)
			assert_memory_equal(y->features[id].data, x->features[id].data,
					    x->features[id].sz);
	}
	assert_int_equal(y->header.attr_sz, x->header.attr_sz);
	assert_int_equal(y->attrs.cnt, x->attrs.cnt);
	assert_int_equal(y->attrs.id_cnt, x->attrs.id_cnt);
	assert_int_equal(y->attrs.v[0].attr.sample_type & PERF_SAMPLE_STACK_USER, 0);
	assert_int_equal(y->attrs.v[0].attr.sample_stack_user, 0);
	assert_false(y->attrs.v[0].attr.exclude_callchain_user);
	/* The description of the events repeats the table of events. */
	assert_memory_equal(y->features[PERF_FEAT_EVENT_DESC].data + 8, y->attrs.v[0].bytes,
			    y->attrs.v[0].sz);
	stream_in__close(&was);
	stream_in__close(&is);
	free(b.data);
	free(again.data);
}

/* ---- damaged files ---- */

static void check_cut(const struct bytes *whole, size_t sz, size_t *samples)
{
	struct counts c;
	struct stream_in s;

	stream_in__open(&s, FORMAT_PERF, whole->data, sz);
	count(&c, s.reader);
	assert_true(s.reader->fault.set);
	assert_string_not_equal(s.reader->fault.text, "");
	assert_true(c.samples >= *samples); /* more bytes, more samples */
	*samples = c.samples;
	stream_in__close(&s);
}

static void a_file_may_end_at_every_byte(void **state)
{
	struct bytes b = bytes__of_file(FILE_DATA), z = bytes__of_file("tests/golden/zstd.data");
	size_t samples = 0;

	(void)state;
	for (size_t sz = 0; sz < b.sz; sz++)
		check_cut(&b, sz, &samples);
	assert_int_equal(samples, 6);
	samples = 0;
	for (size_t sz = 0; sz < z.sz; sz++)
		check_cut(&z, sz, &samples);
	assert_int_equal(samples, 7);
	free(b.data);
	free(z.data);
}

/* A stream has no end mark: it may end after any record. */
static void a_stream_may_end_after_every_record(void **state)
{
	struct bytes b = bytes__of_file("tests/golden/pipe.data");
	size_t clean = 0, last = 0;
	struct counts c;
	struct stream_in s;

	(void)state;
	for (size_t sz = 0; sz < b.sz; sz++) {
		stream_in__open(&s, FORMAT_PERF, b.data, sz);
		count(&c, s.reader);
		clean += !s.reader->fault.set;
		assert_true(c.records >= last);
		last = c.records;
		stream_in__close(&s);
	}
	count_file(&c, "tests/golden/pipe.data");
	assert_int_equal(clean, c.records); /* before each record */
	free(b.data);
}

static void expect_fault(struct bytes b, const char *what)
{
	struct counts c;
	struct stream_in s;

	stream_in__open(&s, FORMAT_PERF, b.data, b.sz);
	count(&c, s.reader);
	assert_true(s.reader->fault.set);
	if (!strstr(s.reader->fault.text, what))
		fail_msg("'%s' has no '%s'", s.reader->fault.text, what);
	stream_in__close(&s);
}

static void errors_are_described(void **state)
{
	struct bytes b = bytes__of_file(FILE_DATA);
	uint64_t data_off, data_sz = 0;
	uint8_t byte;

	(void)state;
	memcpy(&data_off, b.data + 40, sizeof(data_off));
	byte = b.data[data_off + 6];
	b.data[data_off + 6] = 7;
	b.data[data_off + 7] = 0;
	expect_fault(b, "a record of 7 bytes");
	b.data[data_off + 6] = byte;
	memcpy(b.data + 48, &data_sz, sizeof(data_sz));
	expect_fault(b, "record"); /* features, read as records */
	for (size_t i = 0; i < 4; i++) {
		byte = b.data[i];
		b.data[i] = b.data[7 - i];
		b.data[7 - i] = byte;
	}
	expect_fault(b, "big-endian");
	b.data[3] ^= 1;
	expect_fault(b, "is not a perf.data file");
	free(b.data);
}

static void events_of_every_size_are_read(void **state)
{
	static const size_t sizes[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 256 };
	uint8_t bytes[256] = { 0 };
	struct perf_event_attr a = { .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER |
						    PERF_SAMPLE_STACK_USER,
				     .exclude_callchain_user = 1,
				     .sample_id_all = 1 };
	struct perf_event_attr is;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct perf_attrs attrs = { 0 };
		struct perf_attr_source source = { bytes, sizes[i], NULL, 0 };
		size_t known = sizes[i] < sizeof(a) ? sizes[i] : sizeof(a);

		memset(bytes, 0xee, sizeof(bytes));
		a.size = (uint32_t)sizes[i];
		memcpy(bytes, &a, known);
		assert_int_equal(perf_attrs__add(&attrs, &source), 0);
		assert_true(attrs.v[0].converts);
		perf_attr__rewrite(attrs.v[0].bytes, attrs.v[0].sz);
		memset(&is, 0, sizeof(is));
		memcpy(&is, attrs.v[0].bytes, known);
		assert_int_equal(is.sample_type, PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN);
		assert_int_equal(is.exclude_callchain_user, 0);
		assert_int_equal(is.sample_id_all, 1);
		perf_attrs__free(&attrs);
		source.sz = sizes[i] - 8;
		assert_int_equal(perf_attrs__add(&attrs, &source), -EINVAL);
		perf_attrs__free(&attrs);
	}
}

RUN_TESTS(cmocka_unit_test(reads_what_perf_wrote),
	  cmocka_unit_test(registers_go_by_their_dwarf_numbers),
	  cmocka_unit_test(registers_of_aarch64_are_read),
	  cmocka_unit_test(reads_streams_and_compressed_files),
	  cmocka_unit_test(reads_what_other_versions_wrote),
	  cmocka_unit_test(samples_belong_to_their_events), cmocka_unit_test(only_samples_change),
	  cmocka_unit_test(features_stay), cmocka_unit_test(a_file_may_end_at_every_byte),
	  cmocka_unit_test(a_stream_may_end_after_every_record),
	  cmocka_unit_test(errors_are_described), cmocka_unit_test(events_of_every_size_are_read))
