/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of the probes that -p selects; see probe.c. */
#ifndef CAPTURE_PROBE_H
#define CAPTURE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum probe_stacks { PROBE_USER = 1, PROBE_KERNEL = 2 };
enum probe_param {
	PROBE_NO_PARAM,
	PROBE_HZ,
	PROBE_DURATION,
	PROBE_EVERY,  /* 1 of N; 0 and 1: all */
	PROBE_PATH,   /* a file; the probe may be given more than once */
	PROBE_TARGET, /* a place in a file or in the kernel; likewise */
	PROBE_BYTES,  /* one sample in so many; 0: all */
};

#define PROBE_WAY_MAX 3

struct probe {
	const char *name; /* as in -p; its BPF programs are named NAME__HOOK */
	/*
	 * Ways to record the same events where kernels differ, the best first. The first way that
	 * the kernel supports is used. Its programs are named NAME__WAY__HOOK; NAME__any__HOOK
	 * belongs to all ways. Empty: there is one way.
	 */
	const char *ways[PROBE_WAY_MAX];
	unsigned stacks; /* default, enum probe_stacks */
	/* capture__thin() may leave out some of its events: each is complete in itself, or the next
	 * one stands for it, too */
	bool can_thin;
	bool tells_interrupts; /* its programs call in_interrupt() */
	bool needs_processes;  /* which must be chosen; `all` leaves it out */
	enum probe_param param;
	uint64_t param_default, param_max; /* Hz, ns, N, bytes */
	const char *usage;		   /* "profile[:S][:HZ]" */
	const char *help;		   /* one line */
};

extern const struct probe probes[]; /* ends with a NULL name */

struct probe_choice {
	const struct probe *probe;
	unsigned stacks;
	bool optional; /* named by `all`: left out with a message if the machine does not support it
			*/
	uint64_t param;
	const char *path; /* PROBE_PATH, PROBE_TARGET; points into the text that was parsed */
};

#define PROBE_CHOICE_MAX 32

/*
 * Parses "profile:u:99,switch:uk". "all" selects every probe that is not named beside it and needs
 * no path and no chosen processes. Cuts the text into pieces. Returns the number of choices, or
 * -EINVAL with `why` describing the wrong part and what is allowed.
 */
int probes__parse(char *text, struct probe_choice *out, char *why, size_t why_sz);

#endif
