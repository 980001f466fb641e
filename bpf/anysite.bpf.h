/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs of chosen probes share. */
#ifndef ANYSITE_BPF_H
#define ANYSITE_BPF_H

#include "bpf/anysite.h"
#include "bpf/emit.bpf.h"

/* Returns the site of the attached place, or NULL. */
const struct any_site *any_site__of(void *ctx) __hidden;

/* Returns true if the arguments of a function or static probe pass the site's tests. */
bool any_site__passes(const void *ctx, const struct any_site *) __hidden;

/* Returns true if the number passes those tests of the site that have this subject. */
bool any_site__passes_number(const struct any_site *, __u64 subject, __u64 v) __hidden;

/* Reads the arguments of a function or static probe into the event, if it has room for them. */
void any_site__read(const void *ctx, const struct any_site *, struct capture_slot *) __hidden;

/* Captures the event with the stacks of the site. Returns NULL if it is lost. */
struct capture_slot *any_site__capture(void *ctx, struct task_struct *task, const struct any_site *,
				       struct emission *row) __hidden;

#endif
