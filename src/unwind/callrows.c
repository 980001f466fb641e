// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows that the instructions of an FDE make. */
#include "unwind/callframe.h"

#include <dwarf.h>
#include <stddef.h>
#include <string.h>

#define STATES_MAX 32  /* remembered at a time; compilers remember one */
#define ROWS_MAX   128 /* that are handed on at a time */

/* A CIE makes none that are handed on. */
_Static_assert(ROWS_MAX >= CALLFRAME_CIE_MAX, "each of its bytes may make a row");

#define UNKNOWN UINT8_MAX /* to be found when it is needed */

struct run {
	const struct callframe_fde *fde;
	const struct machine *machine;
	struct cursor c;  /* of the instruction in hand */
	uint64_t at, end; /* where the row in hand starts; where the FDE ends */
	uint64_t until;	  /* no row is wanted that starts here, or behind, but the first */
	uint64_t code_align;
	struct callframe_state state, remembered[STATES_MAX];
	unsigned remembered_cnt;
	bool lost; /* an instruction that nobody knows: what follows is not to be believed */
	struct callframe_row *row; /* the next one of: */
	struct callframe_row rows[ROWS_MAX];
	callframe_rows_fn fn;
	void *arg;
};

/*
 * Most instructions change one number of a rule that is known. It is changed in a register: to read
 * a word of which a part has just been written takes longer than all the rest.
 */
static bool is_plain(const struct callframe_state *s)
{
	return (uint8_t)s->rule <= FLAT_FP;
}

static uint64_t with(uint64_t rule, size_t field, int64_t off)
{
	unsigned shift = 8 * (unsigned)field;

	return (rule & ~((uint64_t)UINT16_MAX << shift)) | (uint64_t)(uint16_t)flat__words(off)
								   << shift;
}

__attribute__((noinline)) static void find_rule(struct run *r)
{
	struct flat_rule rule = { .how = FLAT_ELSEWHERE };

	if (!r->lost)
		rule = callframe_state__flatten(&r->state, r->fde->cie, r->machine);
	r->state.rule = flat_rule__bits(rule);
}

__attribute__((noinline)) static void hand_on(struct run *r)
{
	r->fn(r->rows, (size_t)(r->row - r->rows), r->at, r->arg);
	r->row = r->rows;
}

/* The row in hand ends `by` bytes on; none goes beyond the FDE. */
static inline void end_row(struct run *r, uint64_t by)
{
	if (by > r->end - r->at)
		by = r->end - r->at;
	if (!by)
		return;
	if (r->row == r->rows + ROWS_MAX)
		hand_on(r);
	if (r->state.rule == UNKNOWN)
		find_rule(r);
	r->row->at = r->at;
	memcpy(&r->row->rule, &r->state.rule, sizeof(r->row->rule));
	r->row++;
	r->at += by;
}

static inline void advance(struct run *r, uint64_t steps)
{
	uint64_t by;

	if (__builtin_mul_overflow(steps, r->code_align, &by))
		by = UINT64_MAX;
	end_row(r, by);
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
	struct callframe_state *s = &r->state;

	if (!saved)
		return;
	*saved = (struct callframe_saved){ how, off };
	if (is_plain(s) && saved == &s->fp && how == SAVED_AT && flat__in_words(off))
		s->rule = with(s->rule, offsetof(struct flat_rule, fp), off);
	else
		s->rule = UNKNOWN;
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
	uint64_t sz = cursor__uleb(&r->c);
	const uint8_t *bytes = cursor__bytes(&r->c, sz);

	return cursor__on(bytes ? bytes : r->c.pos, bytes ? sz : 0);
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

static inline void set_cfa_offset(struct run *r, int64_t off)
{
	struct callframe_state *s = &r->state;

	s->rule = is_plain(s) && flat__in_words(off)
			  ? with(s->rule, offsetof(struct flat_rule, cfa), off)
			  : UNKNOWN;
	s->cfa.off = off;
}

static void set_cfa(struct run *r, uint64_t reg, int64_t off)
{
	struct callframe_state *s = &r->state;

	if (reg != s->cfa.reg)
		s->rule = UNKNOWN;
	s->cfa.how = CFA_REGISTER;
	s->cfa.reg = reg;
	set_cfa_offset(r, off);
}

/* Allowed where the CFA is a register and an offset already. */
static inline void need_register(struct run *r)
{
	if (r->state.cfa.how != CFA_REGISTER)
		r->lost = true;
}

static void set_cfa_expression(struct run *r)
{
	const struct machine *m = r->machine;
	struct cursor block = read_block(r);
	int64_t *off = &r->state.cfa.off;

	r->state.rule = UNKNOWN;
	r->state.cfa.how = is_at(block, m->fp, true, off)		? CFA_AT_FP
			   : is_at(block, m->sp, true, off)		? CFA_AT_SP
			   : m == &machine_x86_64 && is_plt(block, off) ? CFA_PLT
									: CFA_OTHERWISE;
}

static void save_expression(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->c);
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
	if (r->remembered_cnt == STATES_MAX)
		r->lost = true;
	else
		r->remembered[r->remembered_cnt++] = r->state;
}

static void recall(struct run *r)
{
	if (r->remembered_cnt == 0)
		r->lost = true;
	else
		r->state = r->remembered[--r->remembered_cnt];
}

/* ---- one instruction each ---- */

static void advance_1(struct run *r)
{
	advance(r, cursor__u8(&r->c));
}

