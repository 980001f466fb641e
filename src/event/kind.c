// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/kind.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/errname.h"

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

bool event_kind__is_of(enum event_kind kind, const char *probe)
{
	return !strcmp(kinds[kind].probe, !strcmp(probe, "span") ? "usdt" : probe);
}

#define X(id, name) [EVENT_REASON_##id - EVENT_REASON_FIRST] = name,
static const char *const reasons[] = { EVENT_REASONS(X) };
#undef X

/* Names of the field; other errors have their own names: EIO … */
static const struct {
	int error;
	const char *name;
} errors[] = {
	{ ECONNREFUSED, "refused" },	 { ECONNRESET, "reset" },	 { ETIMEDOUT, "timeout" },
	{ EHOSTUNREACH, "unreachable" }, { ENETUNREACH, "unreachable" },
};

const char *event_reason__name(uint16_t reason)
{
	const char *name;

	if (!reason || reason >= EVENT_REASON_END)
		return NULL;
	if (reason >= EVENT_REASON_FIRST)
		return reasons[reason - EVENT_REASON_FIRST];
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		if (errors[i].error == reason)
			return errors[i].name;
	}
	name = errname__get(reason);
	return name ? name : "error";
}
