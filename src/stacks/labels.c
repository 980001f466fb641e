// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacks/labels.h"

#include <string.h>
#include <unistd.h>

#include "event/kind.h"

#define X(id, name) [EVENT_STATE_##id] = name,
static const char *const states[] = { EVENT_STATES(X) };
#undef X

#define X(id, name) [UNWIND_##id] = name,
static const char *const unwinds[] = { UNWIND_STATUSES(X) };
#undef X

#define X(id, mark) [FRAME_##id] = mark,
static const char *const marks[] = { FRAME_SOURCES(X) };
#undef X

const char *frame_source__mark(uint32_t source)
{
	return marks[source];
}

const char *unwind_status__name(enum unwind_status status)
{
	return unwinds[status];
}

static uint32_t labels_id(struct recording *r, const char *s)
{
	return s ? recording__string(r, s, strlen(s)) : 0;
}

void labels__refresh(struct labels *l, struct recording *r)
{
	if (l->generation == recording__generation(r))
		return;
	l->generation = recording__generation(r);
	if (!l->host_name[0])
		gethostname(l->host_name, HOST_NAME_MAX);
	for (size_t i = 0; i < EVENT_KIND_CNT; i++)
		l->kinds[i] = labels_id(r, event_kind__name((enum event_kind)i));
	for (size_t i = 0; i < EVENT_STATE_CNT; i++)
		l->states[i] = labels_id(r, states[i]);
	for (size_t i = 0; i < UNWIND_STATUS_CNT; i++)
		l->unwinds[i] = labels_id(r, unwinds[i]);
	l->lost = labels_id(r, "lost");
	l->rate = labels_id(r, "rate");
	l->host = labels_id(r, l->host_name);
}
