// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whole recordings through stacktrace: a stream of perf.data is read, its processes are followed,
 * its stacks are walked, and records or a profile are written. The mutator knows the records: it
 * moves, repeats, drops and changes them, and keeps their sizes right, so that most inputs get
 * past the reader.
 */
#include "fuzz.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "stacktrace/filter.h"

#define HEAD_SZ	    16 /* "PERFILE2" and its own size: what a stream begins with */
#define RECORDS_MAX 4096
#define RECORD_SZ   sizeof(struct perf_event_header)

/* libFuzzer's; absent in a replay. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t sz, size_t max_sz);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t sz, size_t max_sz, unsigned seed);

/* ---- the mutator --------------------------------------------------------------------------------
 */

struct stream {
	uint8_t *data;
	size_t sz, max_sz;
	size_t offs[RECORDS_MAX + 1]; /* of the records, and their end */
	size_t cnt;
};

static size_t record_sz(const uint8_t *at)
{
	struct perf_event_header h;

	memcpy(&h, at, sizeof(h));
	return h.size;
}

static void find_records(struct stream *s)
{
	size_t at = HEAD_SZ;

	s->cnt = 0;
	while (s->cnt < RECORDS_MAX && s->sz - at >= RECORD_SZ &&
	       record_sz(s->data + at) >= RECORD_SZ && record_sz(s->data + at) <= s->sz - at) {
		s->offs[s->cnt++] = at;
		at += record_sz(s->data + at);
	}
	s->offs[s->cnt] = at;
}

/* Replaces `old_sz` bytes by others. Returns false if there is no room. */
static bool replace(struct stream *s, size_t at, size_t old_sz, const uint8_t *bytes, size_t sz)
{
	if (sz > old_sz && s->max_sz - s->sz < sz - old_sz)
		return false;
	memmove(s->data + at + sz, s->data + at + old_sz, s->sz - at - old_sz);
	if (sz)
		memcpy(s->data + at, bytes, sz);
	s->sz += sz - old_sz;
	return true;
}

/* Copies a record to the place of another one, or before it. */
static void copy_record(struct stream *s, size_t from, size_t to, bool over)
{
	uint8_t copy[UINT16_MAX];
	size_t sz = record_sz(s->data + s->offs[from]);

	memcpy(copy, s->data + s->offs[from], sz);
	replace(s, s->offs[to], over ? s->offs[to + 1] - s->offs[to] : 0, copy, sz);
}

static void drop_record(struct stream *s, size_t i)
{
	replace(s, s->offs[i], s->offs[i + 1] - s->offs[i], NULL, 0);
}

/* Changes what follows the record's head, and its size with it. */
static void change_body(struct stream *s, size_t i)
{
	uint8_t copy[UINT16_MAX];
	size_t sz = record_sz(s->data + s->offs[i]), body_sz = sz - RECORD_SZ;
	struct perf_event_header h;

	memcpy(copy, s->data + s->offs[i], sz);
	body_sz =
		LLVMFuzzerMutate(copy + RECORD_SZ, body_sz,
				 body_sz + 64 < sizeof(copy) - RECORD_SZ ? body_sz + 64 : body_sz);
	memcpy(&h, copy, sizeof(h));
	h.size = (uint16_t)(RECORD_SZ + body_sz);
	memcpy(copy, &h, sizeof(h));
	replace(s, s->offs[i], sz, copy, h.size);
}

/* Copies an aligned word of one record into another: ids, addresses and times of both then agree.
 */
static void copy_word(struct stream *s, size_t from, size_t to, unsigned seed)
{
	size_t from_sz = s->offs[from + 1] - s->offs[from], to_sz = s->offs[to + 1] - s->offs[to];
	size_t sz = seed & 1 ? 4 : 8;

	if (from_sz < RECORD_SZ + sz || to_sz < RECORD_SZ + sz)
		return;
	memmove(s->data + s->offs[to] + RECORD_SZ + (seed >> 1) % ((to_sz - RECORD_SZ) / sz) * sz,
		s->data + s->offs[from] + RECORD_SZ +
			(seed >> 9) % ((from_sz - RECORD_SZ) / sz) * sz,
		sz);
}

static void change_head(struct stream *s, size_t i, unsigned seed)
{
	uint8_t *at = s->data + s->offs[i] + (seed & 1 ? 0 : 4); /* the type, or misc */

	at[0] = (uint8_t)(seed >> 1);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t sz, size_t max_sz, unsigned seed)
{
	static struct stream s;
	size_t one, other;

	s.data = data;
	s.sz = sz;
	s.max_sz = max_sz;
	if (sz > HEAD_SZ)
		find_records(&s);
	if (sz <= HEAD_SZ || !s.cnt || seed % 16 == 0)
		return LLVMFuzzerMutate(data, sz, max_sz);
	seed /= 16;
	one = seed / 8 % s.cnt;
	other = seed / 8 / s.cnt % s.cnt;
	switch (seed % 8) {
	case 0: drop_record(&s, one); break;
	case 1: copy_record(&s, one, other, true); break;
	case 2: copy_record(&s, one, other, false); break;
	case 3: change_head(&s, one, seed / 8); break;
	case 4:
	case 5: copy_word(&s, one, other, seed * 0x9e3779b9u); break;
	default: change_body(&s, one); break;
	}
	return s.sz;
}

/* ---- the target ---------------------------------------------------------------------------------
 */

/* For a profile no file is found: reading the symbols of each would take most of the time. */
static void convert(const uint8_t *data, size_t sz, bool pprof)
{
	static const volatile int interrupts;
	const struct filter_options o = {
		.mode = MODE_CACHING,
		.no_sandbox = true,
		.stitch = true,
		.pprof = pprof,
		.sysroot = pprof ? "/dev" : NULL,
	};
	struct filter_files files = { .interrupts = &interrupts };
	int status;

	files.in = memfd_create("in", MFD_CLOEXEC);
	files.out = memfd_create("out", MFD_CLOEXEC);
	FUZZ_CHECK(!sz || pwrite(files.in, data, sz, 0) == (ssize_t)sz);
	status = filter__run(&o, &files);
	FUZZ_CHECK(status == STATUS_OK || status == STATUS_DAMAGED || status == STATUS_FAILED);
	close(files.in);
	close(files.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	log__init("fuzz_recording", LOG_ERROR);
	convert(data, sz, false);
	convert(data, sz, true);
	return 0;
}
