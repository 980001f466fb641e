// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/tally.h"

#include <string.h>

#include "base/log.h"
#include "event/kind.h"

static void say_full(struct session_stats *s, size_t kind, const char *probe)
{
	if (s->said_full[kind])
		return;
	s->said_full[kind] = true;
	log__warn("%s: more is under way than there is room for; what is missing is counted in "
		  "rows of the kind lost, with the reason state_full",
		  probe);
}

void session_stats__lose(struct session_stats *s, const struct capture_loss *l)
{
	for (size_t k = 0; k < EVENT_KIND_CNT; k++) {
		if (strcmp(event_kind__probe(k), l->probe) != 0)
			continue;
		s->lost[k] += l->cnt;
		if (strcmp(l->reason, "state_full") == 0)
			say_full(s, k, l->probe);
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
