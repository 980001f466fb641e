// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/codescan.h"

#include <string.h>

#include "elf/insn.h"

#define ALIGNMENT 16	/* of a function after padding */
#define DEPTH_MAX 32760 /* bytes: the maximum of a packed rule */

/* The frame at a place. The CFA is the caller's stack pointer before the call; `depth` is how far
 * the stack pointer is below the return address. */
struct scan_state {
	bool known;	/* some field is valid */
	bool has_depth; /* .depth is valid */
	bool has_fp;	/* the frame pointer is .fp_depth below the return address */
	bool lost_fp;	/* the caller's frame pointer is lost, or was not followed */
	bool is_root;	/* the function has no caller */
	int32_t depth, fp_depth;
	int32_t saved_fp; /* bytes from the CFA down to the caller's frame pointer; 0: not saved */
};

#define JUMPS 1024 /* remembered jump targets of one function; a power of two */

struct scan_jump {
	size_t to;
	uint64_t function; /* number of the function that jumps: entries of others count as free */
	struct scan_state state;
};

#define JUMP_DISTANCE_MAX 1024 /* bytes; a longer jump may be the end of the function */

/* What precedes the next instruction: a call, a call and padding, or neither. */
enum call_before { CALL_NONE, CALL_LAST, CALL_PADDED };

struct code_scanner {
	const struct code_gap *gap;
	size_t start; /* of the current function: an offset in the gap, like all offsets here */
	uint64_t function; /* number of the current function, from 1 */
	size_t farthest; /* the farthest target of its jumps: the function extends at least to it */
	size_t next;	 /* index of the next symbol */
	bool reports;	 /* false: only collects jumps */
	bool ended;	 /* execution does not fall through to the next instruction */
	enum call_before call;
	int64_t number; /* the last value of eax, for system calls; -1: unknown */
	/* Offset + 1 at which the frame pointer was cleared without being saved; 0: none. */
	size_t cleared;
	/* Offset + 1 from which the function has no caller; 0: none. */
	size_t root;
	struct scan_state state;
	/* Remaining instructions to decode: bounds the time for forged code. */
	uint64_t left;
	bool learned;		 /* this pass found jumps that earlier passes did not */
	struct scan_state table; /* at the last indirect jump: a jump table leads to its cases */
	/* After an indirect jump in a function that has pushed something: cases of a jump table. */
	bool in_table;
	struct scan_jump jumps[JUMPS];
	uint64_t last; /* bits of the last reported rule */
	code_row_fn fn;
	void *arg;
};

static const struct scan_state at_start = { .known = true, .has_depth = true };

/* ---- rules ---- */

static struct packed_rule codescan_rule_of(const struct scan_state *s)
{
	struct packed_rule rule = { .how = PACKED_NONE };

	if (s->is_root)
		return (struct packed_rule){ .how = PACKED_ROOT };
	if (!s->known || !(s->has_fp || s->has_depth) || (!s->has_fp && s->depth < 0))
		return rule;
	rule.how = s->has_fp ? PACKED_FP : PACKED_SP;
	rule.cfa = packed__words((s->has_fp ? s->fp_depth : s->depth) + 8);
	rule.fp = s->saved_fp ? packed__words(-s->saved_fp) : PACKED_FP_KEPT;
	rule.flags = s->lost_fp ? PACKED_FP_LOST : 0;
	rule.ra = -1;
	return rule;
}

static void codescan_report(struct code_scanner *c, size_t off, struct packed_rule rule)
{
	if (!c->reports || packed_rule__bits(rule) == c->last)
		return;
	c->last = packed_rule__bits(rule);
	c->fn(&(struct cfi_row){ c->gap->vaddr + off, rule }, c->arg);
}

/* ---- effects of instructions ---- */

static void codescan_move_sp(struct scan_state *s, int64_t by)
{
	int64_t depth = s->depth - by;

	s->has_depth = s->has_depth && depth <= DEPTH_MAX && depth >= -DEPTH_MAX && depth % 8 == 0;
	s->depth = s->has_depth ? (int32_t)depth : 0;
}

