// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows that the instructions of an FDE make. */
#include "unwind/callframe.h"

#include <dwarf.h>
#include <stddef.h>
#include <string.h>

#define STATES_MAX 32  /* remembered at a time; compilers remember one */
#define ROWS_MAX   128 /* that are handed on at a time */

/* What nearly every instruction changes: kept in registers while they are executed. */
struct hand {
	struct cursor c;	   /* at its end: nothing that follows counts */
	uint64_t at;		   /* where the row in hand starts */
	uint64_t rule;		   /* flat_rule__bits(): what the state says */
	struct callframe_row *row; /* the next one */
};

struct run {
	const struct callframe_fde *fde;
	const struct machine *machine;
	uint64_t end;  /* of the FDE */
	uint64_t last; /* of rows that begin behind this place only the first is wanted */
	uint64_t code_align, followed;
	struct hand hand;	      /* while execute() does not have it */
	struct callframe_state state; /* its rule is `hand`'s, but where it is kept */
	struct callframe_state remembered[STATES_MAX];
	unsigned remembered_cnt;
	bool lost; /* an instruction that nobody knows: what follows is not to be believed */
	struct callframe_row rows[ROWS_MAX];
	callframe_rows_fn fn;
	void *arg;
};

/*
 * Most instructions change one number of a rule that is known. It is changed in a register: to read
 * a word of which a part has just been written takes longer than all the rest.
 */
static bool is_plain(uint64_t rule)
{
	return (uint8_t)rule <= FLAT_FP;
}

static uint64_t with(uint64_t rule, size_t field, int64_t off)
{
	unsigned shift = 8 * (unsigned)field;

	return (rule & ~((uint64_t)UINT16_MAX << shift)) | (uint64_t)(uint16_t)flat__words(off)
								   << shift;
}

static uint64_t with_cfa(uint64_t rule, enum flat_how how, int64_t off)
{
	return with(rule & ~(uint64_t)UINT8_MAX, offsetof(struct flat_rule, cfa), off) | how;
}

__attribute__((noinline)) static uint64_t find_rule(const struct run *r)
{
	struct flat_rule rule = { .how = FLAT_ELSEWHERE };

	if (!r->lost)
		rule = callframe_state__flatten(&r->state, r->fde->cie, r->machine);
	return flat_rule__bits(rule);
}

static void hand_on(struct run *r, struct callframe_row *end, uint64_t at)
{
	r->fn(r->rows, (size_t)(end - r->rows), at, r->arg);
}

/* The row in hand ends `by` bytes on. */
static inline void end_row(struct run *r, struct hand *h, uint64_t by)
{
	if (h->row == r->rows + ROWS_MAX) {
		hand_on(r, h->row, h->at);
		h->row = r->rows;
	}
	h->row->at = h->at;
	memcpy(&h->row->rule, &h->rule, sizeof(h->row->rule));
	h->row++;
	h->at += by;
}

/* No row ends here, or the last one that is wanted. */
__attribute__((noinline)) static struct hand advance_beyond(struct run *r, struct hand h,
							    uint64_t by)
{
	if (by)
		end_row(r, &h, by < r->end - h.at ? by : r->end - h.at);
	if (by || h.c.err)
		h.c.pos = h.c.end;
	return h;
}

/* One comparison: whether it is empty, and whether another one is wanted. */
static inline void advance(struct run *r, struct hand *h, uint64_t steps)
{
	uint64_t by = steps * r->code_align;

	if (by - 1 < r->last - h->at)
		end_row(r, h, by);
	else
		*h = advance_beyond(r, *h, by);
}

/* The register's place in the state; NULL: nobody follows it. */
static struct callframe_saved *followed(struct run *r, uint64_t reg, struct callframe_state *s)
{
	return reg == r->fde->cie->ra  ? &s->ra
	       : reg == r->machine->fp ? &s->fp
	       : reg == r->machine->sp ? &s->sp
				       : NULL;
}

static void save(struct run *r, uint64_t reg, enum saved_how how, int64_t off)
{
	struct callframe_saved *saved = followed(r, reg, &r->state);
	struct hand *h = &r->hand;

	if (!saved)
		return;
	*saved = (struct callframe_saved){ how, off };
	if (is_plain(h->rule) && saved == &r->state.fp && how == SAVED_AT && flat__in_words(off))
		h->rule = with(h->rule, offsetof(struct flat_rule, fp), off);
	else
		h->rule = find_rule(r);
}

