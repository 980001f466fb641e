// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions of Ruby: instruction sequences with their lines, and methods in C. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ruby_layout.h"

#define NAME_SZ 1024
#define PATH_SZ 4096
#define INSTRUCTIONS_MAX \
	(1u << 24) /* words of an instruction sequence; larger ones give no lines */
#define ENTRIES_MAX (1u << 17)

#define CFUNC_MODULE "<cfunc>"

/* enum imemo_type */
#define IMEMO_METHOD 6
#define IMEMO_ISEQ   7

static bool ruby_is_imemo(struct remote *r, uint64_t at, unsigned type)
{
	uint64_t flags = at % 8 ? 0 : remote__u64(r, at);

	return (flags & RUBY_TYPE_MASK) == RUBY_TYPE_IMEMO && (flags >> 12 & 15) == type;
}

/* ---- methods in C -------------------------------------------------------------------------------
 */

/* rb_method_definition_t */
#define DEF_FUNCTION 8
#define DEF_ID	     32

/* An operator's id is its number in the table. The other ids have their kind in the low bits. */
static uint64_t ruby_serial_of(uint64_t id)
{
	return id < RUBY_OPERATOR_MAX ? id : id >> RUBY_ID_SCOPE_SHIFT;
}

static bool ruby_function_read_symbol(struct remote *r, const struct runtime_layout *l, uint64_t id,
				      char *name)
{
	uint64_t serial = ruby_serial_of(id), ids, array;

	ids = remote__u64(r, r->base + l->heaps + RUBY_SYMBOLS_IDS * 8);
	array = ruby__element(r, ids, serial / RUBY_IDS_IN_ARRAY);
	return ruby__text(r, l, ruby__element(r, array, serial % RUBY_IDS_IN_ARRAY * 2), name,
			  NAME_SZ);
}

/* The C function's address is where the function starts; it has no lines. */
static int ruby_read_cfunc(struct remote *r, const struct runtime_layout *l, uint64_t method,
			   struct script_function *f)
{
	char name[NAME_SZ];
	uint64_t def;

	if (!ruby_is_imemo(r, method, IMEMO_METHOD))
		return -EINVAL;
	def = remote__u64(r, method + CAPTURE_RUBY_DEF);
	f->start = remote__u64(r, def + DEF_FUNCTION);
	if (!ruby_function_read_symbol(r, l, remote__u64(r, def + DEF_ID), name) || !*name)
		return -EINVAL;
	return script_function__name(f, l->runtime->name, CFUNC_MODULE, name);
}

/* ---- lines --------------------------------------------------------------------------------------
 */

/* rb_iseq_constant_body.insns_info and struct iseq_insn_info_entry */
struct insns_info {
	uint64_t entries, positions;
	uint32_t cnt, padding;
	uint64_t succinct;
};

struct insn_entry {
	uint32_t line, node, events;
};

/*
 * Positions are instructions at which an entry begins. Without debug checks, Ruby only has a
 * succinct index of them (iseq.c): for the first 54 words, how many entries have begun up to each
 * word, 7 bits for each, 9 in 8 bytes; then blocks with a bit for each of 512 words.
 */
#define IMMEDIATE_CNT	  54
#define IMMEDIATE_IN_WORD 9
#define BLOCK_BITS	  512
#define BLOCK_WORDS	  10 /* rank, ranks in the block, bits */
#define BLOCK_BITS_AT	  2

struct positions {
	uint32_t *at;
	uint32_t cnt, max; /* how many are known, and expected */
};

static void positions__add(struct positions *p, uint32_t at)
{
	if (p->cnt < p->max)
		p->at[p->cnt++] = at;
}