static void advance_2(struct run *r)
{
	advance(r, cursor__u16(&r->c));
}

static void advance_4(struct run *r)
{
	advance(r, cursor__u32(&r->c));
}

static void offset(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->c);

	save(r, reg, SAVED_AT, factored(r, (int64_t)cursor__uleb(&r->c)));
}

static void offset_sf(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->c);

	save(r, reg, SAVED_AT, factored(r, cursor__sleb(&r->c)));
}

static void negative_offset(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->c);
	int64_t off = factored(r, (int64_t)cursor__uleb(&r->c));

	r->lost |= __builtin_sub_overflow(0, off, &off);
	save(r, reg, SAVED_AT, off);
}

static void restore_extended(struct run *r)
{
	restore(r, cursor__uleb(&r->c));
}

static void undefined(struct run *r)
{
	save(r, cursor__uleb(&r->c), SAVED_UNDEFINED, 0);
}

static void same_value(struct run *r)
{
	save(r, cursor__uleb(&r->c), SAVED_SAME, 0);
}

/* DW_CFA_register, DW_CFA_val_offset(_sf): a register, and a number that no flat rule needs. */
static void otherwise(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->c);

	cursor__uleb(&r->c);
	save(r, reg, SAVED_OTHERWISE, 0);
}

static void val_expression(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->c);

	read_block(r);
	save(r, reg, SAVED_OTHERWISE, 0);
}

static void def_cfa(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->c);

	set_cfa(r, reg, (int64_t)cursor__uleb(&r->c));
}

static void def_cfa_sf(struct run *r)
{
	uint64_t reg = cursor__uleb(&r->c);

	set_cfa(r, reg, factored(r, cursor__sleb(&r->c)));
}

static void def_cfa_register(struct run *r)
{
	need_register(r);
	set_cfa(r, cursor__uleb(&r->c), r->state.cfa.off);
}

static void def_cfa_offset_sf(struct run *r)
{
	need_register(r);
	set_cfa_offset(r, factored(r, cursor__sleb(&r->c)));
}

static void args_size(struct run *r)
{
	cursor__uleb(&r->c);
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
	[DW_CFA_advance_loc1] = advance_1,
	[DW_CFA_advance_loc2] = advance_2,
	[DW_CFA_advance_loc4] = advance_4,
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
	[DW_CFA_def_cfa] = def_cfa,
	[DW_CFA_def_cfa_sf] = def_cfa_sf,
	[DW_CFA_def_cfa_register] = def_cfa_register,
	[DW_CFA_def_cfa_offset_sf] = def_cfa_offset_sf,
	[DW_CFA_def_cfa_expression] = set_cfa_expression,
	[DW_CFA_GNU_args_size] = args_size,
	[DW_CFA_AARCH64_negate_ra_state] = negate_ra_state,
	[DW_CFA_AARCH64_negate_ra_state_with_pc] = negate_ra_state,
};

/* Of what is not in execute(). */
static struct cursor extended(struct run *r, uint8_t op, struct cursor c)
{
	r->c = c;
	if (handlers[op])
		handlers[op](r);
	r->lost |= !handlers[op] || r->c.err;
	return r->c;
}

/* The usual instructions are done here, with the cursor in registers. */
static void execute(struct run *r, struct cursor c)
{
	while (cursor__left(&c) && r->at < r->until && !r->lost) {
		uint8_t op = *c.pos++, low = op & 0x3f;

		if ((op & 0xc0) == DW_CFA_advance_loc) {
			advance(r, low);
		} else if (op == DW_CFA_def_cfa_offset) {
			need_register(r);
			set_cfa_offset(r, (int64_t)cursor__uleb(&c));
		} else if ((op & 0xc0) == DW_CFA_offset) {
			save(r, low, SAVED_AT, factored(r, (int64_t)cursor__uleb(&c)));
		} else if ((op & 0xc0) == DW_CFA_restore) {
			restore(r, low);
		} else if (op != DW_CFA_nop) {
			c = extended(r, op, c);
		}
	}
	r->lost |= c.err;
	if (r->lost || r->state.rule == UNKNOWN)
		find_rule(r);
}

/* What an FDE of the CIE in hand begins with: found once. */
static void begin(struct run *r)
{
	struct callframe_cie *cie = r->fde->cie;

	r->at = 0;
	r->end = r->until = UINT64_MAX;
	r->state = (struct callframe_state){ .cfa.how = CFA_OTHERWISE, .rule = UNKNOWN };
	execute(r, cie->instructions);
	r->remembered_cnt = 0;
	r->row = r->rows;
	cie->initial = r->state;
	cie->lost = r->lost;
	cie->begun = true;
}

void callframe__rows(const struct callframe_fde *fde, const struct machine *machine,
		     callframe_rows_fn fn, void *arg)
{
	struct run r; /* not zeroed: what is remembered is large */

	r.fde = fde;
	r.machine = machine;
	r.code_align = fde->cie->code_align;
	r.remembered_cnt = 0;
	r.row = r.rows;
	r.lost = false;
	r.fn = fn;
	r.arg = arg;
	if (!fde->cie->begun)
		begin(&r);
	r.at = fde->start;
	r.end = fde->start + fde->sz;
	r.until = fde->enough < r.end ? fde->enough + 1 : r.end;
	r.state = fde->cie->initial;
	r.lost = fde->cie->lost;
	if (!r.lost)
		execute(&r, fde->instructions);
	end_row(&r, UINT64_MAX);
	hand_on(&r);
}
