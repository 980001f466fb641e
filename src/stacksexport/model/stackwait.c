// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/model/stackwait.h"

#include <stdlib.h>

#include "stacksexport/model/waittraits.h"

static uint16_t stackwait_traits(const struct stackset *s, uint32_t frame)
{
	return stackset__function(s, stackset__frame_at(s, frame)->function)->wait_traits;
}

struct waiting stack_wait__find(const struct stackset *s, const uint32_t *frames, size_t cnt)
{
	uint16_t *traits = reallocarray(NULL, cnt, sizeof(*traits));
	struct waiting w = { .call = WAITING_NONE, .waits_in = cnt ? 0 : WAITING_NONE };

	if (!traits)
		return w;
	for (size_t i = 0; i < cnt; i++)
		traits[i] = stackwait_traits(s, frames[i]);
	w = waiting__find(traits, cnt);
	free(traits);
	return w;
}

bool stack_wait__is_hidden(const struct stackset *s, uint32_t frame)
{
	return stackwait_traits(s, frame) & WAIT_SCHEDULES;
}
