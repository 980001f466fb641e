// SPDX-License-Identifier: GPL-2.0-or-later
#include <byteswap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "formats/sysprof.h"

#define PATH_SZ_MAX 4096

struct sysprof_writer {
	struct stream_writer base;
	const struct sysprof_reader *reader; /* NULL if the records have another format */
	bool began; /* the header is written; it has the time of the first record */
	uint64_t last_ns;
};

static struct sysprof_writer *sysprofwriter_of(struct stream_writer *w)
{
	return (struct sysprof_writer *)w;
}

/* ---- frames of a sysprof capture ---- */

static void sysprof_begin(struct stream_writer *base)
{
	struct sysprof_writer *w = sysprofwriter_of(base);
	uint8_t header[SYSPROF_HEADER_SZ];

	if (!w->reader)
		return; /* the header needs the time of the first record */
	w->began = true;
	memcpy(header, w->reader->header, sizeof(header));
	memset(header + SYSPROF_AT_INDEX, 0, 8); /* the index of the input is not copied */
	output__write(base->out, header, sizeof(header));
}

static void sysprof_pass(struct stream_writer *base, const struct raw *raw)
{
	output__write(base->out, raw->data, raw->sz);
}

static uint64_t sysprofwriter_to_order(const struct sysprof_writer *w, uint64_t v)
{
	return w->reader->swap ? bswap_64(v) : v;
}

static size_t sysprofwriter_fitting(size_t cnt)
{
	const size_t room = (SYSPROF_FRAME_MAX - SYSPROF_SAMPLE_SZ) / 8;

	return cnt < room ? cnt : room;
}

/* Writes a SAMPLE frame. Copies CPU, process, thread and time unchanged from the record. */
static void sysprof_unwound(struct stream_writer *base, const struct raw *raw,
			    const struct item *item)
{
	const struct sysprof_writer *w = sysprofwriter_of(base);
	size_t cnt = sysprofwriter_fitting(item->sample.chain_cnt);
	uint16_t sz = (uint16_t)(SYSPROF_SAMPLE_SZ + cnt * 8), cnt16 = (uint16_t)cnt;
	uint8_t head[SYSPROF_SAMPLE_SZ] = { 0 };

	if (w->reader->swap) {
		sz = bswap_16(sz);
		cnt16 = bswap_16(cnt16);
	}
	memcpy(head, raw->data, SYSPROF_AT_TYPE);
	memcpy(head + SYSPROF_AT_LEN, &sz, sizeof(sz));
	head[SYSPROF_AT_TYPE] = SYSPROF_SAMPLE;
	memcpy(head + SYSPROF_SAMPLE_CNT, &cnt16, sizeof(cnt16));
	memcpy(head + SYSPROF_SAMPLE_TID, raw->data + SYSPROF_STACK_TID, 4);
	output__write(base->out, head, sizeof(head));
	for (size_t i = 0; i < cnt; i++)
		output__u64(base->out, sysprofwriter_to_order(w, item->sample.chain[i]));
}

/* ---- records of other formats ---- */

