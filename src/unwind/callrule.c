// SPDX-License-Identifier: GPL-2.0-or-later
/* What a flat rule can say of where the registers are. */
#include "unwind/callframe.h"

/* Where registers that are AT_SP are, that is in words. */
static bool is_signal_frame(const struct callframe_state *s, const struct machine *m)
{
	return s->cfa.how == CFA_AT_SP && s->sp.how == SAVED_AT_SP && s->sp.off == s->cfa.off &&
	       s->fp.how == SAVED_AT_SP && s->ra.how == SAVED_AT_SP && flat__in_words(s->cfa.off) &&
	       flat__in_words(s->fp.off) && flat__in_words(s->ra.off) && !machine__links(m);
}

static bool has_flat_registers(const struct callframe_state *s, const struct machine *m)
{
	bool linked = s->ra.how == SAVED_SAME && machine__links(m);

	if (!linked && (s->ra.how != SAVED_AT || !flat__in_words(s->ra.off)))
		return false;
	if (s->fp.how == SAVED_AT && !flat__in_words(s->fp.off))
		return false;
	return s->sp.how == SAVED_SAME && (s->fp.how <= SAVED_AT || s->fp.how == SAVED_AT_FP);
}

static enum flat_how flat_cfa(const struct callframe_state *s, const struct machine *m)
{
	if (s->cfa.how == CFA_PLT)
		return FLAT_PLT;
	if (!flat__in_words(s->cfa.off))
		return FLAT_ELSEWHERE;
	if (s->cfa.how == CFA_AT_FP)
		return FLAT_AT_FP;
	if (s->cfa.how == CFA_REGISTER && s->cfa.reg == m->sp)
		return FLAT_SP;
	return s->cfa.how == CFA_REGISTER && s->cfa.reg == m->fp ? FLAT_FP : FLAT_ELSEWHERE;
}

/* FLAT_ELSEWHERE when there is none. */
static enum flat_how flat_how(const struct callframe_state *s, const struct callframe_cie *cie,
			      const struct machine *m)
{
	if (cie->ra != m->ra)
		return FLAT_ELSEWHERE;
	if (s->ra.how == SAVED_UNDEFINED)
		return FLAT_ROOT;
	if (cie->is_signal)
		return is_signal_frame(s, m) ? FLAT_SIGNAL : FLAT_ELSEWHERE;
	return has_flat_registers(s, m) ? flat_cfa(s, m) : FLAT_ELSEWHERE;
}

struct flat_rule callframe_state__flatten(const struct callframe_state *s,
					  const struct callframe_cie *cie, const struct machine *m)
{
	struct flat_rule rule = { .how = (uint8_t)flat_how(s, cie, m) };

	if (rule.how == FLAT_ELSEWHERE || rule.how == FLAT_ROOT)
		return rule;
	rule.flags = s->unwinding && rule.how != FLAT_SIGNAL ? FLAT_UNWINDING : 0;
	rule.cfa = rule.how == FLAT_PLT ? (int16_t)s->cfa.off : flat__words(s->cfa.off);
	rule.ra = s->ra.how == SAVED_SAME ? FLAT_RA_LINKED : flat__words(s->ra.off);
	rule.fp = s->fp.how == SAVED_SAME    ? FLAT_FP_KEPT
		  : s->fp.how == SAVED_AT_FP ? FLAT_FP_AT_SELF
					     : flat__words(s->fp.off);
	return rule;
}
