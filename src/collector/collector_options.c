// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/collector_options.h"

#include <argp.h>
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/parse.h"
#include "collector/collector_help.h"
#include "collector/configfile.h"
#include "collector/memorylimit.h"
#include "collector/optiontable.h"
#include "collector/statusfile.h"
#include "event/kind.h"
#include "runtime/runtimes.h"
#include "store/parquet.h"
#include "cfi/tablecache.h"

#define MAX_RATE       500000
#define MAX_RATE_MAX   100000000
#define POLL_MAX_NS    3600000000000
#define RING_MAX       (1u << 30)
#define MAX_MEMORY     ((size_t)256 << 20)
#define MAX_MEMORY_MIN (16u << 20)

static const char doc[] =
	"Records every event of the chosen sources with its stacks, of the whole system or of "
	"selected processes, as Parquet files. Needs no frame pointers."
	"\vExamples:\n"
	"  sudo collector                                     the whole system\n"
	"  sudo collector --duration 10s -p profile:uk:999    CPU time, kernel too\n"
	"  sudo collector -p switch:uk postgres redis-server  two commands only\n"
	"  sudo collector --pid 4711                          with descendants\n"
	"  sudo collector -- ./prog args                      launch and record it\n"
	"Then look at the recording:\n"
	"  stacksexport top\n"
	"  stacksexport pprof sql/pprof/cpu_ustacks.sql -c postgres\n";

const char *argp_program_version = "collector " STACKS_VERSION;

