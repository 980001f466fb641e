/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests whether two series of values per slice of time differ. Draws the slices of each series
 * again and again, with replacement. The spread of the differences of the sums shows how far a
 * difference may be chance. The draws are the same in every run.
 */
#ifndef STACKSEXPORT_WEB_BOOTSTRAP_H
#define STACKSEXPORT_WEB_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOOTSTRAP_DRAWS 400

struct bootstrap {
	uint16_t *counts; /* for each draw: how often it contains each slice of A, then of B */
	size_t a_cnt, b_cnt;
	double samples[BOOTSTRAP_DRAWS];
};

/* Sums of the slices of A and of B; b is multiplied by `scale`. */
struct bootstrap_series {
	const int64_t *a, *b;
	double scale;
};

struct bootstrap_result {
	double p;      /* probability of a difference this large without a real one */
	double lo, hi; /* the 95 % interval of B - A */
};

/* Returns 0 or -ENOMEM; call bootstrap__free() in either case. */
int bootstrap__init(struct bootstrap *, size_t a_cnt, size_t b_cnt);
void bootstrap__free(struct bootstrap *);

struct bootstrap_result bootstrap__compare(struct bootstrap *, const struct bootstrap_series *);

/*
 * Sets significant[i] if the difference of test i is real. At most one in twenty of these is chance
 * (Benjamini and Hochberg). Returns 0 or -ENOMEM.
 */
int bootstrap__choose(const struct bootstrap_result *, size_t cnt, bool *significant);

#endif
