/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * optionvalues.c: the values of the collector's options. A function that is given a mistake says
 * where it is, and does not return. Private to collector_options.c.
 */
#ifndef COLLECTOR_COLLECTOR_OPTIONS_PRIVATE_H
#define COLLECTOR_COLLECTOR_OPTIONS_PRIVATE_H

#include <argp.h>

#include "collector/collector_options.h"

#define RING_MAX       (1u << 30)
#define MAX_MEMORY_MIN (16u << 20)
#define BATCH_MIN_NS   100000000
#define BATCH_MAX_NS   3600000000000

_Noreturn void options__fail(const struct collector_options *, const struct argp_state *,
			     const char *where, const char *why);
_Noreturn void __attribute__((format(printf, 2, 3)))
options__refuse(const struct argp_state *, const char *fmt, ...);
_Noreturn void options__wrong(const struct argp_state *, const char *option, const char *value,
			      const char *allowed);
/* Returns the array with room for one more element. */
void *options__grow(const struct argp_state *, void *array, size_t cnt, size_t sz);

void option__add_pids(struct capture_filter *, const char *arg, const struct argp_state *);
void option__add_uid(struct capture_filter *, const char *arg, const struct argp_state *);
void option__add_cgroup(struct capture_filter *, const char *arg, const struct argp_state *);
void option__add_comm(struct capture_filter *, const char *arg, const struct argp_state *);
void option__set_probes(struct collector_options *, char *arg, const struct argp_state *);
void option__set_duration(uint64_t *ns, const char *option, const char *arg,
			  const struct argp_state *);
void option__set_end(struct collector_options *, const char *arg, const struct argp_state *);
/* Stores a size; one that exceeds 32 bits becomes 2 * RING_MAX. */
void option__set_size(uint32_t *bytes, const char *option, const char *arg,
		      const struct argp_state *);
void option__set_count(size_t *cnt, const char *option, const char *arg, const struct argp_state *);
void option__set_max_rate(uint64_t *rate, const char *arg, const struct argp_state *);
void option__set_budget(struct collector_options *, const char *arg, const struct argp_state *);
void option__set_max_memory(size_t *bytes, const char *arg, const struct argp_state *);
void option__set_keep(struct retention *, const char *arg, const struct argp_state *);
void option__set_compression(struct collector_options *, const char *arg,
			     const struct argp_state *);
void option__set_flight(struct collector_options *, const char *arg, const struct argp_state *);
void option__add_condition(struct collector_options *, const char *arg, const struct argp_state *);
void option__set_batch(struct collector_options *, const char *arg, const struct argp_state *);

#endif