static void restore(struct run *r, uint64_t reg)
{
	const struct callframe_saved *saved = followed(r, reg, &r->fde->cie->initial);

	if (saved)
		save(r, reg, saved->how, saved->off);
}

static inline int64_t factored(struct run *r, int64_t n)
{
	int64_t off;

	if (__builtin_mul_overflow(n, r->fde->cie->data_align, &off))
		r->lost = true;
	return r->lost ? 0 : off;
}

static struct cursor read_block(struct run *r)
{
	uint64_t sz = cursor__uleb(&r->hand.c);
	const uint8_t *bytes = cursor__bytes(&r->hand.c, sz);

	return cursor__on(bytes ? bytes : r->hand.c.pos, bytes ? sz : 0);
}

/* DW_OP_breg<reg> off, and whether DW_OP_deref and nothing more follows, or nothing at all. */
static bool is_at(struct cursor c, uint16_t reg, bool deref, int64_t *off)
{
	if (cursor__u8(&c) != DW_OP_breg0 + reg)
		return false;
	*off = cursor__sleb(&c);
	if (deref && cursor__u8(&c) != DW_OP_deref)
		return false;
	return !c.err && !cursor__left(&c);
}

/* What linkers write for PLT entries: sp + 8 + ((rip & 15) >= n) << 3. */
static bool is_plt(struct cursor c, int64_t *from)
{
	static const uint8_t before[] = { DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t behind[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	const uint8_t *bytes = cursor__bytes(&c, sizeof(before) + 1 + sizeof(behind));

	if (!bytes || cursor__left(&c) || memcmp(bytes, before, sizeof(before)) ||
	    memcmp(bytes + sizeof(before) + 1, behind, sizeof(behind)))
		return false;
	*from = bytes[sizeof(before)] - DW_OP_lit0;
	return *from >= 0 && *from < 16;
}

static inline void set_cfa(struct run *r, struct hand *h, uint64_t reg, int64_t off)
{
	bool is_sp = reg == r->machine->sp, is_flat = is_sp || reg == r->machine->fp;

	r->state.cfa.how = CFA_REGISTER;
	r->state.cfa.reg = reg;
	r->state.cfa.off = off;
	h->rule = is_plain(h->rule) && is_flat && flat__in_words(off)
			  ? with_cfa(h->rule, is_sp ? FLAT_SP : FLAT_FP, off)
			  : find_rule(r);
}

/* Allowed where the CFA is a register and an offset already. */
static void need_register(struct run *r)
{
	if (r->state.cfa.how != CFA_REGISTER)
		r->lost = true;
}

static void set_cfa_expression(struct run *r)
{
	const struct machine *m = r->machine;
	struct cursor block = read_block(r);
	int64_t *off = &r->state.cfa.off;

	r->state.cfa.how = is_at(block, m->fp, true, off)		? CFA_AT_FP
			   : is_at(block, m->sp, true, off)		? CFA_AT_SP
			   : m == &machine_x86_64 && is_plt(block, off) ? CFA_PLT
									: CFA_OTHERWISE;
	r->hand.rule = find_rule(r);
}

static void save_expression(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);
	struct cursor block = read_block(r);
	int64_t off;

	if (reg == r->machine->fp && is_at(block, r->machine->fp, false, &off) && off == 0)
		save(r, reg, SAVED_AT_FP, 0);
	else if (is_at(block, r->machine->sp, false, &off))
		save(r, reg, SAVED_AT_SP, off);
	else
		save(r, reg, SAVED_OTHERWISE, 0);
}

static void remember(struct run *r)
{
	struct callframe_state *s = &r->remembered[r->remembered_cnt];

	if (r->remembered_cnt == STATES_MAX) {
		r->lost = true;
		return;
	}
	*s = r->state;
	s->rule = r->hand.rule;
	r->remembered_cnt++;
}

static void recall(struct run *r)
{
	if (r->remembered_cnt == 0)
		r->lost = true;
	else
		r->state = r->remembered[--r->remembered_cnt];
	r->hand.rule = r->state.rule;
}

/* ---- one instruction each ---- */

static void offset(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);

	save(r, reg, SAVED_AT, factored(r, (int64_t)cursor__uleb(&r->hand.c)));
}

static void offset_sf(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);

	save(r, reg, SAVED_AT, factored(r, cursor__sleb(&r->hand.c)));
}

static void negative_offset(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);
	int64_t off = factored(r, (int64_t)cursor__uleb(&r->hand.c));

	r->lost |= __builtin_sub_overflow(0, off, &off);
	save(r, reg, SAVED_AT, off);
}

