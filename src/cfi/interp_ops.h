/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of an FDE while its instructions are executed, and the instructions that are not
 * common. cfi/interp.c executes the common ones in registers. Private to it.
 */
#ifndef CFI_INTERP_OPS_H
#define CFI_INTERP_OPS_H

#include <stddef.h>
#include <string.h>

#include "cfi/reader.h"

#define STATES_MAX 32  /* remembered states; compilers use one */
#define ROWS_MAX   128 /* rows passed on at a time */

/* The fields that nearly every instruction changes. They are kept in registers during execution. */
struct cfi_hot_state {
	struct cursor c;     /* at its end after an error: the rest is ignored */
	uint64_t at;	     /* where the current row starts */
	uint64_t rule;	     /* packed_rule__bits() of the state */
	struct cfi_row *row; /* the next row to write */
};

struct cfi_run {
	const struct cfi_fde *fde;
	const struct machine *machine;
	uint64_t end;  /* of the FDE */
	uint64_t last; /* of the rows after this place only the first is needed */
	uint64_t code_align, followed;
	struct cfi_hot_state hand; /* valid while interp_execute() does not hold it */
	struct cfi_state state; /* without its rule, which is in `hand`; saved states have theirs */
	struct cfi_state remembered[STATES_MAX];
	unsigned remembered_cnt;
	bool lost; /* an unknown instruction: the rest of the FDE is not used */
	struct cfi_row rows[ROWS_MAX];
	cfi_rows_fn fn;
	void *arg;
};

#define CFA_PRIMARY 0xc0
#define CFA_LOW	    0x3f /* operand in the low bits: a register or a distance */

/*
 * Most instructions change one number of a known rule. It is changed in a register: reading a word
 * right after a store to part of it takes longer than the rest of the instruction (store forwarding
 * fails).
 */
static inline bool rule_is_plain(uint64_t rule)
{
	return (uint8_t)rule <= PACKED_FP;
}

static inline uint64_t rule_with(uint64_t rule, size_t field, int64_t off)
{
	unsigned shift = 8 * (unsigned)field;

	return (rule & ~((uint64_t)UINT16_MAX << shift)) | (uint64_t)(uint16_t)packed__words(off)
								   << shift;
}

static inline uint64_t rule_with_cfa(uint64_t rule, enum packed_how how, int64_t off)
{
	return rule_with(rule & ~(uint64_t)UINT8_MAX, offsetof(struct packed_rule, cfa), off) | how;
}

/* Returns packed_rule__bits() of the state, or PACKED_ELSEWHERE if an instruction was unknown. */
uint64_t cfi_run__find_rule(const struct cfi_run *);

/* Executes an instruction that does not advance the location, on `.hand`, with the cursor at its
 * operands. Sets `.lost` for an unknown or invalid instruction. */
void cfi_run__handle(struct cfi_run *, uint8_t op);

static inline void cfi_run__set_cfa(struct cfi_run *r, struct cfi_hot_state *h, uint64_t reg,
				    int64_t off)
{
	bool is_sp = reg == r->machine->sp, is_flat = is_sp || reg == r->machine->fp;

	r->state.cfa.how = CFA_REGISTER;
	r->state.cfa.reg = reg;
	r->state.cfa.off = off;
	h->rule = rule_is_plain(h->rule) && is_flat && packed__in_words(off)
			  ? rule_with_cfa(h->rule, is_sp ? PACKED_SP : PACKED_FP, off)
			  : cfi_run__find_rule(r);
}

#endif