static bool ruby_read_immediate(struct remote *r, uint64_t at, uint32_t sz, struct positions *p)
{
	uint64_t words[IMMEDIATE_CNT / IMMEDIATE_IN_WORD] = { 0 };
	uint32_t cnt = sz < IMMEDIATE_CNT ? (sz + 8) / IMMEDIATE_IN_WORD
					  : IMMEDIATE_CNT / IMMEDIATE_IN_WORD;
	uint32_t rank, before = 0;

	if (!remote__read(r, at, words, cnt * sizeof(*words)))
		return false;
	for (uint32_t i = 0; i < cnt * IMMEDIATE_IN_WORD; i++) {
		rank = words[i / IMMEDIATE_IN_WORD] >> i % IMMEDIATE_IN_WORD * 7 & 0x7f;
		if (rank > before)
			positions__add(p, i);
		before = rank;
	}
	return true;
}

static bool ruby_function_read_block(struct remote *r, uint64_t at, uint32_t first,
				     struct positions *p)
{
	uint64_t words[BLOCK_WORDS];

	if (!remote__read(r, at, words, sizeof(words)))
		return false;
	for (uint32_t i = 0; i < BLOCK_BITS; i++)
		if (words[BLOCK_BITS_AT + i / 64] >> i % 64 & 1)
			positions__add(p, first + i);
	return true;
}

/* `sz`: words of the instruction sequence. */
static bool ruby_read_succinct(struct remote *r, uint64_t at, uint32_t sz, struct positions *p)
{
	uint64_t block = at + IMMEDIATE_CNT / IMMEDIATE_IN_WORD * sizeof(uint64_t);

	if (!ruby_read_immediate(r, at, sz, p))
		return false;
	for (uint32_t i = IMMEDIATE_CNT; i < sz && p->cnt < p->max; i += BLOCK_BITS) {
		if (!ruby_function_read_block(r, block, i, p))
			return false;
		block += BLOCK_WORDS * sizeof(uint64_t);
	}
	return true;
}

static bool ruby_read_positions(struct remote *r, const struct insns_info *info, uint32_t sz,
				struct positions *p)
{
	if (p->max == 1) {
		positions__add(p, 0);
		return true;
	}
	if (!info->positions)
		return ruby_read_succinct(r, info->succinct, sz, p);
	p->cnt = p->max;
	return remote__read(r, info->positions, p->at, p->max * sizeof(*p->at));
}

/* The program counter is behind the instruction that is executed. */
static int ruby_function_add_places(struct script_function *f, const struct positions *p,
				    const struct insn_entry *entries)
{
	int err = 0;

	for (uint32_t i = 0; i < p->cnt && !err; i++) {
		uint32_t off = i ? (p->at[i] + 1) * 8 : 0;

		if (p->at[i] >= INSTRUCTIONS_MAX || (f->cnt && off <= f->places[f->cnt - 1].off))
			continue;
		err = script_function__add(f, off,
					   entries[i].line <= INT32_MAX ? entries[i].line : 0);
	}
	return err;
}

/* Without lines the function still has its names. */
static int ruby_function_read_lines(struct remote *r, const struct runtime_layout *l, uint64_t body,
				    struct script_function *f)
{
	struct remote part = { .mem = r->mem, .left = r->left };
	struct insns_info info;
	struct insn_entry *entries;
	struct positions p = { 0 };
	int err = 0;

	if (!remote__read(&part, body + l->at[RUBY_BODY_INFO], &info, sizeof(info)) ||
	    info.cnt > ENTRIES_MAX || f->sz / 8 > INSTRUCTIONS_MAX)
		return 0;
	p.max = info.cnt;
	p.at = calloc(info.cnt + 1ul, sizeof(*p.at));
	entries = calloc(info.cnt + 1ul, sizeof(*entries));
	if (!p.at || !entries)
		err = -ENOMEM;
	else if (remote__read(&part, info.entries, entries, info.cnt * sizeof(*entries)) &&
		 ruby_read_positions(&part, &info, (uint32_t)(f->sz / 8) - 1, &p))
		err = ruby_function_add_places(f, &p, entries);
	free(p.at);
	free(entries);
	r->left = part.left;
	return err;
}

