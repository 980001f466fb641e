// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows that the instructions of an FDE make. */
#include "unwind/callframe.h"

#include <dwarf.h>
#include <string.h>

#define STATES_MAX 32 /* remembered at a time; compilers remember one */

enum saved_how {
	SAVED_SAME,	 /* not, or DW_CFA_same_value */
	SAVED_AT,	 /* at CFA + off */
	SAVED_UNDEFINED, /* gone */
	SAVED_AT_FP,	 /* the frame pointer's: where it points */
	SAVED_AT_SP,	 /* at the frame's own stack pointer + off: in a signal frame */
	SAVED_OTHERWISE,
};

struct saved {
	enum saved_how how;
	int64_t off;
};

enum cfa_how { CFA_REGISTER, CFA_AT_FP, CFA_AT_SP, CFA_PLT, CFA_OTHERWISE };

struct state {
	struct {
		enum cfa_how how;
		uint64_t reg;
		int64_t off;
	} cfa;
	struct saved fp, ra;
	struct saved sp; /* SAVED_SAME: it is the CFA */
};

struct run {
	const struct callframe_fde *fde;
	const struct machine *machine;
	struct cursor c;
	uint64_t at; /* where the row in hand starts */
	struct state state, initial, remembered[STATES_MAX];
	unsigned remembered_cnt;
	bool lost;  /* an instruction that nobody knows: what follows is not to be believed */
	bool known; /* `rule` is that of the state: most rows change the CFA only */
	struct flat_rule rule;
	callframe_row_fn fn;
	void *arg;
};

/* Asked three times a row: without a division of what may be negative. */
static bool in_words(int64_t off)
{
	return (off & 7) == 0 && off > FLAT_FP_AT_SELF * 8 && off <= INT16_MAX * 8;
}

static int16_t words(int64_t off)
{
	return (int16_t)(off >> 3);
}

/* Where registers that are AT_SP are, that is in words. */
static bool is_signal_frame(const struct run *r)
{
	const struct state *s = &r->state;

	return s->cfa.how == CFA_AT_SP && s->sp.how == SAVED_AT_SP && s->sp.off == s->cfa.off &&
	       s->fp.how == SAVED_AT_SP && s->ra.how == SAVED_AT_SP && in_words(s->cfa.off) &&
	       in_words(s->fp.off) && in_words(s->ra.off) && !machine__links(r->machine);
}

static bool has_flat_registers(const struct run *r)
{
	const struct state *s = &r->state;
	bool linked = s->ra.how == SAVED_SAME && machine__links(r->machine);

	if (!linked && (s->ra.how != SAVED_AT || !in_words(s->ra.off)))
		return false;
	if (s->fp.how == SAVED_AT && !in_words(s->fp.off))
		return false;
	return s->sp.how == SAVED_SAME && (s->fp.how <= SAVED_AT || s->fp.how == SAVED_AT_FP);
}

static enum flat_how flat_cfa(const struct run *r)
{
	const struct state *s = &r->state;

	if (s->cfa.how == CFA_PLT)
		return FLAT_PLT;
	if (!in_words(s->cfa.off))
		return FLAT_ELSEWHERE;
	if (s->cfa.how == CFA_AT_FP)
		return FLAT_AT_FP;
	if (s->cfa.how == CFA_REGISTER && s->cfa.reg == r->machine->sp)
		return FLAT_SP;
	return s->cfa.how == CFA_REGISTER && s->cfa.reg == r->machine->fp ? FLAT_FP
									  : FLAT_ELSEWHERE;
}

/* The flat rule's `how`; FLAT_ELSEWHERE when there is none. */
static enum flat_how flat_how(const struct run *r)
{
	if (r->fde->cie.ra != r->machine->ra || r->lost)
		return FLAT_ELSEWHERE;
	if (r->state.ra.how == SAVED_UNDEFINED)
		return FLAT_ROOT;
	if (r->fde->cie.is_signal)
		return is_signal_frame(r) ? FLAT_SIGNAL : FLAT_ELSEWHERE;
	return has_flat_registers(r) ? flat_cfa(r) : FLAT_ELSEWHERE;
}

static struct flat_rule flatten(const struct run *r)
{
	const struct state *s = &r->state;
	struct flat_rule rule = { .how = (uint8_t)flat_how(r) };

	if (rule.how == FLAT_ELSEWHERE || rule.how == FLAT_ROOT)
		return rule;
	rule.cfa = rule.how == FLAT_PLT ? (int16_t)s->cfa.off : words(s->cfa.off);
	rule.ra = s->ra.how == SAVED_SAME ? FLAT_RA_LINKED : words(s->ra.off);
	rule.fp = s->fp.how == SAVED_SAME    ? FLAT_FP_KEPT
		  : s->fp.how == SAVED_AT_FP ? FLAT_FP_AT_SELF
					     : words(s->fp.off);
	return rule;
}

/* The row in hand ends here; none goes beyond the FDE. */
static void advance_to(struct run *r, uint64_t to)
{
	uint64_t end = r->fde->start + r->fde->sz;

	if (to > end)
		to = end;
	if (to <= r->at)
		return;
	if (!r->known)
		r->rule = flatten(r);
	r->known = true;
	r->fn(r->at, to, r->rule, r->arg);
	r->at = to;
}