/* A word that was popped, or is above the stack pointer now, is no longer saved. */
static void codescan_drop_saved(struct scan_state *s)
{
	if (s->has_depth && s->saved_fp > s->depth + 8)
		s->saved_fp = 0;
}

static void codescan_push(struct scan_state *s, const struct insn *i)
{
	codescan_move_sp(s, -8);
	if (i->fp && !s->saved_fp && !s->has_fp && !s->lost_fp && s->has_depth)
		s->saved_fp = s->depth + 8;
}

static void codescan_lose_fp(struct scan_state *s)
{
	s->has_fp = false;
	s->lost_fp |= !s->saved_fp;
}

static void codescan_pop(struct scan_state *s, const struct insn *i)
{
	codescan_move_sp(s, 8);
	if (i->fp && !s->saved_fp)
		codescan_lose_fp(s);
	if (i->fp)
		s->has_fp = false;
	codescan_drop_saved(s);
}

/* Returns how far the word at sp + off is below the CFA, or 0 if that is unknown or outside the
 * frame. */
static int32_t codescan_slot_of(const struct scan_state *s, int64_t off)
{
	return s->has_depth && off >= 0 && off < s->depth ? (int32_t)(s->depth + 8 - off) : 0;
}

static void codescan_save_fp(struct scan_state *s, int64_t off)
{
	if (!s->saved_fp && !s->has_fp && !s->lost_fp && off % 8 == 0)
		s->saved_fp = codescan_slot_of(s, off);
}

static void codescan_load_fp(struct scan_state *s, int64_t off)
{
	s->has_fp = false;
	if (!s->saved_fp)
		s->lost_fp = true;
	else if (s->saved_fp == codescan_slot_of(s, off))
		s->saved_fp = 0;
}

static void codescan_sp_from_fp(struct scan_state *s, int64_t off)
{
	s->has_depth = s->has_fp;
	s->depth = s->fp_depth;
	codescan_move_sp(s, off);
	codescan_drop_saved(s);
}

static void codescan_fp_from_sp(struct scan_state *s, int64_t off)
{
	struct scan_state there = *s;

	codescan_move_sp(&there, off);
	codescan_lose_fp(s);
	s->has_fp = there.has_depth && there.depth >= 0;
	s->fp_depth = there.depth;
}

static void codescan_apply(struct scan_state *s, const struct insn *i)
{
	switch (i->kind) {
	case INSN_PUSH: codescan_push(s, i); break;
	case INSN_POP: codescan_pop(s, i); break;
	case INSN_MOVE_SP:
		codescan_move_sp(s, i->imm);
		codescan_drop_saved(s);
		break;
	case INSN_SP_FROM_FP: codescan_sp_from_fp(s, i->imm); break;
	case INSN_LOSE_SP: s->has_depth = false; break;
	case INSN_SAVE_FP: codescan_save_fp(s, i->imm); break;
	case INSN_LOAD_FP: codescan_load_fp(s, i->imm); break;
	case INSN_FP_FROM_SP: codescan_fp_from_sp(s, i->imm); break;
	case INSN_CLEAR_FP:
	case INSN_LOSE_FP: codescan_lose_fp(s); break;
	case INSN_LEAVE:
		codescan_sp_from_fp(s, 0);
		codescan_pop(s, &(struct insn){ .fp = 1 });
		break;
	case INSN_OTHER:
	case INSN_SET_EAX:
	case INSN_SYSCALL:
	case INSN_CALL:
	case INSN_NOP:
	case INSN_BRANCH:
	case INSN_JUMP:
	case INSN_JUMP_ANY:
	case INSN_RETURN:
	case INSN_STOP: break;
	}
}

/* ---- jumps ---- */

#define PROBES 8 /* of a table with open addressing; a jump that finds no slot is dropped */

/* Returns the entry of the jump to `off`, else a free slot for it, else NULL. */
static struct scan_jump *codescan_jump_to(struct code_scanner *c, size_t off)
{
	struct scan_jump *free = NULL;