static void restore_extended(struct run *r)
{
	restore(r, cursor__uleb(&r->hand.c));
}

static void undefined(struct run *r)
{
	save(r, cursor__uleb(&r->hand.c), SAVED_UNDEFINED, 0);
}

static void same_value(struct run *r)
{
	save(r, cursor__uleb(&r->hand.c), SAVED_SAME, 0);
}

/* DW_CFA_register, DW_CFA_val_offset(_sf): a register, and a number that no flat rule needs. */
static void otherwise(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);

	cursor__uleb(&r->hand.c);
	save(r, reg, SAVED_OTHERWISE, 0);
}

static void val_expression(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);

	read_block(r);
	save(r, reg, SAVED_OTHERWISE, 0);
}

static void def_cfa_sf(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);

	set_cfa(r, &r->hand, reg, factored(r, cursor__sleb(&r->hand.c)));
}

static void def_cfa_register(struct run *r)
{
	need_register(r);
	set_cfa(r, &r->hand, cursor__uleb(&r->hand.c), r->state.cfa.off);
}

static void def_cfa_offset(struct run *r)
{
	need_register(r);
	set_cfa(r, &r->hand, r->state.cfa.reg, (int64_t)cursor__uleb(&r->hand.c));
}

static void def_cfa_offset_sf(struct run *r)
{
	need_register(r);
	set_cfa(r, &r->hand, r->state.cfa.reg, factored(r, cursor__sleb(&r->hand.c)));
}

static void args_size(struct run *r)
{
	cursor__uleb(&r->hand.c);
}

/*
 * DW_CFA_AARCH64_negate_ra_state (AADWARF64 4.4.1): whether the return address is signed changes
 * here, which who takes the signature off need not know. SPARC means something else by it.
 */
static void negate_ra_state(struct run *r)
{
	r->lost |= r->machine != &machine_aarch64;
}

/*
 * DWARF 5, table 7.29, and the GNU ones; those of execute() are left out. NULL: nobody knows it
 * (DW_CFA_set_loc too: no compiler writes it).
 */
static void (*const handlers[64])(struct run *) = {
	[DW_CFA_offset_extended] = offset,
	[DW_CFA_offset_extended_sf] = offset_sf,
	[DW_CFA_GNU_negative_offset_extended] = negative_offset,
	[DW_CFA_restore_extended] = restore_extended,
	[DW_CFA_undefined] = undefined,
	[DW_CFA_same_value] = same_value,
	[DW_CFA_register] = otherwise,
	[DW_CFA_val_offset] = otherwise,
	[DW_CFA_val_offset_sf] = otherwise,
	[DW_CFA_val_expression] = val_expression,
	[DW_CFA_expression] = save_expression,
	[DW_CFA_remember_state] = remember,
	[DW_CFA_restore_state] = recall,
	[DW_CFA_def_cfa_sf] = def_cfa_sf,
	[DW_CFA_def_cfa_register] = def_cfa_register,
	[DW_CFA_def_cfa_offset] = def_cfa_offset,
	[DW_CFA_def_cfa_offset_sf] = def_cfa_offset_sf,
	[DW_CFA_def_cfa_expression] = set_cfa_expression,
	[DW_CFA_GNU_args_size] = args_size,
	[DW_CFA_AARCH64_negate_ra_state] = negate_ra_state,
	[DW_CFA_AARCH64_negate_ra_state_with_pc] = negate_ra_state,
};

#define PRIMARY 0xc0
#define LOW	0x3f /* behind it: a register, or a distance */

static void handle(struct run *r, uint8_t op)
{
	if ((op & PRIMARY) == DW_CFA_offset)
		save(r, op & LOW, SAVED_AT, factored(r, (int64_t)cursor__uleb(&r->hand.c)));
	else if ((op & PRIMARY) == DW_CFA_restore)
		restore(r, op & LOW);
	else if (handlers[op])
		handlers[op](r);
	else
		r->lost = true;
}

static struct hand execute_unusual(struct run *r, uint8_t op, struct hand h)
{
	r->hand = h;
	handle(r, op);
	r->lost |= r->hand.c.err;
	if (r->lost)
		r->hand.c.pos = r->hand.c.end;
	return r->hand;
}

