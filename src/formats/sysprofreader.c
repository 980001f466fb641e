// SPDX-License-Identifier: GPL-2.0-or-later
#include <byteswap.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "formats/sysprof.h"

static struct sysprof_reader *sysprofreader_of(struct stream_reader *r)
{
	return (struct sysprof_reader *)r;
}

/* ---- numbers in the byte order of the capture; callers check the bounds ---- */

struct frame_view {
	const struct sysprof_reader *reader;
	const uint8_t *data;
	size_t sz;
};

static uint16_t sysprofreader_u16_at(const struct frame_view *f, size_t off)
{
	uint16_t v;

	memcpy(&v, f->data + off, sizeof(v));
	return f->reader->swap ? bswap_16(v) : v;
}

static uint32_t sysprofreader_u32_at(const struct frame_view *f, size_t off)
{
	uint32_t v;

	memcpy(&v, f->data + off, sizeof(v));
	return f->reader->swap ? bswap_32(v) : v;
}

static uint64_t sysprofreader_u64_at(const struct frame_view *f, size_t off)
{
	uint64_t v;

	memcpy(&v, f->data + off, sizeof(v));
	return f->reader->swap ? bswap_64(v) : v;
}

/* Returns NULL if the string does not end within the frame. */
static const char *sysprofreader_str_at(const struct frame_view *f, size_t off)
{
	if (off >= f->sz || !memchr(f->data + off, 0, f->sz - off))
		return NULL;
	return (const char *)f->data + off;
}

static void sysprofreader_words_at(const struct frame_view *f, size_t off, uint64_t *to, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		to[i] = sysprofreader_u64_at(f, off + i * 8);
}

/* ---- frames ---- */

static bool sysprofreader_is_index(const struct frame_view *f)
{
	return f->data[SYSPROF_AT_TYPE] == SYSPROF_TIMESTAMP &&
	       sysprofreader_u32_at(f, SYSPROF_AT_PADDING2) == SYSPROF_INDEX_MARK;
}

static bool sysprofreader_peek_frame(struct sysprof_reader *r, struct frame_view *f)
{
	struct input *in = r->base.in;
	uint64_t off = input__off(in);

	f->data = input__peek(in, SYSPROF_FRAME_SZ);
	if (!f->data) {
		if (input__left(in))
			fault__set(&r->base.fault, off, "ends in a frame");
		return false;
	}
	f->sz = sysprofreader_u16_at(f, SYSPROF_AT_LEN);
	if (f->sz < SYSPROF_FRAME_SZ || f->sz % 8) {
		fault__set(&r->base.fault, off, "a frame of %zu bytes", f->sz);
		return false;
	}
	f->data = input__peek(in, f->sz);
	if (!f->data)
		fault__set(&r->base.fault, off, "ends in a frame");
	return f->data;
}

/* Skips an index, because its offsets are valid only in its own file. */
static bool sysprof_next(struct stream_reader *base, struct raw *raw)
{
	struct sysprof_reader *r = sysprofreader_of(base);
	struct frame_view f = { .reader = r };

	do {
		input__step(base->in, r->step);
		r->step = 0;
		if (base->fault.set || !sysprofreader_peek_frame(r, &f))
			return false;
		r->step = f.sz;
	} while (sysprofreader_is_index(&f));
	*raw = (struct raw){ .data = f.data, .sz = f.sz, .off = input__off(base->in) };
	return true;
}

static uint64_t sysprof_time(struct stream_reader *base, const struct raw *raw)
{
	struct frame_view f = { sysprofreader_of(base), raw->data, raw->sz };
	int64_t time = (int64_t)sysprofreader_u64_at(&f, SYSPROF_AT_FRAME_TIME);

	return time > 0 ? (uint64_t)time : 0;
}

/* ---- parsing frames ---- */

typedef bool (*parse_fn)(const struct frame_view *, uint64_t *chain, struct item *);

static bool sysprofreader_parse_sample(const struct frame_view *f, uint64_t *chain,
				       struct item *item)
{
	struct item_sample *s = &item->sample;
	bool kernel;

	if (f->sz < SYSPROF_SAMPLE_SZ)
		return false;
	s->chain_cnt = sysprofreader_u16_at(f, SYSPROF_SAMPLE_CNT);
	if (s->chain_cnt > ITEM_CHAIN_MAX || SYSPROF_SAMPLE_SZ + s->chain_cnt * 8 > f->sz)
		return false;
	item->kind = ITEM_SAMPLE;
	item->record.tid = sysprofreader_u32_at(f, SYSPROF_SAMPLE_TID);
	sysprofreader_words_at(f, SYSPROF_SAMPLE_SZ, chain, s->chain_cnt);
	kernel = s->chain_cnt > 0 && chain[0] == CONTEXT_KERNEL;
	s->chain = chain;
	s->has_stack = false;
	s->monotonic = true;
	s->period = 1;
	s->kernel = kernel;
	s->ip = 0;
	for (size_t i = 0; i < s->chain_cnt && !s->ip; i++)
		s->ip = chain[i] < CONTEXT_MAX ? chain[i] : 0;
	return true;
}

