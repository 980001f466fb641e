// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/bootstrap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define FALSE_PART 0.05 /* share of chance among the differences that are called significant */

/* splitmix64: the same numbers in every run. */
static uint64_t bootstrap_draw_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void bootstrap_draw_slices(uint16_t *counts, size_t cnt, uint64_t *state)
{
	for (size_t i = 0; i < cnt; i++)
		counts[bootstrap_draw_next(state) % cnt]++;
}

int bootstrap__init(struct bootstrap *b, size_t a_cnt, size_t b_cnt)
{
	uint64_t state = 1;

	b->a_cnt = a_cnt;
	b->b_cnt = b_cnt;
	b->counts = calloc(BOOTSTRAP_DRAWS, (a_cnt + b_cnt) * sizeof(*b->counts));
	for (size_t i = 0; b->counts && i < BOOTSTRAP_DRAWS; i++) {
		uint16_t *counts = b->counts + i * (a_cnt + b_cnt);

		bootstrap_draw_slices(counts, a_cnt, &state);
		bootstrap_draw_slices(counts + a_cnt, b_cnt, &state);
	}
	return b->counts ? 0 : -ENOMEM;
}

void bootstrap__free(struct bootstrap *b)
{
	free(b->counts);
	b->counts = NULL;
}

static double bootstrap_draw_sum(const int64_t *values, const uint16_t *counts, size_t cnt)
{
	double sum = 0;

	for (size_t i = 0; i < cnt; i++)
		sum += (double)values[i] * counts[i];
	return sum;
}

static int bootstrap_compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double bootstrap_variance(const double *samples, double *mean)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < BOOTSTRAP_DRAWS; i++)
		sum += samples[i];
	*mean = sum / BOOTSTRAP_DRAWS;
	for (size_t i = 0; i < BOOTSTRAP_DRAWS; i++)
		squares += (samples[i] - *mean) * (samples[i] - *mean);
	return squares / (BOOTSTRAP_DRAWS - 1);
}

/* Takes the spread from the draws. The normal distribution with this spread also gives p for
 * differences that are too rare to be among the draws. */
struct bootstrap_result bootstrap__compare(struct bootstrap *b, const struct bootstrap_series *s)
{
	double mean, deviation;

	for (size_t i = 0; i < BOOTSTRAP_DRAWS; i++) {
		const uint16_t *counts = b->counts + i * (b->a_cnt + b->b_cnt);

		b->samples[i] = s->scale * bootstrap_draw_sum(s->b, counts + b->a_cnt, b->b_cnt) -
				bootstrap_draw_sum(s->a, counts, b->a_cnt);
	}
	deviation = sqrt(bootstrap_variance(b->samples, &mean));
	qsort(b->samples, BOOTSTRAP_DRAWS, sizeof(b->samples[0]), bootstrap_compare_doubles);
	return (struct bootstrap_result){
		.p = deviation > 0 ? erfc(fabs(mean) / deviation / M_SQRT2)
		     : mean != 0   ? 0
				   : 1,
		.lo = b->samples[BOOTSTRAP_DRAWS / 40],
		.hi = b->samples[BOOTSTRAP_DRAWS - 1 - BOOTSTRAP_DRAWS / 40],
	};
}

int bootstrap__choose(const struct bootstrap_result *results, size_t cnt, bool *significant)
{
	double *sorted = calloc(cnt ? cnt : 1, sizeof(*sorted)), limit = -1;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		sorted[i] = results[i].p;
	qsort(sorted, cnt, sizeof(*sorted), bootstrap_compare_doubles);
	for (size_t i = 0; i < cnt; i++)
		if (sorted[i] <= FALSE_PART * (double)(i + 1) / (double)cnt)
			limit = sorted[i];
	for (size_t i = 0; i < cnt; i++)
		significant[i] = results[i].p <= limit;
	free(sorted);
	return 0;
}
