/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The collector's options. Help, manual page and completions are made from this table. */
#ifndef COLLECTOR_OPTIONTABLE_H
#define COLLECTOR_OPTIONTABLE_H

#include <argp.h>

#define DEFAULT_PROBES "profile:u:99,rss:u:29,switch:ku:0s"
#define STATUS_FILE    "/run/collector/status" /* default of --status */

enum collector_key {
	KEY_DURATION = 256,
	KEY_APPEND,
	KEY_FORCE,
	KEY_KEEP,
	KEY_PID,
	KEY_UID,
	KEY_CGROUP,
	KEY_STACK_SIZE,
	KEY_STITCH,
	KEY_RUNTIMES,
	KEY_NO_RUNTIMES,
	KEY_RING_SIZE,
	KEY_MAX_RATE,
	KEY_MAX_MEMORY,
	KEY_BUDGET,
	KEY_STATUS,
	KEY_METRICS,
	KEY_CACHE,
	KEY_NO_CACHE,
	KEY_COMPRESSION,
	KEY_POLL,
	KEY_KEEP_ROOT,
	KEY_NO_SANDBOX,
	KEY_CONFIG,
	KEY_PRESET,
	KEY_LIST,
	KEY_QUIET,
	KEY_UNWINDER,
	KEY_DEBUG_BPF,
	KEY_BILL,
	KEY_BPF_STACKS,
	KEY_PREFIX,
	KEY_COMPLETION,
	KEY_FLIGHT,
	KEY_WHEN,
	KEY_DUMP,
	KEY_BATCH,
	KEY_LAST,
};

extern const struct argp_option collector_argp_options[];

/* A set of options, as a text that collector/configfile.h reads. */
struct preset {
	const char *name; /* NULL ends the table */
	const char *text;
};
extern const struct preset collector_presets[];

#endif