static void advance(struct run *r, uint64_t steps)
{
	uint64_t by;

	if (__builtin_mul_overflow(steps, r->fde->cie.code_align, &by) ||
	    by > r->fde->sz - (r->at - r->fde->start))
		by = r->fde->sz - (r->at - r->fde->start);
	advance_to(r, r->at + by);
}

/* The register's place in the state; NULL: nobody follows it. */
static struct saved *followed(struct run *r, uint64_t reg, struct state *s)
{
	return reg == r->fde->cie.ra   ? &s->ra
	       : reg == r->machine->fp ? &s->fp
	       : reg == r->machine->sp ? &s->sp
				       : NULL;
}

static void save(struct run *r, uint64_t reg, enum saved_how how, int64_t off)
{
	struct saved *saved = followed(r, reg, &r->state);

	if (!saved)
		return;
	*saved = (struct saved){ how, off };
	r->known = false;
}

static void restore(struct run *r, uint64_t reg)
{
	struct saved *saved = followed(r, reg, &r->state);

	if (!saved)
		return;
	*saved = *followed(r, reg, &r->initial);
	r->known = false;
}

static int64_t factored(struct run *r, int64_t n)
{
	int64_t off;

	if (__builtin_mul_overflow(n, r->fde->cie.data_align, &off))
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

static void set_cfa(struct run *r, uint64_t reg, int64_t off)
{
	r->known &= r->rule.how <= FLAT_FP && reg == r->state.cfa.reg && in_words(off);
	if (r->known)
		r->rule.cfa = words(off);
	r->state.cfa.how = CFA_REGISTER;
	r->state.cfa.reg = reg;
	r->state.cfa.off = off;
}

/* Allowed where the CFA is a register and an offset already. */
static void change_cfa(struct run *r, uint64_t reg, int64_t off)
{
	r->lost |= r->state.cfa.how != CFA_REGISTER;
	set_cfa(r, reg, off);
}

static void set_cfa_expression(struct run *r)
{
	const struct machine *m = r->machine;
	struct cursor block = read_block(r);
	int64_t *off = &r->state.cfa.off;

	r->known = false;
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
	r->known = false;
}

/* ---- one instruction each ---- */

static void nop(struct run *r)
{
	(void)r;
}

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
	change_cfa(r, cursor__uleb(&r->c), r->state.cfa.off);
}

static void def_cfa_offset(struct run *r)
{
	change_cfa(r, r->state.cfa.reg, (int64_t)cursor__uleb(&r->c));
}

static void def_cfa_offset_sf(struct run *r)
{
	change_cfa(r, r->state.cfa.reg, factored(r, cursor__sleb(&r->c)));
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
 * DWARF 5, table 7.29, and the GNU ones; the three with an operand in their own byte are in
 * execute(). NULL: nobody knows it (DW_CFA_set_loc too: no compiler writes it).
 */
static void (*const handlers[64])(struct run *) = {
	[DW_CFA_nop] = nop,
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
	[DW_CFA_def_cfa_offset] = def_cfa_offset,
	[DW_CFA_def_cfa_offset_sf] = def_cfa_offset_sf,
	[DW_CFA_def_cfa_expression] = set_cfa_expression,
	[DW_CFA_GNU_args_size] = args_size,
	[DW_CFA_AARCH64_negate_ra_state] = negate_ra_state,
	[DW_CFA_AARCH64_negate_ra_state_with_pc] = negate_ra_state,
};

static void extended(struct run *r, uint8_t op)
{
	if (handlers[op])
		handlers[op](r);
	else
		r->lost = true;
}

static void execute(struct run *r, struct cursor instructions)
{
	r->c = instructions;
	while (cursor__left(&r->c) && !r->c.err && !r->lost) {
		uint8_t op = cursor__u8(&r->c), low = op & 0x3f;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc: advance(r, low); break;
		case DW_CFA_offset:
			save(r, low, SAVED_AT, factored(r, (int64_t)cursor__uleb(&r->c)));
			break;
		case DW_CFA_restore: restore(r, low); break;
		default: extended(r, op); break;
		}
	}
	r->lost |= r->c.err;
	r->known &= !r->lost;
}

static void ignore_row(uint64_t start, uint64_t end, struct flat_rule rule, void *arg)
{
	(void)start, (void)end, (void)rule, (void)arg;
}

void callframe__rows(const struct callframe_fde *fde, const struct machine *machine,
		     callframe_row_fn fn, void *arg)
{
	struct run r; /* not zeroed: what is remembered is large */

	r.fde = fde;
	r.machine = machine;
	r.at = fde->start;
	r.state = (struct state){ .cfa.how = CFA_OTHERWISE };
	r.remembered_cnt = 0;
	r.lost = r.known = false;
	r.fn = ignore_row;
	execute(&r, fde->cie.instructions);
	r.initial = r.state;
	r.remembered_cnt = 0;
	r.at = fde->start;
	r.fn = fn;
	r.arg = arg;
	if (!r.lost)
		execute(&r, fde->instructions);
	advance_to(&r, fde->start + fde->sz);
}
