/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probes that the user chooses by their places: functions of programs (uprobe), tracepoints of
 * the kernel, and static probes of programs (sdt).
 */
#ifndef CAPTURE_ANYPROBE_H
#define CAPTURE_ANYPROBE_H

#include <stdbool.h>

#include "capture/anyplace.h"
#include "capture/probe.h"

struct collector_bpf;
struct workers; /* worker/workers.h */

struct any_probes;

/*
 * Finds the place of each choice of such a probe; ignores other choices. Keeps pointers into the
 * choices' texts. Returns NULL and sets errno after logging what is wrong with which choice.
 */
struct any_probes *any_probes__new(struct workers *, const struct probe_choice *, size_t cnt);
/* Call before the programs are loaded. `multi`: see usdt.h. Returns 0 or -errno. */
int any_probes__prepare(struct any_probes *, struct collector_bpf *, bool multi);
/* Attaches; see usdt__attach(). Returns 0 or -errno (already logged). */
int any_probes__attach(struct any_probes *, struct collector_bpf *);
/* Like usdt__detach() and usdt__free(). Accept NULL. */
bool any_probes__detach(struct any_probes *);
void any_probes__free(struct any_probes *);

/* Returns the place of this choice (event_args.choice), or NULL. Valid as long as the probes. */
const struct any_place *any_probes__place(const struct any_probes *, uint64_t idx);

#endif