/* Says where the mistake is, and ends the program. */
static void __attribute__((noreturn, format(printf, 2, 3)))
refuse(const struct argp_state *state, const char *fmt, ...)
{
	const struct options *o = state->input;
	char why[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (o->config)
		argp_error(state, "%s:%u: %s", o->config->name, o->config->line, why);
	else
		argp_error(state, "%s", why);
	exit(2);
}

static void __attribute__((noreturn))
wrong(const struct argp_state *state, const char *option, const char *value, const char *allowed)
{
	refuse(state, "--%s: '%s' is not %s", option, value, allowed);
}

static void *grow(const struct argp_state *state, void *array, size_t cnt, size_t sz)
{
	void *more = realloc(array, (cnt + 1) * sz);

	if (!more)
		argp_failure(state, 1, ENOMEM, "options");
	return more;
}

static void add_pids(struct capture_filter *f, const char *arg, const struct argp_state *state)
{
	char *list = strdupa(arg), *p;

	while ((p = strsep(&list, ","))) {
		uint64_t pid;

		if (parse__u64(p, &pid) || pid == 0 || pid > INT32_MAX)
			wrong(state, "pid", p, "a process or thread id");
		f->pids = grow(state, f->pids, f->pid_cnt, sizeof(*f->pids));
		f->pids[f->pid_cnt++] = (uint32_t)pid;
	}
}

static void add_uid(struct capture_filter *f, const char *arg, const struct argp_state *state)
{
	const struct passwd *pw = getpwnam(arg);
	uint64_t uid = pw ? pw->pw_uid : 0;

	if (!pw && (parse__u64(arg, &uid) || uid >= UINT32_MAX))
		wrong(state, "uid", arg, "a user's name or number");
	f->uids = grow(state, f->uids, f->uid_cnt, sizeof(*f->uids));
	f->uids[f->uid_cnt++] = (uint32_t)uid;
}

static void add_cgroup(struct capture_filter *f, const char *arg, const struct argp_state *state)
{
	if (!*arg)
		wrong(state, "cgroup", arg, "a path");
	f->cgroups = grow(state, f->cgroups, f->cgroup_cnt, sizeof(*f->cgroups));
	f->cgroups[f->cgroup_cnt++] = arg;
}

static void add_comm(struct capture_filter *f, const char *arg, const struct argp_state *state)
{
	if (strchr(arg, '/'))
		refuse(state, "'%s' is not the name of a command; to launch it, write -- %s", arg,
		       arg);
	if (strlen(arg) >= EVENT_COMM_SZ)
		refuse(state,
		       "'%s': a command's name has at most 15 bytes (the kernel cuts longer ones: "
		       "try '%.15s')",
		       arg, arg);
	f->comms = grow(state, f->comms, f->comm_cnt, sizeof(*f->comms));
	f->comms[f->comm_cnt++] = arg;
}

static void set_probes(struct options *o, char *arg, const struct argp_state *state)
{
	char why[256];
	int cnt = probes__parse(arg, o->probes, why, sizeof(why));

	if (cnt < 0)
		refuse(state, "--programs: %s", why);
	o->capture.probe_cnt = (size_t)cnt;
}

static void set_duration(uint64_t *ns, const char *option, const char *arg,
			 const struct argp_state *state)
{
	if (parse__duration(arg, ns) || *ns > INT64_MAX / 2) /* no sum with a clock overflows */
		wrong(state, option, arg, "a time such as 500ms, 5s or 10m");
}

static void set_end(struct options *o, const char *arg, const struct argp_state *state)
{
	set_duration(&o->duration_ns, "duration", arg, state);
	if (o->duration_ns == 0)
		wrong(state, "duration", arg, "a time such as 500ms, 5s or 10m");
}

/* Stores a size; one that exceeds 32 bits becomes the maximum, so that check() names the limit. */
static void set_size(uint32_t *bytes, const char *option, const char *arg,
		     const struct argp_state *state)
{
	uint64_t sz;
	int err = parse__size(arg, &sz);

	if (err == -EINVAL || (!err && sz == 0))
		wrong(state, option, arg, "a size such as 64K or 4M");
	*bytes = err || sz > 2 * RING_MAX ? 2 * RING_MAX : (uint32_t)sz;
}

static void set_count(size_t *cnt, const char *option, const char *arg,
		      const struct argp_state *state)
{
	uint64_t n;

	if (parse__u64(arg, &n) || n == 0 || n > 100000000)
		wrong(state, option, arg, "a number from 1 to 100000000");
	*cnt = n;
}

static void set_max_rate(uint64_t *rate, const char *arg, const struct argp_state *state)
{
	if (parse__u64(arg, rate) || *rate > MAX_RATE_MAX)
		wrong(state, "max-rate", arg, "a number from 0 to 100000000");
}

static void set_budget(struct options *o, const char *arg, const struct argp_state *state)
{
	uint64_t percent;

	if (parse__percent(arg, &percent))
		wrong(state, "budget", arg, "1% to 100%");
	o->budget_percent = (uint32_t)percent;
	o->capture.thins = true;
}

static void set_max_memory(size_t *bytes, const char *arg, const struct argp_state *state)
{
	uint64_t sz;

	if (parse__size(arg, &sz) || sz < MAX_MEMORY_MIN)
		wrong(state, "max-memory", arg, "a size of at least 16M");
	*bytes = sz;
}

static void set_keep(struct retention *keep, const char *arg, const struct argp_state *state)
{
	uint64_t limit;

	if (parse__duration(arg, &limit) == 0 && limit > 0 && limit <= INT64_MAX / 2)
		keep->age_ns = limit;
	else if (parse__percent(arg, &limit) == 0)
		keep->percent = (uint32_t)limit;
	else if (parse__size(arg, &limit) == 0 && limit > 0)
		keep->sz = limit;
	else
		wrong(state, "keep", arg,
		      "an age such as 12h or 2d, a size such as 500M or 10G, or 1% to 100%");
}

static void set_compression(struct options *o, const char *arg, const struct argp_state *state)
{
	int level;

	if (parquet__parse_compression(arg, &level) != 0)
		wrong(state, "compression", arg, "zstd(1) ... zstd(22) or none");
	o->recording.compression = arg;
}

static void set_unwinder(struct options *o, const char *arg, const struct argp_state *state)
{
	if (strcmp(arg, "naive") == 0)
		o->unwinder = UNWINDER_NAIVE;
	else if (strcmp(arg, "tables") != 0)
		wrong(state, "unwinder", arg, "tables or naive");
}

static void set_runtimes(struct options *o, const char *arg, const struct argp_state *state)
{
	if (runtimes__parse(arg, &o->runtimes) != 0)
		wrong(state, "runtimes", arg, "a comma list of: java, javascript, python");
}

static error_t parse_opt(int key, char *arg, struct argp_state *state);

/* Applies each option as if it stood on the command line here. Takes ownership of the text, which
 * the options keep. */
static void set_from_text(struct argp_state *state, const char *name, char *text)
{
	struct options *o = state->input;
	struct config_text c = { .name = name, .rest = text };
	const struct config_text *outer = o->config;
	const char *why;

	o->texts = grow(state, o->texts, o->text_cnt, sizeof(*o->texts));
	o->texts[o->text_cnt++] = text;
	o->config = &c;
	while (config_text__next(&c)) {
		const struct argp_option *option =
			config_text__find(&c, collector_argp_options, &why);

		if (option && option->key == KEY_CONFIG)
			why = "cannot stand in a file";
		if (why)
			refuse(state, "'%s' %s", c.option, why);
		parse_opt(option->key, c.value, state);
	}
	o->config = outer;
}

static void set_from_file(struct argp_state *state, const char *path)
{
	bool optional = *path == '-';
	char *text = config_file__read(path + optional);

	if (text)
		set_from_text(state, path + optional, text);
	else if (errno != ENOENT || !optional)
		refuse(state, "cannot read the options in %s: %s", path + optional,
		       errno == EINVAL ? "it is no text" : strerror(errno));
}

static void set_preset(struct argp_state *state, const char *name)
{
	const struct preset *p = collector_presets;
	char *text;

	while (p->name && strcmp(p->name, name) != 0)
		p++;
	if (!p->name)
		wrong(state, "preset", name, "always-on");
	text = strdup(p->text);
	if (!text)
		argp_failure(state, 1, ENOMEM, "options");
	set_from_text(state, p->name, text);
}

static void print_completion(const char *shell, const struct argp_state *state)
{
	if (collector_help__print_completion(shell))
		wrong(state, "completion", shell, "bash, zsh or fish");
	exit(0);
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct capture_filter *filter = &o->capture.filter;

	switch (key) {
	case 'p': set_probes(o, arg, state); break;
	case 'a': o->all = true; break;
	case 'd': o->recording.dir = arg; break;
	case 'r': set_count(&o->recording.rows_per_group, "rows", arg, state); break;
	case 'g': set_count(&o->recording.groups_per_file, "groups-per-file", arg, state); break;
	case 'v': o->verbose = true; break;
	case KEY_DURATION: set_end(o, arg, state); break;
	case KEY_POLL: set_duration(&o->poll_ns, "poll", arg, state); break;
	case KEY_BILL: set_duration(&o->bill_ns, "profiling-interval", arg, state); break;
	case KEY_APPEND: o->recording.append = true; break;
	case KEY_KEEP: set_keep(&o->recording.keep, arg, state); break;
	case KEY_FORCE: o->recording.force = true; break;
	case KEY_PID: add_pids(filter, arg, state); break;
	case KEY_UID: add_uid(filter, arg, state); break;
	case KEY_CGROUP: add_cgroup(filter, arg, state); break;
	case KEY_STACK_SIZE: set_size(&o->capture.stack_sz, "stack-size", arg, state); break;
	case KEY_STITCH: o->stitch = true; break;
	case KEY_RUNTIMES: set_runtimes(o, arg, state); break;
	case KEY_NO_RUNTIMES: o->runtimes = 0; break;
	case KEY_RING_SIZE: set_size(&o->capture.ring_sz, "ring-size", arg, state); break;
	case KEY_MAX_MEMORY: set_max_memory(&o->max_memory_sz, arg, state); break;
	case KEY_MAX_RATE: set_max_rate(&o->capture.max_rate, arg, state); break;
	case KEY_BUDGET: set_budget(o, arg, state); break;
	case KEY_COMPRESSION: set_compression(o, arg, state); break;
	case KEY_STATUS: o->status_path = *arg ? arg : NULL; break;
	case KEY_METRICS: o->metrics_path = *arg ? arg : NULL; break;
	case KEY_CACHE: o->cache_dir = arg; break;
	case KEY_NO_CACHE: o->cache_dir = NULL; break;
	case KEY_KEEP_ROOT: o->keep_root = true; break;
	case KEY_CONFIG: set_from_file(state, arg); break;
	case KEY_PRESET: set_preset(state, arg); break;
	case KEY_LIST: o->list = true; break;
	case KEY_QUIET: o->quiet = true; break;
	case KEY_UNWINDER: set_unwinder(o, arg, state); break;
	case KEY_DEBUG_BPF: o->capture.debug = true; break;
	case KEY_COMPLETION: print_completion(arg, state); break;
	case KEY_BPF_STACKS:
	case KEY_PREFIX: break;
	case ARGP_KEY_ARG: add_comm(filter, arg, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = collector_argp_options,
	.parser = parse_opt,
	.args_doc = "[COMM]…\n[COMM]… -- COMMAND [ARG]…",
	.doc = doc,
	.help_filter = collector_help__filter,
};

static uint32_t power_of_two(uint32_t sz)
{
	uint32_t p = 4096;

	while (p < sz)
		p *= 2;
	return p;
}

/* The rings and the kernel's memory for files need room below the limit of a cgroup, too. */
static size_t default_max_memory(void)
{
	size_t half = memory_limit__of_cgroup() / 2;

	if (half >= MAX_MEMORY)
		return MAX_MEMORY;
	return half < MAX_MEMORY_MIN ? MAX_MEMORY_MIN : half;
}

static void set_defaults(struct options *o)
{
	*o = (struct options){
		.capture = { .probes = o->probes,
			     .stack_sz = 256 << 10,
			     .ring_sz = 4 << 20,
			     .max_rate = MAX_RATE },
		.recording = { .root = getenv("STACKS_DIR"),
			       .rows_per_group = 100000,
			       .groups_per_file = 10,
			       .batch_ns = 10000000000,
			       .compression = "zstd(1)" },
		.runtimes = RUNTIMES_ALL,
		.poll_ns = 250000000,
		.max_memory_sz = default_max_memory(),
		.status_path = STATUS_FILE,
		.cache_dir = TABLE_CACHE_DIR,
	};
	if (!o->recording.root || !*o->recording.root)
		o->recording.root = "/var/lib/stacks";
}

/* Returns true if a source needs chosen processes, and there are none. */
static bool needs_processes(const struct options *o)
{
	const struct capture_filter *f = &o->capture.filter;
	bool needed = false;

	for (size_t i = 0; i < o->capture.probe_cnt; i++)
		needed |= o->probes[i].probe->needs_processes;
	return needed && !f->none_yet && !f->comm_cnt && !f->pid_cnt && !f->cgroup_cnt;
}

/* Reports options that only make sense together. */
static void check(struct options *o, char *program)
{
	const char *why = NULL;

	if (o->capture.stack_sz > EVENT_STACK_MAX)
		why = "--stack-size is at most 1M";
	else if (o->capture.ring_sz > RING_MAX)
		why = "--ring-size is at most 1G";
	else if (o->capture.ring_sz < 2 * o->capture.stack_sz)
		why = "--ring-size must be at least twice --stack-size";
	else if (o->poll_ns > POLL_MAX_NS)
		why = "--poll is at most 1h";
	else if (o->all && !o->command)
		why = "--all needs a command: collector -a -- COMMAND";
	else if (o->keep_root && !o->command)
		why = "--keep-root needs a command: collector --keep-root -- COMMAND";
	else if (o->command && !o->command[0])
		why = "there is no command after --";
	else if (o->command && (o->capture.filter.comm_cnt || o->capture.filter.pid_cnt))
		why = "a command to launch cannot be combined with commands or processes to select";
	else if (needs_processes(o))
		why = "alloc needs the processes whose allocations it records: name a command, "
		      "--pid or --cgroup";
	else if (o->recording.append && !o->recording.dir)
		why = "--append needs --dir";
	if (!why)
		return;
	fprintf(stderr, "%s: %s\nTry '%s --help' for more information.\n", program, why, program);
	exit(2);
}

/* Returns the names of the sources, like "profile,rss,switch". */
static char *name_sources(const struct options *o)
{
	struct buf names = { 0 };

	for (size_t i = 0; i < o->capture.probe_cnt; i++)
		buf__printf(&names, "%s%s", i ? "," : "", o->probes[i].probe->name);
	buf__u8(&names, 0);
	return (char *)names.data;
}

void options__parse(struct options *o, int argc, char **argv)
{
	char defaults[] = DEFAULT_PROBES;
	char why[256];
	int own = 1;

	set_defaults(o);
	argp_err_exit_status = 2;
	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	if (own < argc)
		o->command = &argv[own + 1];
	argp_parse(&argp, own, argv, 0, NULL, o);
	if (!o->capture.probe_cnt)
		o->capture.probe_cnt = (size_t)probes__parse(defaults, o->probes, why, sizeof(why));
	o->capture.runtimes = o->runtimes != 0;
	o->recording.sources = o->sources = name_sources(o);
	o->capture.ring_sz = power_of_two(o->capture.ring_sz);
	o->capture.filter.none_yet = o->command && !o->all;
	check(o, program_invocation_short_name);
}

void options__free(struct options *o)
{
	free(o->capture.filter.comms);
	free(o->capture.filter.pids);
	free(o->capture.filter.uids);
	free(o->capture.filter.cgroups);
	free(o->sources);
	for (size_t i = 0; i < o->text_cnt; i++)
		free(o->texts[i]);
	free(o->texts);
}

uint64_t options__join_min_ns(const struct options *o)
{
	for (size_t i = 0; i < o->capture.probe_cnt; i++)
		if (strcmp(o->probes[i].probe->name, event_kind__probe(EVENT_SWITCH)) == 0)
			return o->probes[i].param;
	return 0;
}

bool options__kernel_stacks(const struct options *o)
{
	unsigned stacks = 0;

	for (size_t i = 0; i < o->capture.probe_cnt; i++)
		stacks |= o->probes[i].stacks;
	return stacks & PROBE_KERNEL;
}
