// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/collector_options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cpus.h"
#include "base/log.h"
#include "collector/collector_help.h"
#include "collector/collector_options_private.h"
#include "collector/configfile.h"
#include "collector/memorylimit.h"
#include "collector/optiontable.h"
#include "event/kind.h"
#include "runtime/runtimes.h"
#include "store/parquet.h"
#include "cfi/tablecache.h"

#define MAX_RATE    500000
#define POLL_MAX_NS 3600000000000
#define MAX_MEMORY  ((size_t)256 << 20)
#define BATCH_NS    10000000000
#define RING	    (4u << 20)
/* The time of a flight recorder is divided into this many batches. */
#define FLIGHT_BATCHES	    10
#define FLIGHT_BATCH_MIN_NS 1000000000

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

/* argp of glibc reads it, so it must not be hidden as other symbols are. */
__attribute__((visibility("default"))) const char *argp_program_version =
	"collector " STACKS_VERSION;

static void collector_options_set_unwinder(struct collector_options *o, const char *arg,
					   const struct argp_state *state)
{
	if (strcmp(arg, "naive") == 0)
		o->unwinder = UNWINDER_NAIVE;
	else if (strcmp(arg, "tables") != 0)
		options__wrong(state, "unwinder", arg, "tables or naive");
}

static void collector_options_set_runtimes(struct collector_options *o, const char *arg,
					   const struct argp_state *state)
{
	if (runtimes__parse(arg, &o->runtimes) != 0)
		options__wrong(state, "runtimes", arg,
			       "a comma list of: java, javascript, php, python, ruby");
}

static error_t collector_options_parse_opt(int key, char *arg, struct argp_state *state);

/* Applies each option as if it stood on the command line here. Takes ownership of the text, which
 * the options keep. */
static void collector_options_set_from_text(struct argp_state *state, const char *name, char *text)
{
	struct collector_options *o = state->input;
	struct config_text c = { .name = name, .rest = text };
	const struct config_text *outer = o->config;
	const char *why;

	o->texts = options__grow(state, o->texts, o->text_cnt, sizeof(*o->texts));
	o->texts[o->text_cnt++] = text;
	o->config = &c;
	while (config_text__next(&c)) {
		const struct argp_option *option =
			config_text__find(&c, collector_argp_options, &why);

		if (option && option->key == KEY_CONFIG)
			why = "cannot stand in a file";
		if (why)
			options__refuse(state, "'%s' %s", c.option, why);
		collector_options_parse_opt(option->key, c.value, state);
	}
	o->config = outer;
}

static void collector_options_set_from_file(struct argp_state *state, const char *path)
{
	struct collector_options *o = state->input;
	bool optional = *path == '-';
	char *text = config_file__read(path + optional);

	o->has_config = true;
	if (text)
		collector_options_set_from_text(state, path + optional, text);
	else if (errno != ENOENT || !optional)
		options__refuse(state, "cannot read the options in %s: %s", path + optional,
				errno == EINVAL ? "it is not text" : strerror(errno));
}

static void collector_options_set_preset(struct argp_state *state, const char *name)
{
	const struct preset *p = collector_presets;
	char *text;

	while (p->name && strcmp(p->name, name) != 0)
		p++;
	if (!p->name)
		options__wrong(state, "preset", name, "always-on");
	text = strdup(p->text);
	if (!text)
		argp_failure(state, 1, ENOMEM, "options");
	collector_options_set_from_text(state, p->name, text);
}

static void collector_options_print_completion(const char *shell, const struct argp_state *state)
{
	if (collector_help__print_completion(shell))
		options__wrong(state, "completion", shell, "bash, zsh or fish");
	exit(0);
}

