// SPDX-License-Identifier: GPL-2.0-or-later
/* Converts the state of the registers to a packed rule. */
#include "cfi/reader.h"

/* Returns whether all registers are saved relative to the stack pointer, at multiples of a word. */
static bool is_signal_frame(const struct cfi_state *s, const struct machine *m)
{
	return s->cfa.how == CFA_AT_SP && s->sp.how == SAVED_AT_SP && s->sp.off == s->cfa.off &&
	       s->fp.how == SAVED_AT_SP && s->ra.how == SAVED_AT_SP &&
	       packed__in_words(s->cfa.off) && packed__in_words(s->fp.off) &&
	       packed__in_words(s->ra.off) && !machine__links(m);
}

static bool has_flat_registers(const struct cfi_state *s, const struct machine *m)
{
	bool linked = s->ra.how == SAVED_SAME && machine__links(m);

	if (!linked && (s->ra.how != SAVED_AT || !packed__in_words(s->ra.off)))
		return false;
	if (!linked && machine__links(m) && s->ra.off >= 0) /* see mend_plt_resolver() */
		return false;
	if (s->fp.how == SAVED_AT && !packed__in_words(s->fp.off))
		return false;
	return s->sp.how == SAVED_SAME && (s->fp.how <= SAVED_AT || s->fp.how == SAVED_AT_FP);
}

static enum packed_how packed_cfa(const struct cfi_state *s, const struct machine *m)
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
static enum packed_how packed_how(const struct cfi_state *s, const struct cfi_cie *cie,
				  const struct machine *m)
{
	if (cie->ra != m->ra)
		return PACKED_ELSEWHERE;
	if (s->ra.how == SAVED_UNDEFINED)
		return PACKED_ROOT;
	if (cie->is_signal)
		return is_signal_frame(s, m) ? PACKED_SIGNAL : PACKED_ELSEWHERE;
	return has_flat_registers(s, m) ? packed_cfa(s, m) : PACKED_ELSEWHERE;
}

struct packed_rule cfi_state__flatten(const struct cfi_state *s, const struct cfi_cie *cie,
				      const struct machine *m)
{
	struct packed_rule rule = { .how = (uint8_t)packed_how(s, cie, m) };

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