/* Returns the register mask, or 0 if it is unknown. The frame has no mask, but recorders use one of
 * these sets. */
static uint64_t sysprofreader_mask_of(uint32_t cnt, uint32_t abi)
{
	static const struct {
		uint32_t cnt, abi;
		uint64_t mask;
	} masks[] = {
		{ 17, 2, 0xff01ff }, /* x86-64: the set for unwinding */
		{ 18, 2, 0xff03ff }, /* with the flags register: until 2024 */
		{ 20, 2, 0xff0fff }, /* the set of perf */
		{ 9, 1, 0x1ff },     /* a 32-bit task */
		{ 17, 1, 0xff01ff },	{ 18, 1, 0xff03ff },
		{ 27, 2, 0x1fff81fff }, /* AArch64: the set for unwinding, and the 32-bit set */
		{ 33, 2, 0x1ffffffff }, /* the set of perf */
	};

	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++)
		if (masks[i].cnt == cnt && masks[i].abi == abi)
			return masks[i].mask;
	return 0;
}

/* Returns the program counter, or 0 if the mask is unknown. Register numbers are those of perf. */
static uint64_t sysprofreader_program_counter(const struct item_stack *s)
{
	unsigned number = s->mask >> 32 ? 32 : 8;

	return s->mask ? s->regs[__builtin_popcountll(s->mask & ((1ull << number) - 1))] : 0;
}

static bool sysprofreader_parse_stack(const struct frame_view *f, uint64_t *chain,
				      struct item *item)
{
	struct item_stack *s = &item->sample.stack;
	uint64_t sz, regs;

	if (f->sz < SYSPROF_STACK_BYTES + 8)
		return false;
	sz = sysprofreader_u64_at(f, SYSPROF_STACK_SZ);
	if (sz > f->sz - SYSPROF_STACK_BYTES - 8)
		return false;
	regs = SYSPROF_STACK_BYTES + sz;
	item->sample = (struct item_sample){
		.period = 1, .has_stack = true, .monotonic = true, .chain = chain
	};
	s->cnt = sysprofreader_u32_at(f, regs);
	if (s->cnt > ITEM_REGS_MAX || regs + 8 + s->cnt * 8 > f->sz)
		return false;
	s->abi = sysprofreader_u32_at(f, regs + 4);
	if (s->abi == 0)
		s->abi = 2; /* older recorders have padding here */
	s->foreign = f->reader->swap;
	s->mask = sysprofreader_mask_of(s->cnt, s->abi);
	sysprofreader_words_at(f, regs + 8, s->regs, s->cnt);
	item->sample.ip = sysprofreader_program_counter(s);
	s->sz = s->wanted = sz;
	s->bytes = f->data + SYSPROF_STACK_BYTES;
	item->record.tid = sysprofreader_u32_at(f, SYSPROF_STACK_TID);
	item->kind = ITEM_SAMPLE;
	return true;
}

/* Returns the value of a lower-case hexadecimal digit, or -1. */
static int sysprofreader_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void sysprofreader_parse_build_id(const char *text, struct build_id *id)
{
	for (; id->sz < BUILD_ID_MAX && sysprofreader_hex(text[0]) >= 0 &&
	       sysprofreader_hex(text[1]) >= 0;
	     text += 2)
		id->bytes[id->sz++] =
			(uint8_t)(sysprofreader_hex(text[0]) << 4 | sysprofreader_hex(text[1]));
}

static bool sysprofreader_parse_map(const struct frame_view *f, uint64_t *chain, struct item *item)
{
	const char *path = sysprofreader_str_at(f, SYSPROF_MAP_PATH), *id;
	struct record_mmap *m = &item->record.mmap;

	(void)chain;
	if (!path)
		return false;
	item->kind = ITEM_PROCESS;
	item->record.type = RECORD_MMAP;
	*m = (struct record_mmap){ .start = sysprofreader_u64_at(f, SYSPROF_MAP_START),
				   .pgoff = sysprofreader_u64_at(f, SYSPROF_MAP_PGOFF),
				   .ino = sysprofreader_u64_at(f, SYSPROF_MAP_INODE),
				   .prot = PROT_READ | PROT_EXEC,
				   .path = path };
	m->len = sysprofreader_u64_at(f, SYSPROF_MAP_END) - m->start;
	id = sysprofreader_str_at(f, SYSPROF_MAP_PATH + strlen(path) + 1);
	if (id && id[0] == '@')
		sysprofreader_parse_build_id(id + 1, &m->build_id);
	return true;
}

