/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of both sides by slices of time, for each row of a table of differences. */
#ifndef STACKSEXPORT_WEB_DIFFSERIES_H
#define STACKSEXPORT_WEB_DIFFSERIES_H

#include "stacksexport/web/sides.h"

/* One series per row. Zeroed is empty. */
struct diff_series {
	int64_t *values[SIDE_CNT];
	struct side_series series;
	struct comparison comparison;
};

/* Makes `cnt` rows of zeros. Returns 0 or -ENOMEM; call diff_series__free() in any case. */
int diff_series__init(struct diff_series *, size_t cnt, double scale);
void diff_series__free(struct diff_series *);

/* Adds to the value of a row in a slice, which counts from 0. */
void diff_series__add(struct diff_series *, enum diff_side, size_t row, size_t slice,
		      int64_t value);

/* Compares the sides of each row. Returns 0 or -ENOMEM. */
int diff_series__compare(struct diff_series *);

/* One line of the table. The values of B are scaled to the size of A. */
struct diff_change {
	double a, b, lo, hi, p; /* lo, hi: of b - a */
	bool significant;
};

/* Call diff_series__compare() before. */
struct diff_change diff_series__change(const struct diff_series *, size_t row);

#endif