/* ---- instruction sequences ----------------------------------------------------------------------
 */

/* rb_iseq_constant_body */
#define BODY_TYPE	0
#define BODY_SIZE	4
#define BODY_CODE	8
#define BODY_PATH	64
#define BODY_LABEL	80
#define BODY_FIRST_LINE 88
#define INFO_PARENT	48 /* from insns_info on: parent_iseq */

#define TYPE_EVAL 6
#define EVALS_MAX 8

/* The path is a String, or the first element of an Array. */
static bool ruby_function_read_path(struct remote *r, const struct runtime_layout *l, uint64_t path,
				    char *text)
{
	uint64_t flags = path % 8 ? 0 : remote__u64(r, path);

	if ((flags & RUBY_TYPE_MASK) == RUBY_TYPE_ARRAY)
		path = ruby__element(r, path, 0);
	return ruby__text(r, l, path, text, PATH_SZ);
}

/* Evaluated code has the label of the method or block around it. From 3.4 on only that has it. */
static uint64_t ruby_labelled_body(struct remote *r, const struct runtime_layout *l, uint64_t body)
{
	for (int i = 0; i < EVALS_MAX && remote__u32(r, body + BODY_TYPE) == TYPE_EVAL; i++) {
		uint64_t parent = remote__u64(r, body + l->at[RUBY_BODY_INFO] + INFO_PARENT);

		if (!parent || !ruby_is_imemo(r, parent, IMEMO_ISEQ))
			break;
		body = remote__u64(r, parent + CAPTURE_RUBY_BODY);
	}
	return body;
}

static int ruby_function_read_names(struct remote *r, const struct runtime_layout *l, uint64_t body,
				    struct script_function *f)
{
	char path[PATH_SZ], name[NAME_SZ];

	if (!ruby_function_read_path(r, l, remote__u64(r, body + BODY_PATH), path))
		return -EINVAL;
	body = ruby_labelled_body(r, l, body);
	if (!ruby__text(r, l, remote__u64(r, body + BODY_LABEL), name, sizeof(name)) || !*name)
		return -EINVAL;
	return script_function__name(f, l->runtime->name, path, name);
}

static int ruby_read_iseq(struct remote *r, const struct runtime_layout *l, uint64_t iseq,
			  struct script_function *f)
{
	uint64_t body;
	int err;

	if (!ruby_is_imemo(r, iseq, IMEMO_ISEQ))
		return -EINVAL;
	body = remote__u64(r, iseq + CAPTURE_RUBY_BODY);
	f->start = remote__u64(r, body + BODY_CODE);
	f->sz = (remote__u32(r, body + BODY_SIZE) + 1ull) * 8;
	f->first_line = remote__u32(r, body + BODY_FIRST_LINE);
	if (l->at[RUBY_HAS_BOXED_LINE])
		f->first_line >>= 1;
	err = r->err ? -EFAULT : ruby_function_read_names(r, l, body, f);
	return err ? err : ruby_function_read_lines(r, l, body, f);
}

int ruby__read(struct remote *r, const struct runtime_layout *l, uint64_t code,
	       struct script_function *f)
{
	if (code & CAPTURE_RUBY_CFUNC)
		return ruby_read_cfunc(r, l, code - CAPTURE_RUBY_CFUNC, f);
	return ruby_read_iseq(r, l, code, f);
}

uint64_t ruby__cookie(struct remote *r, uint64_t code)
{
	uint64_t words[3], body;

	if (code & CAPTURE_RUBY_CFUNC) {
		remote__read(r, code - CAPTURE_RUBY_CFUNC + CAPTURE_RUBY_DEF, words, sizeof(words));
		return EVENT_COOKIE(words[0], words[1], words[2]);
	}
	body = remote__u64(r, code + CAPTURE_RUBY_BODY);
	remote__read(r, body + CAPTURE_RUBY_PATH, words, 2 * sizeof(*words));
	return EVENT_COOKIE(body, words[0], words[1]);
}
