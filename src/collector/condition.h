/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The conditions of --when, which trigger the flight recorder. */
#ifndef COLLECTOR_CONDITION_H
#define COLLECTOR_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

enum condition_of {
	CONDITION_CPU,	  /* percent of all CPUs that is in use */
	CONDITION_MEMORY, /* bytes in RAM of the largest process */
	CONDITION_SPAN,	  /* ns of a span */
	CONDITION_CNT,
};

struct condition {
	enum condition_of of;
	uint64_t above;
	uint64_t for_ns; /* it must hold for this long */
	/* state: */
	bool fired;	   /* since it became true */
	uint64_t since_ns; /* it has been true since then; 0: it is false */
};

/* Parses "cpu > 90% for 5s", "memory > 2G", "span > 500ms". Returns 0 or -EINVAL. */
int condition__parse(const char *text, struct condition *);
/* Returns true once, when the value has been above the limit for long enough. It returns true again
 * only after the value was below. `now_ns`: CLOCK_MONOTONIC, not 0. */
bool condition__fires(struct condition *, uint64_t value, uint64_t now_ns);

#endif
