/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The values of the collector's options (optionvalues.c), for collector_options.c. A function that
 * gets a wrong value prints where it is and what is allowed, and does not return: see
 * options__fail().
 */
#ifndef COLLECTOR_COLLECTOR_OPTIONS_PRIVATE_H
#define COLLECTOR_COLLECTOR_OPTIONS_PRIVATE_H

#include <argp.h>

#include "collector/collector_options.h"

#define RING_MAX       (1u << 30)
#define MAX_MEMORY_MIN (16u << 20)
#define BATCH_MIN_NS   100000000
#define BATCH_MAX_NS   3600000000000

/* Prints `where` and `why`. Then jumps to the options' .again, if it is set (a reload), or ends the
 * program with exit status 2. */
_Noreturn void options__fail(const struct collector_options *, const struct argp_state *,
			     const char *where, const char *why);
/* Like options__fail(), at the current line of the configuration, if one is being read. */
_Noreturn void __attribute__((format(printf, 2, 3)))
options__refuse(const struct argp_state *, const char *fmt, ...);
/* Like options__refuse(): "--OPTION: 'VALUE' is not ALLOWED". */
_Noreturn void options__wrong(const struct argp_state *, const char *option, const char *value,
			      const char *allowed);
/* Returns the array with room for one more element of `sz` bytes. Ends the program if out of
 * memory.
 */
void *options__grow(const struct argp_state *, void *array, size_t cnt, size_t sz);

/* Parse `arg` and store its value. option__add_cgroup() and option__add_comm() keep `arg` itself.
 */
void option__add_pids(struct capture_filter *, const char *arg, const struct argp_state *);
void option__add_uid(struct capture_filter *, const char *arg, const struct argp_state *);
void option__add_cgroup(struct capture_filter *, const char *arg, const struct argp_state *);
void option__add_comm(struct capture_filter *, const char *arg, const struct argp_state *);
void option__set_probes(struct collector_options *, char *arg, const struct argp_state *);
void option__set_duration(uint64_t *ns, const char *option, const char *arg,
			  const struct argp_state *);
void option__set_end(struct collector_options *, const char *arg, const struct argp_state *);
/* Stores a size in bytes; one that exceeds 32 bits becomes 2 * RING_MAX, which callers refuse. */
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
