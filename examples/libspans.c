// SPDX-License-Identifier: GPL-2.0-or-later
/* The probes as functions, for languages that can call a shared library: see spans.py. */
#include "stacks_tracing.h"

int spans_listening(void)
{
	return STACKS_LISTENING(enter);
}

void spans_enter(uint64_t span_id, uint64_t parent_id, uint64_t id, uint64_t amount,
		 const char *name)
{
	STACKS_ENTER(span_id, parent_id, id, amount, name);
}

void spans_exit(uint64_t span_id)
{
	STACKS_EXIT(span_id);
}

void spans_exit_stack(uint64_t span_id)
{
	STACKS_EXIT_STACK(span_id);
}

void spans_close(uint64_t span_id)
{
	STACKS_CLOSE(span_id);
}
