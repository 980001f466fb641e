// SPDX-License-Identifier: GPL-2.0-or-later
/* Executes call-frame instructions one by one: all except those that only interp_execute() handles.
 */
#include "cfi/interp_ops.h"

#include <dwarf.h>

/* ---- the state as a packed rule -----------------------------------------------------------------
 */

/* Returns whether all registers are saved relative to the stack pointer, at multiples of a word. */
static bool interp_ops_is_signal_frame(const struct cfi_state *s, const struct machine *m)
{
	return s->cfa.how == CFA_AT_SP && s->sp.how == SAVED_AT_SP && s->sp.off == s->cfa.off &&
	       s->fp.how == SAVED_AT_SP && s->ra.how == SAVED_AT_SP &&
	       packed__in_words(s->cfa.off) && packed__in_words(s->fp.off) &&
	       packed__in_words(s->ra.off) && !machine__links(m);
}

static bool interp_ops_has_packed_regs(const struct cfi_state *s, const struct machine *m)
{
	bool linked = s->ra.how == SAVED_SAME && machine__links(m);

	if (!linked && (s->ra.how != SAVED_AT || !packed__in_words(s->ra.off)))
		return false;
	if (!linked && machine__links(m) && s->ra.off >= 0) /* see fullrule_mend_plt_resolver() */
		return false;
	if (s->fp.how == SAVED_AT && !packed__in_words(s->fp.off))
		return false;
	return s->sp.how == SAVED_SAME && (s->fp.how <= SAVED_AT || s->fp.how == SAVED_AT_FP);
}

static enum packed_how interp_ops_packed_cfa(const struct cfi_state *s, const struct machine *m)
{
	if (s->cfa.how == CFA_PLT)
		return PACKED_PLT;
	if (!packed__in_words(s->cfa.off))
		return PACKED_ELSEWHERE;
	if (s->cfa.how == CFA_AT_FP)
		return PACKED_AT_FP;
	if (s->cfa.how == CFA_REGISTER && s->cfa.reg == m->sp)
		return PACKED_SP;
	return s->cfa.how == CFA_REGISTER && s->cfa.reg == m->fp ? PACKED_FP : PACKED_ELSEWHERE;
}

/* Returns PACKED_ELSEWHERE if no packed rule fits. */
static enum packed_how interp_ops_packed_how(const struct cfi_state *s, const struct cfi_cie *cie,
					     const struct machine *m)
{
	if (cie->ra != m->ra)
		return PACKED_ELSEWHERE;
	if (s->ra.how == SAVED_UNDEFINED)
		return PACKED_ROOT;
	if (cie->is_signal)
		return interp_ops_is_signal_frame(s, m) ? PACKED_SIGNAL : PACKED_ELSEWHERE;
	return interp_ops_has_packed_regs(s, m) ? interp_ops_packed_cfa(s, m) : PACKED_ELSEWHERE;
}

/* Returns PACKED_ELSEWHERE if no packed rule can express the state. */
static struct packed_rule interp_ops_state_pack(const struct cfi_state *s,
						const struct cfi_cie *cie, const struct machine *m)
{
	struct packed_rule rule = { .how = (uint8_t)interp_ops_packed_how(s, cie, m) };

	if (rule.how == PACKED_ELSEWHERE || rule.how == PACKED_ROOT)
		return rule;
	rule.flags = s->unwinding && rule.how != PACKED_SIGNAL ? PACKED_UNWINDING : 0;
	rule.cfa = rule.how == PACKED_PLT ? (int16_t)s->cfa.off : packed__words(s->cfa.off);
	rule.ra = s->ra.how == SAVED_SAME ? PACKED_RA_LINKED : packed__words(s->ra.off);
	rule.fp = s->fp.how == SAVED_SAME    ? PACKED_FP_KEPT
		  : s->fp.how == SAVED_AT_FP ? PACKED_FP_AT_SELF
					     : packed__words(s->fp.off);
	return rule;
}

/* ---- instructions -------------------------------------------------------------------------------
 */

uint64_t cfi_run__find_rule(const struct cfi_run *r)
{
	struct packed_rule rule = { .how = PACKED_ELSEWHERE };

	if (!r->lost)
		rule = interp_ops_state_pack(&r->state, r->fde->cie, r->machine);
	return packed_rule__bits(rule);
}

/* Returns the register's field in the state, or NULL if it is not followed. */
static struct cfi_saved *interp_followed(struct cfi_run *r, uint64_t reg, struct cfi_state *s)
{
	return reg == r->fde->cie->ra  ? &s->ra
	       : reg == r->machine->fp ? &s->fp
	       : reg == r->machine->sp ? &s->sp
				       : NULL;
}

