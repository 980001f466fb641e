/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probes that -p can name, as one table; see probe.c. */
#ifndef CAPTURE_PROBE_H
#define CAPTURE_PROBE_H

#include <stddef.h>
#include <stdint.h>

enum probe_stacks { PROBE_USER = 1, PROBE_KERNEL = 2 };
enum probe_param { PROBE_NO_PARAM, PROBE_HZ, PROBE_DURATION };

struct probe {
	const char *name; /* as in -p; its BPF programs are named NAME__HOOK */
	unsigned stacks;  /* default, enum probe_stacks */
	enum probe_param param;
	uint64_t param_default, param_max; /* Hz, ns */
	const char *usage;		   /* "profile[:S][:HZ]" */
	const char *help;		   /* one line */
};

extern const struct probe probes[]; /* ends with a NULL name */

struct probe_choice {
	const struct probe *probe;
	unsigned stacks;
	uint64_t param;
};

#define PROBE_CHOICE_MAX 16

/*
 * Parses "profile:u:99,switch:uk". Returns how many choices were made, or -EINVAL with `why` saying
 * which part is wrong and what is allowed.
 */
int probes__parse(const char *text, struct probe_choice *out, char *why, size_t why_sz);

#endif