	for (size_t i = 0; i < PROBES; i++) {
		struct scan_jump *j = &c->jumps[(off + i) & (JUMPS - 1)];

		if (j->function != c->function)
			free = free ? free : j;
		else if (j->to == off)
			return j;
	}
	return free;
}

static bool codescan_is_target(struct code_scanner *c, size_t off)
{
	const struct scan_jump *j = codescan_jump_to(c, off);

	return j && j->function == c->function && j->to == off;
}

/* If two jumps lead to one place, keeps the first state: in compiled code they agree. */
static void codescan_note_jump(struct code_scanner *c, size_t past, const struct insn *i)
{
	uint64_t off = past + (uint64_t)i->imm;
	struct scan_jump *j;

	if (off >= c->gap->sz || off < c->start || !c->state.known)
		return;
	if (off > c->farthest && (i->kind == INSN_BRANCH || i->imm <= JUMP_DISTANCE_MAX))
		c->farthest = off;
	j = codescan_jump_to(c, off);
	if (!j || j->function == c->function)
		return;
	*j = (struct scan_jump){ off, c->function, c->state };
	c->learned = true;
}

/* If execution does not fall through to `off`, takes the state from a jump to it, or else from an
 * indirect jump. */
static void codescan_take_jump(struct code_scanner *c, size_t off)
{
	bool target = codescan_is_target(c, off);

	if (c->state.known || (!target && !c->table.known))
		return;
	c->state = target ? codescan_jump_to(c, off)->state : c->table;
	c->ended = false;
}

/* ---- functions ---- */

static uint64_t codescan_vaddr_at(const struct code_scanner *c, size_t off)
{
	return c->gap->vaddr + off;
}

/* Returns whether a symbol marks the start of a function there. */
static bool codescan_is_start(struct code_scanner *c, size_t off)
{
	const struct code_gap *g = c->gap;

	while (c->next < g->start_cnt && g->starts[c->next].vaddr < codescan_vaddr_at(c, off))
		c->next++;
	return c->next < g->start_cnt && g->starts[c->next].vaddr == codescan_vaddr_at(c, off);
}

/*
 * Returns whether another function begins: at a symbol, or at aligned code after an end, if no jump
 * of this function leads there or beyond. A call can be an end, too, if it never returns: compilers
 * align functions and jump targets.
 */
static bool codescan_begins(struct code_scanner *c, size_t off)
{
	if (codescan_is_start(c, off))
		return true;
	if (c->in_table)
		return false;
	return (c->ended || (c->call == CALL_PADDED && c->reports)) &&
	       codescan_vaddr_at(c, off) % ALIGNMENT == 0 && off >= c->farthest &&
	       !codescan_is_target(c, off);
}

/*
 * A function that clears the frame pointer without saving it destroys its caller's. If it continues
 * straight to an instruction that ends the program, it has no caller (psABI 3.4.1: the outermost
 * frame; thread starts of C libraries).
 */
static void codescan_find_root(struct code_scanner *c, const struct insn *i, size_t off)
{
	if (i->kind == INSN_CLEAR_FP && c->state.known && !c->state.saved_fp && !c->cleared)
		c->cleared = off + 1;
	else if (i->kind == INSN_STOP && c->cleared)
		c->root = c->cleared;
	else if (i->kind == INSN_BRANCH || insn__ends(i))
		c->cleared = 0;
}

static void codescan_end(struct code_scanner *c, const struct insn *i)
{
	if (!insn__ends(i))
		return;
	if (i->kind == INSN_JUMP_ANY && !c->state.is_root)
		c->table = c->state;
	c->in_table = i->kind != INSN_RETURN && c->table.known && c->table.depth;
	c->ended = true;
	c->state = (struct scan_state){ 0 };
}

static void codescan_note_call(struct code_scanner *c, const struct insn *i)
{
	if (i->kind == INSN_CALL)
		c->call = CALL_LAST;
	else if (i->kind != INSN_NOP)
		c->call = CALL_NONE;
	else if (c->call == CALL_LAST)
		c->call = CALL_PADDED;
}

