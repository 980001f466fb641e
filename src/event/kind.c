// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/kind.h"

#define X(id, name, probe) [EVENT_##id] = { name, probe },
static const struct {
	const char *name, *probe;
} kinds[] = { EVENT_KINDS(X) };
#undef X

const char *event_kind__name(enum event_kind kind)
{
	return kinds[kind].name;
}

const char *event_kind__probe(enum event_kind kind)
{
	return kinds[kind].probe;
}
