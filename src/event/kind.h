/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of events, by name. */
#ifndef EVENT_KIND_H
#define EVENT_KIND_H

#include <stdbool.h>

#include "event/record.h"

/* Return the value of the column `kind`, and the probe that makes such events. */
const char *event_kind__name(enum event_kind);
const char *event_kind__probe(enum event_kind);
/* Returns true if this probe makes such events. Those of spans have two probes: usdt and span. */
bool event_kind__is_of(enum event_kind, const char *probe);

/* Returns the value of the column `reason` for an errno or an enum event_reason; NULL for 0. */
const char *event_reason__name(uint16_t reason);

#endif
