/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cost of each place of one function. */
#ifndef STACKSEXPORT_WEB_PLACECOSTS_H
#define STACKSEXPORT_WEB_PLACECOSTS_H

#include "stacksexport/web/metricsums.h"

struct place_cost {
	uint64_t place; /* a link-time address; 0: a line of a script */
	int64_t self, total;
	uint32_t file; /* of the line: a text of the stackset */
	int32_t line;  /* that the recording has; 0: none */
};

struct place_costs {
	uint32_t function;
	struct keymap places; /* entry i: costs[i] */
	struct place_cost *costs;
	size_t cap;
	uint64_t start;		 /* of the function */
	uint32_t path, build_id; /* of its file: texts of the stackset */
};

/*
 * Sums up the rows that samples_of_stacks.sql and waits_of_stacks.sql gave for a metric. A stack
 * counts once per place. Must hold the model's lock. Returns 0 or -ENOMEM; call
 * place_costs__free() in either case.
 */
int place_costs__sum(struct place_costs *, struct model *, uint32_t function, struct metric_rows *);
void place_costs__free(struct place_costs *);

#endif