/* Parses a PROCESS frame. Recorders write it at the start of a process and when its name changes,
 * so it does not mean that the mappings are gone. */
static bool sysprofreader_parse_process(const struct frame_view *f, uint64_t *chain,
					struct item *item)
{
	(void)chain;
	item->kind = ITEM_PROCESS;
	item->record.type = RECORD_COMM;
	item->record.comm.name = sysprofreader_str_at(f, SYSPROF_FRAME_SZ);
	item->record.comm.exec = false;
	return item->record.comm.name;
}

static bool sysprofreader_parse_fork(const struct frame_view *f, uint64_t *chain, struct item *item)
{
	struct record *r = &item->record;

	(void)chain;
	if (f->sz < SYSPROF_FORK_TID + 4)
		return false;
	item->kind = ITEM_PROCESS;
	r->type = RECORD_FORK;
	r->fork.parent_tgid = r->fork.parent_tid = r->tgid;
	r->tgid = r->tid = sysprofreader_u32_at(f, SYSPROF_FORK_TID);
	return true;
}

static bool sysprofreader_parse_exit(const struct frame_view *f, uint64_t *chain, struct item *item)
{
	(void)f;
	(void)chain;
	item->kind = ITEM_PROCESS;
	item->record.type = RECORD_EXIT;
	return true;
}

static bool sysprofreader_parse_overlay(const struct frame_view *f, uint64_t *chain,
					struct item *item)
{
	struct item_overlay *o = &item->overlay;

	(void)chain;
	if (f->sz < SYSPROF_OVERLAY_SRC)
		return false;
	*o = (struct item_overlay){ .layer = f->data[SYSPROF_OVERLAY_LAYER],
				    .src = sysprofreader_str_at(f, SYSPROF_OVERLAY_SRC) };
	o->dst = o->src ? sysprofreader_str_at(f, SYSPROF_OVERLAY_SRC + strlen(o->src) + 1) : NULL;
	item->kind = ITEM_OVERLAY;
	return o->dst;
}

static const parse_fn parsers[] = {
	[SYSPROF_SAMPLE] = sysprofreader_parse_sample,
	[SYSPROF_MAP] = sysprofreader_parse_map,
	[SYSPROF_PROCESS] = sysprofreader_parse_process,
	[SYSPROF_FORK] = sysprofreader_parse_fork,
	[SYSPROF_EXIT] = sysprofreader_parse_exit,
	[SYSPROF_OVERLAY] = sysprofreader_parse_overlay,
	[SYSPROF_STACK_USER] = sysprofreader_parse_stack,
};

static void sysprof_parse(struct stream_reader *base, const struct raw *raw, struct item *item)
{
	struct frame_view f = { sysprofreader_of(base), raw->data, raw->sz };
	uint8_t type = raw->data[SYSPROF_AT_TYPE];
	int16_t cpu = (int16_t)sysprofreader_u16_at(&f, SYSPROF_AT_CPU);

	item->kind = ITEM_OTHER;
	item->record.time_ns = sysprof_time(base, raw);
	item->record.tgid = item->record.tid = sysprofreader_u32_at(&f, SYSPROF_AT_PID);
	item->record.cpu = (uint32_t)cpu;
	if (type < sizeof(parsers) / sizeof(*parsers) && parsers[type] &&
	    !parsers[type](&f, base->chain, item))
		item->kind = ITEM_OTHER;
}

/* ---- the object ---- */

static void sysprofreader_read_header(struct sysprof_reader *r)
{
	const uint8_t *p = input__peek(r->base.in, SYSPROF_HEADER_SZ);

	if (!p || memcmp(p, SYSPROF_MAGIC, 4) != 0 || p[4] != 1) {
		fault__set(&r->base.fault, 0, "%s",
			   !p				      ? "ends in its header"
			   : memcmp(p, SYSPROF_MAGIC, 4) == 0 ? "is a capture of an unknown version"
							      : "is not a sysprof capture");
		return;
	}
	memcpy(r->header, p, sizeof(r->header));
	r->swap = !(p[SYSPROF_AT_FLAGS] & SYSPROF_LITTLE);
	input__step(r->base.in, SYSPROF_HEADER_SZ);
}

static void sysprofreader_free(struct stream_reader *base)
{
	free(sysprofreader_of(base));
}

static const struct stream_reader_ops ops = { sysprofreader_free, sysprof_next, sysprof_time,
					      sysprof_parse };

struct stream_reader *sysprof_reader__new(struct input *in)
{
	struct sysprof_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->base.ops = &ops;
	r->base.format = FORMAT_SYSPROF;
	r->base.in = in;
	sysprofreader_read_header(r);
	return &r->base;
}
