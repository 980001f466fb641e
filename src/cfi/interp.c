// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/interp.h"

#include <dwarf.h>

#include "cfi/interp_ops.h"

static void interp_hand_on(struct cfi_run *r, struct cfi_row *end, uint64_t at)
{
	r->fn(r->rows, (size_t)(end - r->rows), at, r->arg);
}

/* Ends the current row and starts the next one `by` bytes later. */
static inline void interp_end_row(struct cfi_run *r, struct cfi_hot_state *h, uint64_t by)
{
	if (h->row == r->rows + ROWS_MAX) {
		interp_hand_on(r, h->row, h->at);
		h->row = r->rows;
	}
	h->row->at = h->at;
	memcpy(&h->row->rule, &h->rule, sizeof(h->row->rule));
	h->row++;
	h->at += by;
}

/* Handles the rare cases of interp_advance(): no row ends here, or the row is the last one needed.
 */
__attribute__((noinline)) static struct cfi_hot_state interp_advance_beyond(struct cfi_run *r,
									    struct cfi_hot_state h,
									    uint64_t by)
{
	if (by)
		interp_end_row(r, &h, by < r->end - h.at ? by : r->end - h.at);
	if (by || h.c.err)
		h.c.pos = h.c.end;
	return h;
}

/* A single comparison tests that the advance is not 0 and that another row is needed. */
static inline void interp_advance(struct cfi_run *r, struct cfi_hot_state *h, uint64_t steps)
{
	uint64_t by = steps * r->code_align;

	if (by - 1 < r->last - h->at)
		interp_end_row(r, h, by);
	else
		*h = interp_advance_beyond(r, *h, by);
}

static struct cfi_hot_state interp_execute_unusual(struct cfi_run *r, uint8_t op,
						   struct cfi_hot_state h)
{
	r->hand = h;
	cfi_run__handle(r, op);
	r->lost |= r->hand.c.err;
	if (r->lost)
		r->hand.c.pos = r->hand.c.end;
	return r->hand;
}

static inline bool interp_is_advance(uint8_t op, struct cursor *c, uint64_t *steps)
{
	if ((op & CFA_PRIMARY) == DW_CFA_advance_loc)
		*steps = op & CFA_LOW;
	else if (op == DW_CFA_advance_loc1)
		*steps = cursor__u8(c);
	else if (op == DW_CFA_advance_loc2)
		*steps = cursor__u16(c);
	else if (op == DW_CFA_advance_loc4)
		*steps = cursor__u32(c);
	else
		return false;
	return true;
}

/* DW_CFA_def_cfa_offset for a plain rule: the CFA is a register and an offset. */
static inline void interp_set_plain_offset(struct cfi_run *r, struct cfi_hot_state *h)
{
	int64_t off = (int64_t)cursor__uleb(&h->c);

	r->state.cfa.off = off;
	h->rule = packed__in_words(off) ? rule_with(h->rule, offsetof(struct packed_rule, cfa), off)
					: cfi_run__find_rule(r);
}

static inline void interp_def_cfa(struct cfi_run *r, struct cfi_hot_state *h)
{
	uint64_t reg = cursor__uleb(&h->c);

	cfi_run__set_cfa(r, h, reg, (int64_t)cursor__uleb(&h->c));
}

static inline bool interp_next_is(struct cursor *c, uint8_t op)
{
	bool is = cursor__left(c) && *c->pos == op;

	c->pos += is;
	return is;
}

/* Entries are padded with DW_CFA_nop. */
static inline void interp_skip_nops(struct cursor *c)
{
	while (interp_next_is(c, DW_CFA_nop))
		continue;
}

/* Executes the common instructions itself: nearly all are "advance, def_cfa_offset". */
static void interp_execute(struct cfi_run *r)
{
	struct cfi_hot_state h = { r->fde->instructions, r->fde->start, r->state.rule, r->rows };

	if (r->lost)
		h.c.pos = h.c.end;
	while (cursor__left(&h.c)) {
		uint8_t op = *h.c.pos++;
		uint64_t steps;

		if (interp_is_advance(op, &h.c, &steps)) {
			interp_advance(r, &h, steps);
			if (!interp_next_is(&h.c, DW_CFA_def_cfa_offset))
				continue;
			op = DW_CFA_def_cfa_offset;
		}
		if (op == DW_CFA_def_cfa_offset && rule_is_plain(h.rule))
			interp_set_plain_offset(r, &h);
		else if ((op & CFA_PRIMARY) == DW_CFA_offset &&
			 !(r->followed >> (op & CFA_LOW) & 1))
			cursor__uleb(&h.c);
		else if (op == DW_CFA_nop)
			interp_skip_nops(&h.c);
		else if (op == DW_CFA_def_cfa)
			interp_def_cfa(r, &h);
		else if (op == DW_CFA_def_cfa_register && rule_is_plain(h.rule))
			cfi_run__set_cfa(r, &h, cursor__uleb(&h.c), r->state.cfa.off);
		else
			h = interp_execute_unusual(r, op, h);
	}
	r->lost |= h.c.err;
	if (r->lost)
		h.rule = cfi_run__find_rule(r);
	r->state.rule = h.rule;
	if (h.at < r->end)
		interp_end_row(r, &h, r->end - h.at);
	interp_hand_on(r, h.row, h.at);
}

/* Executes an FDE, starting from the state of its CIE. */
static void interp_run(struct cfi_run *r, const struct cfi_fde *fde)
{
	r->fde = fde;
	r->end = fde->start + fde->sz;
	r->last = fde->enough - fde->start < fde->sz ? fde->enough : r->end - 1;
	r->code_align = fde->cie->code_align;
	r->followed = fde->cie->followed;
	r->state = fde->cie->initial;
	r->remembered_cnt = 0;
	r->lost = fde->cie->lost;
	interp_execute(r);
}

static void interp_drop(struct cfi_row *rows, size_t cnt, uint64_t end, void *arg)
{
	(void)rows, (void)cnt, (void)end, (void)arg;
}

static uint64_t interp_bit_of(uint64_t reg)
{
	return reg <= CFA_LOW ? 1ull << reg : 0;
}

/* Finds the state with which FDEs of the CIE begin, once per CIE. Its rows are dropped. */
static void interp_begin(struct cfi_run *r, struct cfi_cie *cie)
{
	const struct packed_rule unknown = { .how = PACKED_ELSEWHERE };
	const struct cfi_fde all = { .sz = UINT64_MAX,
				     .cie = cie,
				     .instructions = cie->instructions,
				     .enough = UINT64_MAX };

	r->fn = interp_drop;
	cie->followed = interp_bit_of(cie->ra) | interp_bit_of(r->machine->fp) |
			interp_bit_of(r->machine->sp) | interp_bit_of(MACHINE_EH_DATA_REG);
	cie->initial =
		(struct cfi_state){ .cfa.how = CFA_OTHERWISE, .rule = packed_rule__bits(unknown) };
	interp_run(r, &all);
	cie->initial = r->state;
	cie->lost = r->lost;
	cie->begun = true;
}

void cfi_fde__rows(const struct cfi_fde *fde, const struct machine *machine, cfi_rows_fn fn,
		   void *arg)
{
	struct cfi_run r; /* not zeroed, because the remembered states are large */

	r.machine = machine;
	r.arg = arg;
	if (!fde->cie->begun)
		interp_begin(&r, fde->cie);
	r.fn = fn;
	interp_run(&r, fde);
}