static void interp_save(struct cfi_run *r, uint64_t reg, enum saved_how how, int64_t off)
{
	struct cfi_saved *saved = interp_followed(r, reg, &r->state);
	struct cfi_hot_state *h = &r->hand;

	if (reg == MACHINE_EH_DATA_REG) {
		r->state.unwinding = how == SAVED_AT;
		h->rule = cfi_run__find_rule(r);
	}
	if (!saved)
		return;
	*saved = (struct cfi_saved){ how, off };
	if (rule_is_plain(h->rule) && saved == &r->state.fp && how == SAVED_AT &&
	    packed__in_words(off))
		h->rule = rule_with(h->rule, offsetof(struct packed_rule, fp), off);
	else
		h->rule = cfi_run__find_rule(r);
}

static void interp_restore(struct cfi_run *r, uint64_t reg)
{
	const struct cfi_saved *saved = interp_followed(r, reg, &r->fde->cie->initial);

	if (saved)
		interp_save(r, reg, saved->how, saved->off);
	else if (reg == MACHINE_EH_DATA_REG)
		interp_save(r, reg, SAVED_SAME, 0);
}

static inline int64_t interp_factored(struct cfi_run *r, int64_t n)
{
	int64_t off;

	if (__builtin_mul_overflow(n, r->fde->cie->data_align, &off))
		r->lost = true;
	return r->lost ? 0 : off;
}

static struct cursor interp_read_block(struct cfi_run *r)
{
	uint64_t sz = cursor__uleb(&r->hand.c);
	const uint8_t *bytes = cursor__bytes(&r->hand.c, sz);

	return cursor__on(bytes ? bytes : r->hand.c.pos, bytes ? sz : 0);
}

/* Returns whether the expression is DW_OP_breg<reg> off, followed by DW_OP_deref if `deref` is set.
 */
static bool interp_is_at(struct cursor c, uint16_t reg, bool deref, int64_t *off)
{
	if (cursor__u8(&c) != DW_OP_breg0 + reg)
		return false;
	*off = cursor__sleb(&c);
	if (deref && cursor__u8(&c) != DW_OP_deref)
		return false;
	return !c.err && !cursor__left(&c);
}

/* Returns whether this is the expression that linkers write for PLT entries: sp + 8 + ((rip & 15)
 * >= n) << 3. */
static bool interp_ops_is_plt(struct cursor c, int64_t *from)
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

/* The instruction is allowed only if the CFA is a register and an offset. */
static void interp_ops_need_register(struct cfi_run *r)
{
	if (r->state.cfa.how != CFA_REGISTER)
		r->lost = true;
}

static void interp_ops_set_cfa_expression(struct cfi_run *r)
{
	const struct machine *m = r->machine;
	struct cursor block = interp_read_block(r);
	int64_t *off = &r->state.cfa.off;

	r->state.cfa.how = interp_is_at(block, m->fp, true, off)		   ? CFA_AT_FP
			   : interp_is_at(block, m->sp, true, off)		   ? CFA_AT_SP
			   : m == &machine_x86_64 && interp_ops_is_plt(block, off) ? CFA_PLT
										   : CFA_OTHERWISE;
	r->hand.rule = cfi_run__find_rule(r);
}

static void interp_ops_save_expression(struct cfi_run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);
	struct cursor block = interp_read_block(r);
	int64_t off;

	if (reg == r->machine->fp && interp_is_at(block, r->machine->fp, false, &off) && off == 0)
		interp_save(r, reg, SAVED_AT_FP, 0);
	else if (interp_is_at(block, r->machine->sp, false, &off))
		interp_save(r, reg, SAVED_AT_SP, off);
	else
		interp_save(r, reg, SAVED_OTHERWISE, 0);
}

static void interp_remember(struct cfi_run *r)
{
	struct cfi_state *s = &r->remembered[r->remembered_cnt];

	if (r->remembered_cnt == STATES_MAX) {
		r->lost = true;
		return;
	}
	*s = r->state;
	s->rule = r->hand.rule;
	r->remembered_cnt++;
}

static void interp_recall(struct cfi_run *r)
{
	if (r->remembered_cnt == 0)
		r->lost = true;
	else
		r->state = r->remembered[--r->remembered_cnt];
	r->hand.rule = r->state.rule;
}

/* ---- one function per instruction ---- */

static void interp_offset(struct cfi_run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);

	interp_save(r, reg, SAVED_AT, interp_factored(r, (int64_t)cursor__uleb(&r->hand.c)));
}

static void interp_ops_offset_sf(struct cfi_run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);

	interp_save(r, reg, SAVED_AT, interp_factored(r, cursor__sleb(&r->hand.c)));
}

static void interp_ops_negative_offset(struct cfi_run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);
	int64_t off = interp_factored(r, (int64_t)cursor__uleb(&r->hand.c));

	r->lost |= __builtin_sub_overflow(0, off, &off);
	interp_save(r, reg, SAVED_AT, off);
}

