/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Watches the conditions of --when. A job reads /proc once a second, for the conditions that need
 * it. */
#ifndef COLLECTOR_TRIGGER_H
#define COLLECTOR_TRIGGER_H

#include "base/jobs.h"
#include "collector/condition.h"
#include "collector/session.h"

struct trigger;

/* Borrows the jobs. Returns NULL and sets errno. */
struct trigger *trigger__new(struct jobs *);
/* Call it after jobs__free(). Accepts NULL. */
void trigger__free(struct trigger *);

/* Replaces the conditions. Borrows them; they keep their state in place. */
void trigger__watch(struct trigger *, struct condition *, size_t cnt, struct session *);

/* Returns true if a condition became true, which it logs. `now_ns`: CLOCK_MONOTONIC. */
bool trigger__tick(struct trigger *, struct session *, uint64_t now_ns);

#endif