static void codescan_begin(struct code_scanner *c, size_t off)
{
	c->start = c->farthest = off;
	c->state = codescan_is_start(c, off) && c->gap->starts[c->next].is_part
			   ? (struct scan_state){ 0 }
			   : at_start;
	c->state.is_root = codescan_vaddr_at(c, off) == c->gap->entry;
	c->table = (struct scan_state){ 0 };
	c->in_table = false;
	c->ended = false;
	c->call = CALL_NONE;
	c->number = -1;
	c->cleared = 0;
}

#define SYS_EXIT       60
#define SYS_EXIT_GROUP 231

/* Treats system calls that end a thread or a process as ends of the function. */
static void codescan_find_exit(struct code_scanner *c, struct insn *i)
{
	bool exits = c->number == SYS_EXIT || c->number == SYS_EXIT_GROUP;

	if (i->kind == INSN_SYSCALL && exits)
		i->kind = INSN_STOP;
	if (i->kind == INSN_SET_EAX)
		c->number = i->imm;
	else if (i->kind == INSN_CALL || i->kind == INSN_SYSCALL || insn__ends(i))
		c->number = -1;
}

/* Decodes one instruction and applies it. Returns its length, or 1 for invalid bytes. */
static size_t codescan_scan_insn(struct code_scanner *c, size_t off)
{
	struct insn i;
	size_t sz = (c->ended ? insn__decode_after_end : insn__decode)(&i, c->gap->bytes + off,
								       c->gap->sz - off);

	/* A nop that is the target of a jump is not padding: `pause` at the head of a loop. */
	if (c->ended && i.kind == INSN_NOP && !codescan_is_target(c, off))
		return sz ? sz : 1;
	codescan_take_jump(c, off);
	c->state.is_root |= c->reports && c->root == off + 1;
	if (sz && i.kind == INSN_RETURN && !c->state.has_depth)
		c->state = at_start; /* the state at every return */
	codescan_report(c, off, codescan_rule_of(&c->state));
	if (!sz) {
		c->state = (struct scan_state){ 0 };
		return 1;
	}
	codescan_find_exit(c, &i);
	codescan_find_root(c, &i, off);
	if (c->state.known && !c->state.is_root)
		codescan_apply(&c->state, &i);
	if (i.kind == INSN_BRANCH || i.kind == INSN_JUMP)
		codescan_note_jump(c, off + sz, &i);
	codescan_note_call(c, &i);
	codescan_end(c, &i);
	return sz;
}

/* Scans a function from its start. Returns the start of the next one. If the limit of instructions
 * is reached, reports the rest of the gap as unknown. */
static size_t codescan_scan_function(struct code_scanner *c, size_t off, bool reports)
{
	c->reports = reports;
	codescan_begin(c, off);
	do
		off += codescan_scan_insn(c, off);
	while (off < c->gap->sz && c->left && --c->left && !codescan_begins(c, off));
	if (c->left)
		return off;
	if (off < c->gap->sz)
		codescan_report(c, off, (struct packed_rule){ .how = PACKED_NONE });
	return c->gap->sz;
}

#define TIMES_MAX     8
#define WORK_PER_BYTE 4 /* instructions; compiled code takes 0.5 to 1 */

/*
 * Scans a function until a pass finds no new jump target, then once more to report rows: a backward
 * jump comes after the code that it leads to. Returns the start of the next function.
 */
static size_t codescan_scan_in_turns(struct code_scanner *c, size_t off)
{
	size_t next = c->next;
	unsigned times = 0;

	c->root = 0;
	c->function++;
	do {
		c->learned = false;
		c->next = next;
		codescan_scan_function(c, off, false);
	} while (c->learned && c->left && ++times < TIMES_MAX);
	c->next = next;
	return codescan_scan_function(c, off, true);
}

void code_scan(const struct code_gap *gap, code_row_fn fn, void *arg)
{
	struct code_scanner c = { .gap = gap, .fn = fn, .arg = arg, .last = UINT64_MAX };
	size_t off = 0;

	c.left = WORK_PER_BYTE * (uint64_t)gap->sz + 1;
	while (off < gap->sz)
		off = codescan_scan_in_turns(&c, off);
}
