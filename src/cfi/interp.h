/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An FDE while its instructions are executed: of interp.c, which does the usual ones in
 * registers, and of interp_ops.c, which knows all others.
 */
#ifndef CFI_INTERP_H
#define CFI_INTERP_H

#include <stddef.h>
#include <string.h>

#include "cfi/reader.h"

#define STATES_MAX 32  /* remembered at a time; compilers remember one */
#define ROWS_MAX   128 /* that are handed on at a time */

/* What nearly every instruction changes: kept in registers while they are executed. */
struct cfi_hot_state {
	struct cursor c;     /* at its end: nothing that follows counts */
	uint64_t at;	     /* where the row in hand starts */
	uint64_t rule;	     /* packed_rule__bits(): what the state says */
	struct cfi_row *row; /* the next one */
};

struct cfi_run {
	const struct cfi_fde *fde;
	const struct machine *machine;
	uint64_t end;  /* of the FDE */
	uint64_t last; /* of rows that begin behind this place only the first is wanted */
	uint64_t code_align, followed;
	struct cfi_hot_state hand; /* while execute() does not have it */
	struct cfi_state state;	   /* its rule is `hand`'s, but where it is kept */
	struct cfi_state remembered[STATES_MAX];
	unsigned remembered_cnt;
	bool lost; /* an instruction that nobody knows: what follows is not to be believed */
	struct cfi_row rows[ROWS_MAX];
	cfi_rows_fn fn;
	void *arg;
};

#define CFA_PRIMARY 0xc0
#define CFA_LOW	    0x3f /* behind it: a register, or a distance */

/*
 * Most instructions change one number of a rule that is known. It is changed in a register: to read
 * a word of which a part has just been written takes longer than all the rest.
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

/* What the state says, as packed_rule__bits(): PACKED_ELSEWHERE where instructions were lost. */
uint64_t cfi_run__find_rule(const struct cfi_run *);

/* Executes an instruction that advances nothing, on .hand: its operands are next. One that nobody
 * knows, or that makes no sense, sets .lost. */
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
