/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two time ranges, or two recordings, that the page or `stacksexport diff` compares. */
#ifndef STACKSEXPORT_WEB_SIDES_H
#define STACKSEXPORT_WEB_SIDES_H

#include "stacksexport/web/bootstrap.h"
#include "stacksexport/web/slices.h"

#define SIDE_SLICE_CNT 40 /* for the time range of each side */

enum diff_side { SIDE_A, SIDE_B, SIDE_CNT };

/* One of the two sides: its own request, with its time range. */
struct side {
	struct web_request request;
	struct metric_rows rows;
	struct metric_list list;
	double size; /* the base of the comparison: ns, or a number of spans */
	char width[24];
};

/* Zeroed is empty. */
struct sides {
	const struct metric *metric;
	const char
		*by;  /* what rows have their own labels by ("root" of api/flame); NULL: nothing */
	double scale; /* factor for B, so that both sides have the same size */
	struct side of[SIDE_CNT];
};

/* Reads both sides by slices of time, with the parameters afrom, ato, bfrom, bto, other, metric
 * and normalise. Returns 0 or -errno, with the answer's error; call sides__free() in either case.
 */
int sides__read(struct sides *, struct web_request *, struct answer *);
void sides__free(struct sides *);

/* Fills the lists of both sides. Must hold the model's lock. Returns 0 or -ENOMEM. */
int sides__list(struct sides *, const struct metric_shape *);

/* Values by slice, SIDE_SLICE_CNT for each of `cnt` series. */
struct side_series {
	const int64_t *values[SIDE_CNT];
	size_t cnt;
	double scale; /* of B */
};

/* One result per series. */
struct comparison {
	struct bootstrap_result *results;
	bool *significant;
};

/* Returns 0 or -ENOMEM; call comparison__free() in either case. */
int comparison__make(struct comparison *, const struct side_series *);
void comparison__free(struct comparison *);

/* Returns the sum of a series. Scales that of B. */
double side_series__sum(const struct side_series *, enum diff_side, size_t index);

#endif