/* Keys of argp itself, and those that stand for other options, are left out. */
static void collector_options_note_given(int key, const char *arg, const struct argp_state *state)
{
	struct collector_options *o = state->input;
	struct given_option given = { .key = key };

	if (key < 0 || key > KEY_LAST || key == KEY_CONFIG || key == KEY_PRESET)
		return;
	given.value = arg ? strdup(arg) : NULL;
	if (arg && !given.value)
		argp_failure(state, 1, ENOMEM, "options");
	o->given.v = options__grow(state, o->given.v, o->given.cnt, sizeof(given));
	o->given.v[o->given.cnt++] = given;
}

static error_t collector_options_parse_opt(int key, char *arg, struct argp_state *state)
{
	struct collector_options *o = state->input;
	struct capture_filter *filter = &o->capture.filter;

	collector_options_note_given(key, arg, state);
	switch (key) {
	case 'p': option__set_probes(o, arg, state); break;
	case 'a': o->all = true; break;
	case 'd': o->recording.dir = arg; break;
	case 'r': option__set_count(&o->recording.rows_per_group, "rows", arg, state); break;
	case 'g':
		option__set_count(&o->recording.groups_per_file, "groups-per-file", arg, state);
		break;
	case 'v': o->verbose = true; break;
	case KEY_DURATION: option__set_end(o, arg, state); break;
	case KEY_POLL: option__set_duration(&o->poll_ns, "poll", arg, state); break;
	case KEY_BILL: option__set_duration(&o->bill_ns, "profiling-interval", arg, state); break;
	case KEY_APPEND: o->recording.append = true; break;
	case KEY_KEEP: option__set_keep(&o->recording.keep, arg, state); break;
	case KEY_FORCE: o->recording.force = true; break;
	case KEY_PID: option__add_pids(filter, arg, state); break;
	case KEY_UID: option__add_uid(filter, arg, state); break;
	case KEY_CGROUP: option__add_cgroup(filter, arg, state); break;
	case KEY_STACK_SIZE:
		option__set_size(&o->capture.stack_sz, "stack-size", arg, state);
		break;
	case KEY_STITCH: o->stitch = true; break;
	case KEY_RUNTIMES: collector_options_set_runtimes(o, arg, state); break;
	case KEY_NO_RUNTIMES: o->runtimes = 0; break;
	case KEY_RING_SIZE: option__set_size(&o->capture.ring_sz, "ring-size", arg, state); break;
	case KEY_MAX_MEMORY: option__set_max_memory(&o->max_memory_sz, arg, state); break;
	case KEY_MAX_RATE: option__set_max_rate(&o->capture.max_rate, arg, state); break;
	case KEY_BUDGET: option__set_budget(o, arg, state); break;
	case KEY_COMPRESSION: option__set_compression(o, arg, state); break;
	case KEY_STATUS: o->status_path = *arg ? arg : NULL; break;
	case KEY_METRICS: o->metrics_path = *arg ? arg : NULL; break;
	case KEY_CACHE: o->cache_dir = arg; break;
	case KEY_NO_CACHE: o->cache_dir = NULL; break;
	case KEY_KEEP_ROOT: o->keep_root = true; break;
	case KEY_NO_SANDBOX: o->no_sandbox = true; break;
	case KEY_CONFIG: collector_options_set_from_file(state, arg); break;
	case KEY_PRESET: collector_options_set_preset(state, arg); break;
	case KEY_LIST: o->list = true; break;
	case KEY_DUMP: o->dump = true; break;
	case KEY_FLIGHT: option__set_flight(o, arg, state); break;
	case KEY_WHEN: option__add_condition(o, arg, state); break;
	case KEY_BATCH: option__set_batch(o, arg, state); break;
	case KEY_QUIET: o->quiet = true; break;
	case KEY_UNWINDER: collector_options_set_unwinder(o, arg, state); break;
	case KEY_DEBUG_BPF: o->capture.debug = true; break;
	case KEY_COMPLETION: collector_options_print_completion(arg, state); break;
	case KEY_BPF_STACKS:
	case KEY_PREFIX: break;
	case ARGP_KEY_ARG: option__add_comm(filter, arg, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = collector_argp_options,
	.parser = collector_options_parse_opt,
	.args_doc = "[COMM]…\n[COMM]… -- COMMAND [ARG]…",
	.doc = doc,
	.help_filter = collector_help__filter,
};

static uint32_t collector_options_power_of_two(uint32_t sz)
{
	uint32_t p = 4096;

	while (p < sz)
		p *= 2;
	return p;
}

/* The largest stacks need a ring of at least twice their size. */
static uint32_t collector_options_default_ring_sz(uint32_t stack_sz)
{
	uint32_t least = collector_options_power_of_two(2 * stack_sz);

	return memory_limit__ring_sz(memory_limit__of_cgroup(), cpus__possible(),
				     least > RING ? least : RING, least);
}

/* The rings and the kernel's memory for files need room below the limit of a cgroup, too. */
static size_t collector_options_default_max_memory(void)
{
	size_t half = memory_limit__of_cgroup() / 2;

	if (half >= MAX_MEMORY)
		return MAX_MEMORY;
	return half < MAX_MEMORY_MIN ? MAX_MEMORY_MIN : half;
}

static void collector_options_set_defaults(struct collector_options *o)
{
	*o = (struct collector_options){
		.capture = { .probes = o->probes, .stack_sz = 256 << 10, .max_rate = MAX_RATE },
		.recording = { .root = getenv("STACKS_DIR"),
			       .rows_per_group = 100000,
			       .groups_per_file = 10,
			       .batch_ns = BATCH_NS,
			       .compression = "zstd(1)" },
		.runtimes = RUNTIMES_ALL,
		.poll_ns = 250000000,
		.max_memory_sz = collector_options_default_max_memory(),
		.status_path = STATUS_FILE,
		.cache_dir = TABLE_CACHE_DIR,
	};
	if (!o->recording.root || !*o->recording.root)
		o->recording.root = "/var/lib/stacks";
}

/* Returns true if a source needs chosen processes, and there are none. */
static bool collector_options_needs_processes(const struct collector_options *o)
{
	const struct capture_filter *f = &o->capture.filter;
	bool needed = false;

	for (size_t i = 0; i < o->capture.probe_cnt; i++)
		needed |= o->probes[i].probe->needs_processes;
	return needed && !f->none_yet && !f->comm_cnt && !f->pid_cnt && !f->cgroup_cnt;
}

/* Reports options that only make sense together. */
static void collector_options_check(struct collector_options *o, char *program)
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
	else if (collector_options_needs_processes(o))
		why = "alloc needs the processes whose allocations it records: name a command, "
		      "--pid or --cgroup";
	else if (o->recording.append && !o->recording.dir)
		why = "--append needs --dir";
	else if (o->condition_cnt && !o->recording.flight.keep_ns)
		why = "--when needs --flight";
	if (!why)
		return;
	if (o->again)
		options__fail(o, NULL, "", why);
	fprintf(stderr, "%s: %s\nTry '%s --help' for more information.\n", program, why, program);
	exit(2);
}

/* Returns the names of the sources, like "profile,rss,switch". */
static char *collector_options_name_sources(const struct collector_options *o)
{
	struct buf names = { 0 };

	for (size_t i = 0; i < o->capture.probe_cnt; i++)
		buf__printf(&names, "%s%s", i ? "," : "", o->probes[i].probe->name);
	buf__u8(&names, 0);
	return (char *)names.data;
}

/* A flight recorder is as exact as its batches are short. It has half of the memory. */
static void collector_options_complete_flight(struct collector_options *o)
{
	struct recording_options *r = &o->recording;

	if (!r->flight.keep_ns)
		return;
	r->flight.max_sz = o->max_memory_sz / 2;
	if (o->batch_given)
		return;
	r->batch_ns = r->flight.keep_ns / FLIGHT_BATCHES;
	if (r->batch_ns > BATCH_NS)
		r->batch_ns = BATCH_NS;
	if (r->batch_ns < FLIGHT_BATCH_MIN_NS)
		r->batch_ns = FLIGHT_BATCH_MIN_NS;
}

/* `argv` must live as long as the options. */
static void collector_options_parse_args(struct collector_options *o, int argc, char **argv)
{
	char defaults[] = DEFAULT_PROBES;
	char why[256];

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, o);
	if (!o->capture.probe_cnt)
		o->capture.probe_cnt = (size_t)probes__parse(defaults, o->probes, why, sizeof(why));
	o->capture.runtimes = o->runtimes != 0;
	o->recording.sources = o->sources = collector_options_name_sources(o);
	o->capture.ring_sz = o->capture.ring_sz
				     ? collector_options_power_of_two(o->capture.ring_sz)
				     : collector_options_default_ring_sz(o->capture.stack_sz);
	o->capture.filter.none_yet = o->command && !o->all;
	collector_options_check(o, program_invocation_short_name);
	collector_options_complete_flight(o);
}