/* Writes a header in the byte order of this machine. */
static void sysprofwriter_write_own_header(struct sysprof_writer *w)
{
	uint8_t header[SYSPROF_HEADER_SZ] = SYSPROF_MAGIC;
	time_t now = time(NULL);
	struct tm tm;

	header[4] = 1;
	header[SYSPROF_AT_FLAGS] = SYSPROF_LITTLE;
	strftime((char *)header + SYSPROF_AT_DATE, 64, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	memcpy(header + SYSPROF_AT_TIME, &w->base.start_ns, sizeof(w->base.start_ns));
	w->began = true;
	output__write(w->base.out, header, sizeof(header));
}

struct frame_head {
	uint8_t type;
	uint32_t pid;
	size_t sz; /* size of the whole frame, before padding to a multiple of 8 */
};

static void sysprofwriter_write_head(struct sysprof_writer *w, const struct record *r,
				     struct frame_head f)
{
	uint8_t head[SYSPROF_FRAME_SZ] = { 0 };
	uint16_t sz = (uint16_t)((f.sz + 7) / 8 * 8), cpu = (uint16_t)r->cpu;
	uint64_t time_ns = r->time_ns ? r->time_ns : w->base.start_ns;

	memcpy(head + SYSPROF_AT_LEN, &sz, sizeof(sz));
	memcpy(head + SYSPROF_AT_CPU, &cpu, sizeof(cpu));
	memcpy(head + SYSPROF_AT_PID, &f.pid, sizeof(f.pid));
	memcpy(head + SYSPROF_AT_FRAME_TIME, &time_ns, sizeof(time_ns));
	if (time_ns > w->last_ns)
		w->last_ns = time_ns;
	head[SYSPROF_AT_TYPE] = f.type;
	output__write(w->base.out, head, sizeof(head));
}

static void sysprofwriter_pad(struct output *out, size_t sz)
{
	output__zeros(out, -sz % 8);
}

static bool sysprofwriter_write_map(struct sysprof_writer *w, const struct record *r)
{
	const struct record_mmap *m = &r->mmap;
	size_t path_sz = strnlen(m->path, PATH_SZ_MAX), id_sz = m->build_id.sz;
	size_t sz = SYSPROF_MAP_PATH + path_sz + 1 + (id_sz ? 1 + 2 * id_sz + 1 : 0);
	char id[2 * BUILD_ID_MAX + 2] = "@";

	if (!(m->prot & PROT_EXEC))
		return false;
	for (size_t i = 0; i < id_sz; i++)
		snprintf(id + 1 + 2 * i, 3, "%02x", m->build_id.bytes[i]);
	sysprofwriter_write_head(w, r, (struct frame_head){ SYSPROF_MAP, r->tgid, sz });
	output__u64(w->base.out, m->start);
	output__u64(w->base.out, m->start + m->len);
	output__u64(w->base.out, m->pgoff);
	output__u64(w->base.out, m->ino);
	output__write(w->base.out, m->path, path_sz);
	output__zeros(w->base.out, 1);
	if (id_sz)
		output__write(w->base.out, id, 2 * id_sz + 2);
	sysprofwriter_pad(w->base.out, sz);
	return true;
}

/* Writes a PROCESS frame. Returns false for a thread, because captures have no names of threads. */
static bool sysprofwriter_write_process(struct sysprof_writer *w, const struct record *r)
{
	size_t name_sz = strnlen(r->comm.name, PATH_SZ_MAX), sz = SYSPROF_FRAME_SZ + name_sz + 1;

	if (r->tid != r->tgid)
		return false;
	sysprofwriter_write_head(w, r, (struct frame_head){ SYSPROF_PROCESS, r->tgid, sz });
	output__write(w->base.out, r->comm.name, name_sz);
	output__zeros(w->base.out, 1);
	sysprofwriter_pad(w->base.out, sz);
	return true;
}

/* Writes a FORK frame, also for a thread, like the recorder of sysprof. */
static bool sysprofwriter_write_fork(struct sysprof_writer *w, const struct record *r)
{
	sysprofwriter_write_head(
		w, r,
		(struct frame_head){ SYSPROF_FORK, r->fork.parent_tid, SYSPROF_FORK_TID + 8 });
	output__u32(w->base.out, r->tid);
	output__u32(w->base.out, 0);
	return true;
}

static bool sysprofwriter_write_exit(struct sysprof_writer *w, const struct record *r)
{
	sysprofwriter_write_head(w, r,
				 (struct frame_head){ SYSPROF_EXIT, r->tid, SYSPROF_FRAME_SZ });
	return true;
}

static bool sysprofwriter_write_record(struct sysprof_writer *w, const struct item *item)
{
	static bool (*const writers[])(struct sysprof_writer *, const struct record *) = {
		[RECORD_MMAP] = sysprofwriter_write_map,
		[RECORD_COMM] = sysprofwriter_write_process,
		[RECORD_FORK] = sysprofwriter_write_fork,
		[RECORD_EXIT] = sysprofwriter_write_exit,
	};
	size_t type = item->record.type;

	return type < sizeof(writers) / sizeof(*writers) && writers[type] &&
	       writers[type](w, &item->record);
}

static bool sysprofwriter_write_sample(struct sysprof_writer *w, const struct item *item)
{
	const struct item_sample *s = &item->sample;
	size_t cnt = sysprofwriter_fitting(s->chain_cnt);
	uint64_t alone[2] = { s->kernel ? CONTEXT_KERNEL : CONTEXT_USER, s->ip };
	const uint64_t *chain = cnt ? s->chain : alone;

	if (!cnt)
		cnt = 2; /* only the sampled address */
	sysprofwriter_write_head(w, &item->record,
				 (struct frame_head){ SYSPROF_SAMPLE, item->record.tgid,
						      SYSPROF_SAMPLE_SZ + cnt * 8 });
	output__u32(w->base.out, (uint32_t)cnt);
	output__u32(w->base.out, item->record.tid);
	output__write(w->base.out, chain, cnt * 8);
	return true;
}

static bool sysprofwriter_write_overlay(struct sysprof_writer *w, const struct item *item)
{
	const struct item_overlay *o = &item->overlay;
	size_t src_sz = strnlen(o->src, PATH_SZ_MAX), dst_sz = strnlen(o->dst, PATH_SZ_MAX);
	size_t sz = SYSPROF_OVERLAY_SRC + src_sz + 1 + dst_sz + 1;

	sysprofwriter_write_head(w, &item->record,
				 (struct frame_head){ SYSPROF_OVERLAY, item->record.tgid, sz });
	output__u32(w->base.out, o->layer & 0xff);
	output__u32(w->base.out, (uint32_t)(dst_sz << 16 | src_sz));
	output__write(w->base.out, o->src, src_sz);
	output__zeros(w->base.out, 1);
	output__write(w->base.out, o->dst, dst_sz);
	output__zeros(w->base.out, 1);
	sysprofwriter_pad(w->base.out, sz);
	return true;
}

static bool sysprofwriter_write_nothing(struct sysprof_writer *w, const struct item *item)
{
	(void)w;
	(void)item;
	return false;
}

static void sysprof_convert(struct stream_writer *base, const struct item *item)
{
	static bool (*const writers[ITEM_KIND_CNT])(struct sysprof_writer *,
						    const struct item *) = {
		[ITEM_OTHER] = sysprofwriter_write_nothing,
		[ITEM_SAMPLE] = sysprofwriter_write_sample,
		[ITEM_PROCESS] = sysprofwriter_write_record,
		[ITEM_OVERLAY] = sysprofwriter_write_overlay,
		[ITEM_CHAIN] = sysprofwriter_write_nothing,
	};
	struct sysprof_writer *w = sysprofwriter_of(base);

	if (!w->began)
		sysprofwriter_write_own_header(w);
	base->dropped += !writers[item->kind](w, item);
}

static void sysprof_end(struct stream_writer *base)
{
	struct sysprof_writer *w = sysprofwriter_of(base);

	if (!w->began)
		sysprofwriter_write_own_header(w);
	if (!w->reader && output__can_patch(base->out))
		output__patch(base->out, SYSPROF_AT_TIME + 8, &w->last_ns, sizeof(w->last_ns));
}

static void sysprofwriter_free(struct stream_writer *base)
{
	free(sysprofwriter_of(base));
}

static const struct stream_writer_ops ops = { sysprofwriter_free, sysprof_begin,   sysprof_pass,
					      sysprof_unwound,	  sysprof_convert, sysprof_end };

struct stream_writer *sysprof_writer__new(const struct stream_writer_options *o)
{
	struct sysprof_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->base.ops = &ops;
	w->base.format = FORMAT_SYSPROF;
	w->base.out = o->out;
	if (o->reader->format == FORMAT_SYSPROF)
		w->reader = (const struct sysprof_reader *)o->reader;
	return &w->base;
}
