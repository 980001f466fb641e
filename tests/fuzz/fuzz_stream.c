// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings of other profilers, read and written in both formats. */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/formats.h"
#include "formats/itemstack.h"

static void see(const struct item *item)
{
	struct perfregs_order order = { 0 };
	uint64_t regs[MACHINE_REG_MAX];
	struct sample s;

	if (item->kind == ITEM_PROCESS && item->record.type == RECORD_MMAP)
		FUZZ_CHECK(strlen(item->record.mmap.path) < 65536);
	if (item->kind != ITEM_SAMPLE || !item->sample.has_stack)
		return;
	if (item_stack__sample(&item->sample.stack, &order, regs, &s) && s.stack.sz > 0)
		FUZZ_CHECK(s.stack.bytes[s.stack.sz - 1] + 1 > 0);
}

static void go(struct stream_reader *r, struct stream_writer *w)
{
	static uint64_t chain[ITEM_CHAIN_MAX]; /* the longest possible one */
	struct item item;
	struct raw raw;

	stream_writer__begin(w);
	while (stream_reader__next(r, &raw)) {
		stream_reader__time(r, &raw);
		stream_reader__parse(r, &raw, &item);
		see(&item);
		if (item.kind == ITEM_SAMPLE && item.sample.has_stack) {
			item.sample.chain = chain;
			item.sample.chain_cnt = ITEM_CHAIN_MAX;
			stream_writer__unwound(w, r, &raw, &item);
		} else {
			stream_writer__pass(w, r, &raw);
		}
	}
	stream_writer__end(w);
}

static void convert(int fd, enum format to, int out_fd)
{
	struct input *in = input__new(fd);
	enum format from = format__detect(in);
	struct stream_writer_options o = { .format = to, .out = output__new(out_fd) };
	struct stream_writer *w = NULL;
	struct stream_reader *r = from ? stream_reader__new(from, in) : NULL;

	o.reader = r;
	if (r && !r->fault.set)
		w = stream_writer__new(&o);
	if (w)
		go(r, w);
	stream_writer__free(w);
	stream_reader__free(r);
	output__free(o.out);
	input__free(in);
}

/* A file is mapped; a file that is not read from its beginning is read like a pipe. */
static void convert_to(enum format to, bool mapped, const uint8_t *data, size_t sz)
{
	int fd = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
	off_t begin = mapped ? 0 : 1;

	FUZZ_CHECK(pwrite(fd, data, sz, begin) == (ssize_t)sz &&
		   lseek(fd, begin, SEEK_SET) == begin);
	convert(fd, to, out);
	close(fd);
	close(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	for (enum format to = FORMAT_PERF; to < FORMAT_CNT; to++) {
		convert_to(to, true, data, sz);
		convert_to(to, false, data, sz);
	}
	return 0;
}
