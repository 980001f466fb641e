/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values that can be summed up by stack, and the sums. */
#ifndef STACKSEXPORT_WEB_METRICSUMS_H
#define STACKSEXPORT_WEB_METRICSUMS_H

#include "stacksexport/web/view.h"

/* What a thread did during a node's time, for metrics with states. */
enum weight_state { STATE_CPU, STATE_BLOCKED, STATE_RUNNABLE, STATE_CNT };

extern const char *const weight_states[STATE_CNT];

struct metric {
	const char *id, *label, *unit;
	const char *code; /* in page.samples; NULL: none of them */
	bool waits;	  /* with the intervals of page.waits */
	bool states;	  /* each state is a leaf */
	bool only_spans;  /* what was done in spans */
	enum source_part part;
	const char *kinds; /* one of these is in a recording that has it, as in "|profile|" */
};

/* Ends with a row without an id. */
extern const struct metric metrics[];

/* Returns the metric of the request; NULL with the answer's error. The default is cpu. */
const struct metric *metric__of(const struct web_request *, struct answer *);

/* The results of the queries of one selection: sums by stack. */
struct metric_rows {
	const struct metric_queries *queries; /* while they run */
	duckdb_result samples, waits, labels;
	bool has_roots;	 /* rows have a label each, by which their stacks are kept apart */
	bool hides_idle; /* waits for work are left out of the sums */
};

/* Runs the queries of a metric. Returns 0 or -errno, with the answer's error; call
 * metric_rows__free() in either case. */
int metric__read(struct web_request *, const struct metric *, struct metric_rows *,
		 struct answer *);
void metric_rows__free(struct metric_rows *);

/* Like metric__read(), by slices of time of the request's `width`. The label of a row is the number
 * of its slice, from 1 on. With `root` in the request, labels are read, too. */
int metric__read_slices(struct web_request *, const struct metric *, struct metric_rows *,
			struct answer *);

/* How the tree is made from stacks. */
struct metric_shape {
	struct model *model;
	const struct metric *metric;
	struct calltree *tree;
	enum tree_shape waits; /* of intervals off the CPU */
	bool states;	       /* a leaf for each state, if the metric has them */
};

/* The value that a stack adds to a node. */
struct metric_value {
	uint32_t node, label; /* label: the number of its root in rows.labels; 0: none */
	int64_t value, events;
	uint32_t root; /* of metric__read_slices(): the number of its root in rows.labels */
};

typedef int metric_fn(const struct metric_value *, void *arg);

/* Calls `take` for each stack and state until it fails. Adds new stacks to the tree. Must hold the
 * model's lock. Returns 0, -ENOMEM or the result of `take`. */
int metric__each(const struct metric_shape *, struct metric_rows *, metric_fn *take, void *arg);

/* All values, stored because they are read several times. */
struct metric_list {
	struct metric_value *rows;
	size_t cnt, cap;
};

/* A metric_fn that appends to a list. */
int metric_list__take(const struct metric_value *, void *list);
void metric_list__free(struct metric_list *);

/* The sums, by node of a tree. */
struct metric_sums {
	struct tree_weights values, events;
};

/* Adds the sums to the tree. Must hold the model's lock. Returns 0 or -ENOMEM; call
 * metric_sums__free() in either case. */
int metric__sum(const struct metric_shape *, struct metric_rows *, struct metric_sums *);
void metric_sums__free(struct metric_sums *);

/* Returns the function that stands for a state; KEYMAP_NONE if out of memory. Must hold the lock.
 */
uint32_t weight_state__function(struct model *, enum weight_state);

#endif