static void interp_ops_restore_extended(struct cfi_run *r)
{
	interp_restore(r, cursor__uleb(&r->hand.c));
}

static void interp_undefined(struct cfi_run *r)
{
	interp_save(r, cursor__uleb(&r->hand.c), SAVED_UNDEFINED, 0);
}

static void interp_same_value(struct cfi_run *r)
{
	interp_save(r, cursor__uleb(&r->hand.c), SAVED_SAME, 0);
}

/* DW_CFA_register, DW_CFA_val_offset(_sf): a register, and a number that no packed rule can hold.
 */
static void interp_otherwise(struct cfi_run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);

	cursor__uleb(&r->hand.c);
	interp_save(r, reg, SAVED_OTHERWISE, 0);
}

static void interp_ops_val_expression(struct cfi_run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);

	interp_read_block(r);
	interp_save(r, reg, SAVED_OTHERWISE, 0);
}

static void interp_ops_def_cfa_sf(struct cfi_run *r)
{
	uint64_t reg = cursor__uleb(&r->hand.c);

	cfi_run__set_cfa(r, &r->hand, reg, interp_factored(r, cursor__sleb(&r->hand.c)));
}

static void interp_ops_def_cfa_register(struct cfi_run *r)
{
	interp_ops_need_register(r);
	cfi_run__set_cfa(r, &r->hand, cursor__uleb(&r->hand.c), r->state.cfa.off);
}

static void interp_ops_def_cfa_offset(struct cfi_run *r)
{
	interp_ops_need_register(r);
	cfi_run__set_cfa(r, &r->hand, r->state.cfa.reg, (int64_t)cursor__uleb(&r->hand.c));
}

static void interp_ops_def_cfa_offset_sf(struct cfi_run *r)
{
	interp_ops_need_register(r);
	cfi_run__set_cfa(r, &r->hand, r->state.cfa.reg,
			 interp_factored(r, cursor__sleb(&r->hand.c)));
}

static void interp_ops_args_size(struct cfi_run *r)
{
	cursor__uleb(&r->hand.c);
}

/*
 * DW_CFA_AARCH64_negate_ra_state (AADWARF64 4.4.1) toggles whether the return address is signed.
 * The walk ignores it, because it strips signatures anyway. On SPARC this opcode has another
 * meaning.
 */
static void interp_ops_negate_ra_state(struct cfi_run *r)
{
	r->lost |= r->machine != &machine_aarch64;
}

/*
 * DWARF 5, table 7.29, and GNU's instructions. Advances, DW_CFA_def_cfa and DW_CFA_nop never get
 * here. NULL: unknown instruction, including DW_CFA_set_loc, which no compiler writes.
 */
static void (*const handlers[64])(struct cfi_run *) = {
	[DW_CFA_offset_extended] = interp_offset,
	[DW_CFA_offset_extended_sf] = interp_ops_offset_sf,
	[DW_CFA_GNU_negative_offset_extended] = interp_ops_negative_offset,
	[DW_CFA_restore_extended] = interp_ops_restore_extended,
	[DW_CFA_undefined] = interp_undefined,
	[DW_CFA_same_value] = interp_same_value,
	[DW_CFA_register] = interp_otherwise,
	[DW_CFA_val_offset] = interp_otherwise,
	[DW_CFA_val_offset_sf] = interp_otherwise,
	[DW_CFA_val_expression] = interp_ops_val_expression,
	[DW_CFA_expression] = interp_ops_save_expression,
	[DW_CFA_remember_state] = interp_remember,
	[DW_CFA_restore_state] = interp_recall,
	[DW_CFA_def_cfa_sf] = interp_ops_def_cfa_sf,
	[DW_CFA_def_cfa_register] = interp_ops_def_cfa_register,
	[DW_CFA_def_cfa_offset] = interp_ops_def_cfa_offset,
	[DW_CFA_def_cfa_offset_sf] = interp_ops_def_cfa_offset_sf,
	[DW_CFA_def_cfa_expression] = interp_ops_set_cfa_expression,
	[DW_CFA_GNU_args_size] = interp_ops_args_size,
	[DW_CFA_AARCH64_negate_ra_state] = interp_ops_negate_ra_state,
	[DW_CFA_AARCH64_negate_ra_state_with_pc] = interp_ops_negate_ra_state,
};

void cfi_run__handle(struct cfi_run *r, uint8_t op)
{
	if ((op & CFA_PRIMARY) == DW_CFA_offset)
		interp_save(r, op & CFA_LOW, SAVED_AT,
			    interp_factored(r, (int64_t)cursor__uleb(&r->hand.c)));
	else if ((op & CFA_PRIMARY) == DW_CFA_restore)
		interp_restore(r, op & CFA_LOW);
	else if (handlers[op])
		handlers[op](r);
	else
		r->lost = true;
}