/* Returns NULL if out of memory. */
static char **collector_options_copy_args(char **argv, size_t cnt)
{
	char **copy = calloc(cnt + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < cnt; i++)
		copy[i] = strdup(argv[i]);
	return copy;
}

static void collector_options_free_args(char **args)
{
	for (size_t i = 0; args && args[i]; i++)
		free(args[i]);
	free(args);
}

void options__parse(struct collector_options *o, int argc, char **argv)
{
	int own = 1;

	collector_options_set_defaults(o);
	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	if (own < argc)
		o->command = &argv[own + 1];
	o->args = collector_options_copy_args(argv, (size_t)own);
	collector_options_parse_args(o, own, argv);
}

/* Returns -EINVAL after logging a mistake. */
static int collector_options_parse_or_fail(struct collector_options *o, int argc, char **argv)
{
	jmp_buf again;

	o->again = &again;
	if (setjmp(again) != 0)
		return -EINVAL;
	collector_options_parse_args(o, argc, argv);
	o->again = NULL;
	return 0;
}

int options__parse_again(struct collector_options *fresh, const struct collector_options *o)
{
	size_t cnt = 0, sz;

	collector_options_set_defaults(fresh);
	while (o->args && o->args[cnt])
		cnt++;
	sz = (cnt + 1) * sizeof(*o->args);
	fresh->args = collector_options_copy_args(o->args, cnt);
	fresh->command = o->command;
	/* argp changes the order of an array, and the options point to its strings */
	return fresh->args ? collector_options_parse_or_fail(fresh, (int)cnt,
							     memcpy(alloca(sz), fresh->args, sz))
			   : -EINVAL;
}

void options__free(struct collector_options *o)
{
	free(o->capture.filter.comms);
	free(o->capture.filter.pids);
	free(o->capture.filter.uids);
	free(o->capture.filter.cgroups);
	free(o->sources);
	free(o->conditions);
	for (size_t i = 0; i < o->text_cnt; i++)
		free(o->texts[i]);
	free(o->texts);
	for (size_t i = 0; i < o->given.cnt; i++)
		free(o->given.v[i].value);
	free(o->given.v);
	collector_options_free_args(o->args);
}

uint64_t options__join_min_ns(const struct collector_options *o)
{
	for (size_t i = 0; i < o->capture.probe_cnt; i++)
		if (strcmp(o->probes[i].probe->name, event_kind__probe(EVENT_SWITCH)) == 0)
			return o->probes[i].param;
	return 0;
}

bool options__kernel_stacks(const struct collector_options *o)
{
	unsigned stacks = 0;

	for (size_t i = 0; i < o->capture.probe_cnt; i++)
		stacks |= o->probes[i].stacks;
	return stacks & PROBE_KERNEL;
}
