// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/collector_options_private.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "collector/configfile.h"
#include "store/parquet.h"

#define MAX_RATE_MAX  100000000
#define FLIGHT_MIN_NS 1000000000
#define FLIGHT_MAX_NS 86400000000000

void options__fail(const struct collector_options *o, const struct argp_state *state,
		   const char *where, const char *why)
{
	if (o->again) {
		log__error("%s%s", where, why);
		longjmp(*o->again, 1);
	}
	argp_error(state, "%s%s", where, why);
	exit(2);
}

void options__refuse(const struct argp_state *state, const char *fmt, ...)
{
	const struct collector_options *o = state->input;
	char why[512], where[4200] = "";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (o->config)
		snprintf(where, sizeof(where), "%s:%u: ", o->config->name, o->config->line);
	options__fail(o, state, where, why);
}

void options__wrong(const struct argp_state *state, const char *option, const char *value,
		    const char *allowed)
{
	options__refuse(state, "--%s: '%s' is not %s", option, value, allowed);
}

void *options__grow(const struct argp_state *state, void *array, size_t cnt, size_t sz)
{
	void *more = realloc(array, (cnt + 1) * sz);

	if (!more)
		argp_failure(state, 1, ENOMEM, "options");
	return more;
}

void option__add_pids(struct capture_filter *f, const char *arg, const struct argp_state *state)
{
	char *list = strdupa(arg), *p;

	while ((p = strsep(&list, ","))) {
		uint64_t pid;

		if (parse__u64(p, &pid) || pid == 0 || pid > INT32_MAX)
			options__wrong(state, "pid", p, "a process or thread id");
		f->pids = options__grow(state, f->pids, f->pid_cnt, sizeof(*f->pids));
		f->pids[f->pid_cnt++] = (uint32_t)pid;
	}
}

void option__add_uid(struct capture_filter *f, const char *arg, const struct argp_state *state)
{
	const struct passwd *pw = getpwnam(arg);
	uint64_t uid = pw ? pw->pw_uid : 0;

	if (!pw && (parse__u64(arg, &uid) || uid >= UINT32_MAX))
		options__wrong(state, "uid", arg, "a user's name or number");
	f->uids = options__grow(state, f->uids, f->uid_cnt, sizeof(*f->uids));
	f->uids[f->uid_cnt++] = (uint32_t)uid;
}

void option__add_cgroup(struct capture_filter *f, const char *arg, const struct argp_state *state)
{
	if (!*arg)
		options__wrong(state, "cgroup", arg, "a path");
	f->cgroups = options__grow(state, f->cgroups, f->cgroup_cnt, sizeof(*f->cgroups));
	f->cgroups[f->cgroup_cnt++] = arg;
}

void option__add_comm(struct capture_filter *f, const char *arg, const struct argp_state *state)
{
	if (strchr(arg, '/'))
		options__refuse(state,
				"'%s' is not the name of a command; to launch it, write -- %s", arg,
				arg);
	if (strlen(arg) >= EVENT_COMM_SZ)
		options__refuse(
			state,
			"'%s': a command's name has at most 15 bytes (the kernel cuts longer ones: "
			"try '%.15s')",
			arg, arg);
	f->comms = options__grow(state, f->comms, f->comm_cnt, sizeof(*f->comms));
	f->comms[f->comm_cnt++] = arg;
}

void option__set_probes(struct collector_options *o, char *arg, const struct argp_state *state)
{
	char why[256];
	int cnt = probes__parse(arg, o->probes, why, sizeof(why));

	if (cnt < 0)
		options__refuse(state, "--programs: %s", why);
	o->capture.probe_cnt = (size_t)cnt;
}

void option__set_duration(uint64_t *ns, const char *option, const char *arg,
			  const struct argp_state *state)
{
	if (parse__duration(arg, ns) || *ns > INT64_MAX / 2) /* no sum with a clock overflows */
		options__wrong(state, option, arg, "a time such as 500ms, 5s or 10m");
}

