// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/tally.h"

#include <string.h>

#include "base/log.h"
#include "event/kind.h"

/* Losses about which the user is warned at their first occurrence. */
static const struct {
	const char *reason, *text;
} warnings[SAID_CNT] = {
	[SAID_STATE_FULL] = { "state_full", "too many concurrent operations" },
	[SAID_NO_MEMORY] = { "no_memory", "the kernel had no memory for what is kept of each "
					  "thread; free memory, or raise the limit of the "
					  "collector's cgroup" },
};

static void tally_warn_once(struct session_stats *s, size_t kind, const struct capture_loss *l)
{
	for (size_t i = 0; i < SAID_CNT; i++) {
		if (s->said[kind][i] || strcmp(l->reason, warnings[i].reason) != 0)
			continue;
		s->said[kind][i] = true;
		log__warn("%s: %s; missing events are counted in rows of the kind lost, with the "
			  "reason %s",
			  l->probe, warnings[i].text, l->reason);
	}
}

void session_stats__lose(struct session_stats *s, const struct capture_loss *l)
{
	for (size_t k = 0; k < EVENT_KIND_CNT; k++) {
		if (!event_kind__is_of(k, l->probe))
			continue;
		s->lost[k] += l->cnt;
		tally_warn_once(s, k, l);
		return;
	}
}

void session_stats__walked(struct session_stats *s, enum event_kind kind, enum unwind_status status)
{
	s->user_stacks[kind]++;
	s->to_root[kind] += status == UNWIND_ROOT;
	s->unwound[status]++;
}

uint64_t session_stats__sum(const uint64_t by_kind[EVENT_KIND_CNT])
{
	uint64_t sum = 0;

	for (size_t k = 0; k < EVENT_KIND_CNT; k++)
		sum += by_kind[k];
	return sum;
}
