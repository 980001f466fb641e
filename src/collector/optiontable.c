// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/optiontable.h"

#include "cfi/tablecache.h"

const struct preset collector_presets[] = {
	{ "always-on", "programs = profile:uk:49,switch:uk:10ms,exec:n\n"
		       "budget = 10%\n"
		       "max-rate = 20000\n"
		       "keep = 2d\n"
		       "keep = 10G\n"
		       "keep = 10%\n" },
	{ NULL, NULL },
};

const struct argp_option collector_argp_options[] = {
	{ 0, 0, 0, 0, "What is recorded", 1 },
	{ "programs", 'p', "PROGRAMS", 0,
	  "Event sources, comma-separated (default: " DEFAULT_PROBES "); see below", 1 },
	{ "duration", KEY_DURATION, "TIME", 0, "End after TIME (500ms, 5s, 10m, 1h)", 1 },
	{ "pid", KEY_PID, "PID", 0,
	  "Record only this process with its threads and descendants; if PID is the id of another "
	  "thread, only that thread. Ends with them. May be repeated, or be a comma list",
	  1 },
	{ "uid", KEY_UID, "USER", 0,
	  "Record only processes of this effective user (name or number)", 1 },
	{ "cgroup", KEY_CGROUP, "PATH", 0,
	  "Record only this cgroup (v2) and the cgroups below it; an absolute path, or one from "
	  "the cgroup root",
	  1 },
	{ "all", 'a', 0, 0, "With a command: record the whole system while it runs", 1 },
	{ "keep-root", KEY_KEEP_ROOT, 0, 0,
	  "Run the command as root, not as the user who called sudo", 1 },
	{ "stack-size", KEY_STACK_SIZE, "SIZE", 0,
	  "Copy at most SIZE bytes of a user stack (default: 256K, at most 1M)", 1 },
	{ "stitch", KEY_STITCH, 0, 0,
	  "Complete stacks that are larger than --stack-size with callers from the thread's "
	  "previous stack, and mark these frames",
	  1 },
	{ "runtimes", KEY_RUNTIMES, "NAMES", 0,
	  "Functions of programs that these interpreters run (java, javascript, php, python, "
	  "ruby), comma-separated (default: all)",
	  1 },
	{ "no-runtimes", KEY_NO_RUNTIMES, 0, 0, "Native frames only", 1 },

	{ 0, 0, 0, 0, "Where it goes", 2 },
	{ "dir", 'd', "DIR", 0,
	  "The recording's folder (default: the next number below $STACKS_DIR, else below "
	  "/var/lib/stacks)",
	  2 },
	{ "append", KEY_APPEND, 0, 0, "Continue the recording in DIR, if there is one", 2 },
	{ "force", KEY_FORCE, 0, 0,
	  "Use a folder that another user owns or may write to; that user could then replace the "
	  "recording",
	  2 },
	{ "keep", KEY_KEEP, "AGE|SIZE|PERCENT", 0,
	  "Keep only this much: remove the oldest batches of the recording. An age (12h, 2d), a "
	  "size (10G), or a part of the file system (10%); may be given once for each. Also makes "
	  "room on a full disk",
	  2 },
	{ "flight", KEY_FLIGHT, "TIME", 0,
	  "Write nothing until a trigger (--dump, SIGUSR1, --when), then the last TIME, which was "
	  "kept in memory, and what follows for the same time",
	  2 },
	{ "when", KEY_WHEN, "CONDITION", 0,
	  "A trigger of --flight: 'cpu > 90% for 5s' (all CPUs), 'memory > 2G' (any process), "
	  "'span > 500ms'. May be repeated",
	  2 },
	{ "batch", KEY_BATCH, "TIME", 0,
	  "Close a batch after TIME (default: 10s; with --flight a tenth of its time, 1s to 10s). "
	  "A collector that is killed loses the batch in work",
	  2 },
	{ "compression", KEY_COMPRESSION, "HOW", 0,
	  "zstd(1) … zstd(22), or none (default: zstd(1))", 2 },
	{ "rows", 'r', "N", 0, "Rows per row group (default: 100000)", 2 },
	{ "groups-per-file", 'g', "N", 0, "Row groups per file (default: 10)", 2 },

	{ 0, 0, 0, 0, "How it runs", 3 },
	{ "preset", KEY_PRESET, "NAME", 0,
	  "Options for a purpose. always-on: for a service, within limits that suit every server. "
	  "Later options override it",
	  3 },
	{ "config", KEY_CONFIG, "FILE", 0,
	  "Options from FILE, one 'option = value' a line, as if they stood here; -FILE: if it "
	  "exists",
	  3 },
	{ "quiet", KEY_QUIET, 0, 0,
	  "Print only errors, warnings and the line with the recording's folder", 3 },
	{ "verbose", 'v', 0, 0, "Print details", 3 },
	{ "list", KEY_LIST, 0, 0, "List the event sources and exit", 3 },
	{ "dump", KEY_DUMP, 0, 0,
	  "Trigger the running collector's --flight, and exit; --status finds it", 3 },
	{ "poll", KEY_POLL, "TIME", 0, "Interval between two reads of the rings (default: 250ms)",
	  3 },
	{ "ring-size", KEY_RING_SIZE, "SIZE", 0,
	  "Size of each CPU's ring, at most 1G (default: 4M; less in a small cgroup)", 3 },
	{ "status", KEY_STATUS, "FILE", 0,
	  "Write the progress to FILE, as JSON, twice a second (default: " STATUS_FILE
	  "; '' for none)",
	  3 },
	{ "metrics", KEY_METRICS, "FILE", 0,
	  "Write counters to FILE every 5 seconds, in the text format of Prometheus", 3 },
	{ "cache", KEY_CACHE, "DIR", 0,
	  "Keep compiled call-frame tables in DIR (default: " TABLE_CACHE_DIR ")", 3 },
	{ "no-cache", KEY_NO_CACHE, 0, 0, "Do not keep compiled call-frame tables", 3 },
	{ "no-sandbox", KEY_NO_SANDBOX, 0, 0,
	  "Parse files of other users in the collector itself, not in processes without rights; "
	  "for kernels that cannot confine these",
	  3 },
	{ "max-rate", KEY_MAX_RATE, "N", 0,
	  "Record at most N events of a kind per second on each CPU, and count the rest as lost "
	  "(default: 500000; 0: no limit)",
	  3 },
	{ "bpf-events", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 3 },
	{ "budget", KEY_BUDGET, "PERCENT", 0,
	  "Cost of recording, BPF programs and collector together, in percent of one CPU (5%). "
	  "Above it, the costliest source is thinned: 1 of N events, with the weight N",
	  3 },
	{ "max-memory", KEY_MAX_MEMORY, "SIZE", 0,
	  "Memory of the collector without the rings. Above it, names and unwind rules are freed "
	  "and read again when needed (default: 256M, and at most half of the cgroup's limit)",
	  3 },
	{ "profiling-interval", KEY_BILL, "TIME", 0,
	  "Print the cost of the BPF programs at this interval, not only at the end (default: 0, "
	  "off)",
	  3 },
	{ "debug-bpf", KEY_DEBUG_BPF, 0, 0, "Show libbpf's messages and the verifier's log", 3 },
	{ "unwinder", KEY_UNWINDER, "WHICH", OPTION_HIDDEN, "naive: libdwfl's own walk, to compare",
	  3 },
	{ "bpf-stacks", KEY_BPF_STACKS, "N", OPTION_HIDDEN,
	  "Has no effect: stacks are not kept in a map", 3 },
	{ "prefix", KEY_PREFIX, "NAME", OPTION_HIDDEN, "Has no effect", 3 },
	{ "completion", KEY_COMPLETION, "SHELL", OPTION_HIDDEN,
	  "Print the completion file for bash, zsh or fish", 3 },
	{ 0 },
};