void option__set_end(struct collector_options *o, const char *arg, const struct argp_state *state)
{
	option__set_duration(&o->duration_ns, "duration", arg, state);
	if (o->duration_ns == 0)
		options__wrong(state, "duration", arg, "a time such as 500ms, 5s or 10m");
}

/* Stores a size; one that exceeds 32 bits becomes the maximum, so that collector_options_check()
 * names the limit. */
void option__set_size(uint32_t *bytes, const char *option, const char *arg,
		      const struct argp_state *state)
{
	uint64_t sz;
	int err = parse__size(arg, &sz);

	if (err == -EINVAL || (!err && sz == 0))
		options__wrong(state, option, arg, "a size such as 64K or 4M");
	*bytes = err || sz > 2 * RING_MAX ? 2 * RING_MAX : (uint32_t)sz;
}

void option__set_count(size_t *cnt, const char *option, const char *arg,
		       const struct argp_state *state)
{
	uint64_t n;

	if (parse__u64(arg, &n) || n == 0 || n > 100000000)
		options__wrong(state, option, arg, "a number from 1 to 100000000");
	*cnt = n;
}

void option__set_max_rate(uint64_t *rate, const char *arg, const struct argp_state *state)
{
	if (parse__u64(arg, rate) || *rate > MAX_RATE_MAX)
		options__wrong(state, "max-rate", arg, "a number from 0 to 100000000");
}

void option__set_budget(struct collector_options *o, const char *arg,
			const struct argp_state *state)
{
	uint64_t percent;

	if (parse__percent(arg, &percent))
		options__wrong(state, "budget", arg, "1% to 100%");
	o->budget_percent = (uint32_t)percent;
	o->capture.thins = true;
}

void option__set_max_memory(size_t *bytes, const char *arg, const struct argp_state *state)
{
	uint64_t sz;

	if (parse__size(arg, &sz) || sz < MAX_MEMORY_MIN)
		options__wrong(state, "max-memory", arg, "a size of at least 16M");
	*bytes = sz;
}

void option__set_keep(struct retention *keep, const char *arg, const struct argp_state *state)
{
	uint64_t limit;

	if (parse__duration(arg, &limit) == 0 && limit > 0 && limit <= INT64_MAX / 2)
		keep->age_ns = limit;
	else if (parse__percent(arg, &limit) == 0)
		keep->percent = (uint32_t)limit;
	else if (parse__size(arg, &limit) == 0 && limit > 0)
		keep->sz = limit;
	else
		options__wrong(
			state, "keep", arg,
			"an age such as 12h or 2d, a size such as 500M or 10G, or 1% to 100%");
}

void option__set_compression(struct collector_options *o, const char *arg,
			     const struct argp_state *state)
{
	int level;

	if (parquet__parse_compression(arg, &level) != 0)
		options__wrong(state, "compression", arg, "zstd(1) ... zstd(22) or none");
	o->recording.compression = arg;
}

void option__set_flight(struct collector_options *o, const char *arg,
			const struct argp_state *state)
{
	option__set_duration(&o->recording.flight.keep_ns, "flight", arg, state);
	if (o->recording.flight.keep_ns < FLIGHT_MIN_NS ||
	    o->recording.flight.keep_ns > FLIGHT_MAX_NS)
		options__wrong(state, "flight", arg, "a time from 1s to 1d");
}

void option__add_condition(struct collector_options *o, const char *arg,
			   const struct argp_state *state)
{
	struct condition c;

	if (condition__parse(arg, &c) != 0)
		options__wrong(state, "when", arg,
			       "like 'cpu > 90% for 5s', 'memory > 2G' or 'span > 500ms'");
	o->conditions =
		options__grow(state, o->conditions, o->condition_cnt, sizeof(*o->conditions));
	o->conditions[o->condition_cnt++] = c;
}

void option__set_batch(struct collector_options *o, const char *arg, const struct argp_state *state)
{
	option__set_duration(&o->recording.batch_ns, "batch", arg, state);
	if (o->recording.batch_ns < BATCH_MIN_NS || o->recording.batch_ns > BATCH_MAX_NS)
		options__wrong(state, "batch", arg, "a time from 100ms to 1h");
	o->batch_given = true;
}