static inline bool is_advance(uint8_t op, struct cursor *c, uint64_t *steps)
{
	if ((op & PRIMARY) == DW_CFA_advance_loc)
		*steps = op & LOW;
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

/* DW_CFA_def_cfa_offset of a plain rule: the CFA is a register and an offset. */
static inline void set_plain_offset(struct run *r, struct hand *h)
{
	int64_t off = (int64_t)cursor__uleb(&h->c);

	r->state.cfa.off = off;
	h->rule = flat__in_words(off) ? with(h->rule, offsetof(struct flat_rule, cfa), off)
				      : find_rule(r);
}

static inline void def_cfa(struct run *r, struct hand *h)
{
	uint64_t reg = cursor__uleb(&h->c);

	set_cfa(r, h, reg, (int64_t)cursor__uleb(&h->c));
}

static inline bool next_is(struct cursor *c, uint8_t op)
{
	bool is = cursor__left(c) && *c->pos == op;

	c->pos += is;
	return is;
}

/* An entry ends with some. */
static inline void skip_nops(struct cursor *c)
{
	while (next_is(c, DW_CFA_nop))
		continue;
}

/* The usual instructions are done here: "advance, def_cfa_offset" is nearly all there is. */
static void execute(struct run *r)
{
	struct hand h = { r->fde->instructions, r->fde->start, r->state.rule, r->rows };

	if (r->lost)
		h.c.pos = h.c.end;
	while (cursor__left(&h.c)) {
		uint8_t op = *h.c.pos++;
		uint64_t steps;

		if (is_advance(op, &h.c, &steps)) {
			advance(r, &h, steps);
			if (!next_is(&h.c, DW_CFA_def_cfa_offset))
				continue;
			op = DW_CFA_def_cfa_offset;
		}
		if (op == DW_CFA_def_cfa_offset && is_plain(h.rule))
			set_plain_offset(r, &h);
		else if ((op & PRIMARY) == DW_CFA_offset && !(r->followed >> (op & LOW) & 1))
			cursor__uleb(&h.c);
		else if (op == DW_CFA_nop)
			skip_nops(&h.c);
		else if (op == DW_CFA_def_cfa)
			def_cfa(r, &h);
		else if (op == DW_CFA_def_cfa_register && is_plain(h.rule))
			set_cfa(r, &h, cursor__uleb(&h.c), r->state.cfa.off);
		else
			h = execute_unusual(r, op, h);
	}
	r->lost |= h.c.err;
	if (r->lost)
		h.rule = find_rule(r);
	r->state.rule = h.rule;
	if (h.at < r->end)
		end_row(r, &h, r->end - h.at);
	hand_on(r, h.row, h.at);
}

/* With what the FDE's CIE begins with. */
static void run(struct run *r, const struct callframe_fde *fde)
{
	r->fde = fde;
	r->end = fde->start + fde->sz;
	r->last = fde->enough - fde->start < fde->sz ? fde->enough : r->end - 1;
	r->code_align = fde->cie->code_align;
	r->followed = fde->cie->followed;
	r->state = fde->cie->initial;
	r->remembered_cnt = 0;
	r->lost = fde->cie->lost;
	execute(r);
}

static void drop(struct callframe_row *rows, size_t cnt, uint64_t end, void *arg)
{
	(void)rows, (void)cnt, (void)end, (void)arg;
}

static uint64_t bit_of(uint64_t reg)
{
	return reg <= LOW ? 1ull << reg : 0;
}

/* What FDEs of the CIE begin with: found once. Its rows are nobody's. */
static void begin(struct run *r, struct callframe_cie *cie)
{
	const struct flat_rule unknown = { .how = FLAT_ELSEWHERE };
	const struct callframe_fde all = { .sz = UINT64_MAX,
					   .cie = cie,
					   .instructions = cie->instructions,
					   .enough = UINT64_MAX };

	r->fn = drop;
	cie->followed = bit_of(cie->ra) | bit_of(r->machine->fp) | bit_of(r->machine->sp);
	cie->initial = (struct callframe_state){ .cfa.how = CFA_OTHERWISE,
						 .rule = flat_rule__bits(unknown) };
	run(r, &all);
	cie->initial = r->state;
	cie->lost = r->lost;
	cie->begun = true;
}

void callframe__rows(const struct callframe_fde *fde, const struct machine *machine,
		     callframe_rows_fn fn, void *arg)
{
	struct run r; /* not zeroed: what is remembered is large */

	r.machine = machine;
	r.arg = arg;
	if (!fde->cie->begun)
		begin(&r, fde->cie);
	r.fn = fn;
	run(&r, fde);
}
