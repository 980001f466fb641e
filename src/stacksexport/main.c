// SPDX-License-Identifier: GPL-2.0-or-later
/* stacksexport: reads recordings. One row per subcommand. */
#include "base/log.h"
#include "stacksexport/commands.h"

static const struct subcommand subcommands[] = {
	{
		.name = "top",
		.argument = "[RECORDING]",
		.argument_max = 1,
		.of_recordings = true,
		.summary = "shows where CPU time and off-CPU time went",
		.doc = "Prints tables of commands and functions, the busiest first. self is the "
		       "time in the function itself; total includes the functions that it called. "
		       "Off-CPU time is blocked (waiting for an event) or runnable (waiting for a "
		       "CPU).\n\n"
		       "Examples:\n"
		       "  stacksexport top\n"
		       "  stacksexport top -c postgres -N 40\n"
		       "  stacksexport top -c python3 --sort total\n"
		       "  stacksexport top --by thread --pid 4711 --waiting\n"
		       "  stacksexport top /var/lib/stacks/7 -b ./prog",
		.accepts = OPTIONS_COMMON | OPTION_ROWS | OPTION_SORT | OPTION_BY | OPTION_WAITING,
		.run = top__run,
	},
	{
		.name = "explain",
		.argument = "[RECORDING]",
		.argument_max = 1,
		.of_recordings = true,
		.summary = "describes a recording on one page, for people and language models",
		.doc = "Writes Markdown: what ran, what it cost, where it waited and for whom, "
		       "what grew, what stands out, what the recording does not know, and what to "
		       "run next. Below each section is the query that its sentences come from.\n\n"
		       "Examples:\n"
		       "  stacksexport explain\n"
		       "  stacksexport explain /var/lib/stacks/7 -c postgres -o postgres.md",
		.accepts = OPTIONS_COMMON | OPTION_OUTPUT,
		.run = explain__run,
	},
	{
		.name = "pprof",
		.argument = "QUERY.sql",
		.argument_max = 1,
		.summary = "writes a query's result as a profile of google/pprof",
		.doc = "The query's first column is a list of frames, the second a count, the "
		       "third a value. The query file is searched in the current folder, then "
		       "among the installed queries. -c and -b set ?command and ?buildid in it.\n\n"
		       "Examples:\n"
		       "  stacksexport pprof sql/pprof/cpu_ustacks.sql -c postgres\n"
		       "  stacksexport pprof offcpu_blocked_stacks.sql -b ./prog -i\n"
		       "  stacksexport pprof sql/pprof/cpu_stacks.sql --output - > cpu.pb.gz",
		.accepts = OPTIONS_COMMON | OPTION_BY | OPTION_INLINES | OPTION_OFFSETS |
			   OPTION_DIR | OPTION_OUTPUT | OPTION_NO_OPEN,
		.run = pprof__run,
	},
	{
		.name = "folded",
		.argument = "QUERY.sql",
		.argument_max = 1,
		.summary = "writes a query's result as folded stacks, one per line",
		.doc = "Takes the queries of pprof and gives the same numbers, those of the third "
		       "column. A line is the functions of a stack, the outermost first, "
		       "separated by ';', then a space and the value: the input of "
		       "flamegraph.pl. In names, ';' becomes ':' and control characters become "
		       "spaces. The default output is the standard output.\n\n"
		       "Examples:\n"
		       "  stacksexport folded cpu_stacks.sql -c postgres > cpu.folded\n"
		       "  stacksexport folded offcpu_stacks.sql --output offcpu.folded",
		.accepts = OPTIONS_COMMON | OPTION_BY | OPTION_SORT | OPTION_INLINES |
			   OPTION_OFFSETS | OPTION_OUTPUT,
		.run = folded__run,
	},
	{
		.name = "speedscope",
		.argument = "QUERY.sql",
		.argument_max = 1,
		.summary = "writes a query's result as a profile of speedscope",
		.doc = "Takes the queries of pprof and gives the same numbers: one profile for "
		       "each of the two columns, with a stack and its weight for each sample, not "
		       "in the order of time. Speedscope has no negative weights; such stacks are "
		       "left out. Open the file at speedscope.app, which reads it in the browser, "
		       "or with the program of the npm package. The default output is the standard "
		       "output.\n\n"
		       "Examples:\n"
		       "  stacksexport speedscope cpu_stacks.sql -c postgres > "
		       "cpu.speedscope.json\n"
		       "  stacksexport speedscope offcpu_stacks.sql --output offcpu.json",
		.accepts = OPTIONS_COMMON | OPTION_BY | OPTION_INLINES | OPTION_OFFSETS |
			   OPTION_OUTPUT,
		.run = speedscope__run,
	},
	{
		.name = "trace",
		.argument = "QUERY.sql...",
		.argument_max = EXPORT_ARGUMENTS_MAX,
		.summary = "writes queries' results as one trace for ui.perfetto.dev",
		.doc = "Each row of a query is an event of a timeline. Its columns are event "
		       "('complete', 'counter' or 'instant'), name and pid; those of start, "
		       "timestamp (its end) and duration, in microseconds, that the event needs; "
		       "and optionally tid, kind, cpu, amount, rate, stack and end_stack. Other "
		       "columns are shown unchanged. Query files are searched in the current "
		       "folder, then in sql/traceview/ among the installed queries. The file has "
		       "Chrome's JSON format, compressed if FILE ends in .gz.\n\n"
		       "Examples:\n"
		       "  stacksexport trace switch_with_stacks.sql usdt_all.sql\n"
		       "  stacksexport trace vfs_all.sql my.sql -c postgres --output trace.json.gz",
		.accepts = OPTIONS_COMMON | OPTION_BY | OPTION_DIR | OPTION_OUTPUT | OPTION_NO_OPEN,
		.run = trace__run,
	},
	{
		.name = "firefox",
		.argument = "[RECORDING]",
		.argument_max = 1,
		.of_recordings = true,
		.summary = "writes a recording for the Firefox Profiler",
		.doc = "A track for each thread: samples on and off the CPU, weighted by time, and "
		       "markers for spans, files, disks, network and processes. Samples off the "
		       "CPU have the thread's state on top of their stack. Open the file at "
		       "profiler.firefox.com, which reads it in the browser; select a part of a "
		       "large recording with --from and --to. -o FILE is --output FILE; the "
		       "default is firefox.json.gz.\n\n"
		       "Examples:\n"
		       "  stacksexport firefox --from -30s\n"
		       "  stacksexport firefox /var/lib/stacks/7 -c postgres --metric cpu -o "
		       "cpu.json.gz",
		.accepts =
			OPTIONS_COMMON | OPTION_BY | OPTION_INLINES | OPTION_METRIC | OPTION_OUTPUT,
		.run = firefox__run,
	},
	{
		.name = "perfetto",
		.argument = "[RECORDING]",
		.argument_max = 1,
		.of_recordings = true,
		.summary = "writes a recording as a native trace of Perfetto",
		.doc = "Tracks for each process and thread: slices on and off the CPU, of spans, "
		       "files, disks and network, with their stacks; memory as a counter; CPU "
		       "samples with their stacks. Open the file at ui.perfetto.dev, which reads "
		       "it in the browser, or with trace_processor. trace writes the results of "
		       "your own queries. -o FILE is --output FILE; the default is "
		       "perfetto.pftrace.\n\n"
		       "Examples:\n"
		       "  stacksexport perfetto --from -30s\n"
		       "  stacksexport perfetto /var/lib/stacks/7 -c postgres -o pg.pftrace",
		.accepts = OPTIONS_COMMON | OPTION_BY | OPTION_INLINES | OPTION_OUTPUT,
		.run = perfetto__run,
	},
	{
		.name = "query",
		.argument = "[SQL]",
		.argument_max = 1,
		.summary = "prints the result of a query, or writes it to a file",
		.doc = "Tables: events, stacktraces, stacks (events with ustack and kstack, their "
		       "frames), offcpu (one row per interval off the CPU), wakeups (offcpu with "
		       "the thread that ended the interval), rss (with growth), span_waits, "
		       "processes (with command line, container, unit).\n\n"
		       "Examples:\n"
		       "  stacksexport query 'SELECT command, kind, count(*) FROM stacks GROUP BY "
		       "ALL'\n"
		       "  stacksexport query 'DESCRIBE events'\n"
		       "  stacksexport query 'FROM events LIMIT 100' --format csv --output "
		       "events.csv\n"
		       "  stacksexport query -f time_by_stack.sql -c postgres\n"
		       "  stacksexport query -f costs_by_group.sql --by container --sort "
		       "blocked_s\n"
		       "  stacksexport query -f my.sql -c postgres --format json",
		.accepts = OPTIONS_COMMON | OPTION_BY | OPTION_SORT | OPTION_FORMAT |
			   OPTION_OUTPUT | OPTION_FILE | OPTION_READ_ONLY,
		.run = query__run,
	},
	{
		.name = "view",
		.argument = "[RECORDING [OTHER]]",
		.argument_max = 2,
		.summary = "shows a recording in a browser",
		.doc = "A page with timeline, flame graphs, tables and SQL, served on 127.0.0.1 to "
		       "this user. OTHER is a second recording to compare with. It opens in the "
		       "browser if there is one, else the address is printed. Ctrl-C ends it.\n\n"
		       "Examples:\n"
		       "  stacksexport view\n"
		       "  stacksexport view /var/lib/stacks/7\n"
		       "  stacksexport view before after -b ./prog",
		.accepts = OPTIONS_COMMON | OPTION_BY | OPTION_SORT | OPTION_NO_OPEN,
		.run = view__run,
	},
	{
		.name = "live",
		.argument = "[RECORDING]",
		.argument_max = 1,
		.of_recordings = true,
		.summary = "shows what the machine does now, in a terminal",
		.doc = "Functions, waits, processes and a flame graph of the last ten seconds, "
		       "refreshed each second. Starts a collector, which needs root, or follows "
		       "RECORDING, which a collector writes (with --batch 1s: each second). The "
		       "keys are on the last line of the screen.\n\n"
		       "Examples:\n"
		       "  sudo stacksexport live\n"
		       "  sudo stacksexport live -p profile,switch -c postgres\n"
		       "  stacksexport live /var/lib/stacks/7",
		.accepts = OPTIONS_COMMON | OPTION_SORT | OPTION_SOURCES,
		.run = live__run,
	},
	{
		.name = "diff",
		.argument = "[A [B]]",
		.argument_max = 2,
		.summary = "shows what changed between two recordings or time ranges",
		.doc = "Prints the functions whose self time or total time changed from A to B, "
		       "with the interval and p of a bootstrap over slices of time. Changes that "
		       "may be chance are left out. B is scaled to the time of A. With one "
		       "recording, --before and --after choose two ranges. -o FILE writes the "
		       "difference as a profile of google/pprof, as its -diff_base makes it.\n\n"
		       "Examples:\n"
		       "  stacksexport diff old new\n"
		       "  stacksexport diff old new -c server --fail-if 'self > 5%'\n"
		       "  stacksexport diff --before 0s..10s --after 10s..20s --metric offcpu\n"
		       "  stacksexport diff old new --by container --sort b\n"
		       "  stacksexport diff old new --normalise spans -o diff.pb.gz",
		.accepts = OPTIONS_COMMON | OPTION_BY | OPTION_SORT | OPTION_ROWS | OPTION_OUTPUT |
			   OPTION_METRIC | OPTION_NORMALISE | OPTION_ALL | OPTION_FAIL_IF |
			   OPTIONS_RANGES,
		.run = diff__run,
	},
	{
		.name = "report",
		.argument = "[RECORDING]",
		.argument_max = 1,
		.summary = "writes the page of a recording as one file",
		.doc = "The same page as that of view, with its data inside: for people without "
		       "the recording. It loads nothing from the network. It has the selected part "
		       "of the recording; in the page, selecting a range works, filters do not. -o "
		       "FILE is --output FILE; the default is report.html.\n\n"
		       "Examples:\n"
		       "  stacksexport report -o slow.html\n"
		       "  stacksexport report /var/lib/stacks/7 -o - --svg slow.svg > slow.html",
		.accepts = OPTIONS_COMMON | OPTION_BY | OPTION_SORT | OPTION_OUTPUT | OPTION_SVG,
		.run = report__run,
	},
	{
		.name = "mcp",
		.summary = "serves recordings to language models (Model Context Protocol)",
		.doc = "A server on standard input and output, which an agent starts. Its tools "
		       "are recordings, summary, top, stacks, diff, sql and explain. They only "
		       "read recordings, in the default folder or where a path is given; each ends "
		       "after 60 seconds and answers at most 100 KiB. Names in answers come from "
		       "recorded programs.\n\n"
		       "Examples:\n"
		       "  claude mcp add stacks -- stacksexport mcp\n"
		       "  STACKS_DIR=~/recordings stacksexport mcp",
		.accepts = 0,
		.run = mcp__run,
	},
	{
		.name = "merge",
		.argument = "FOLDER...",
		.argument_max = EXPORT_ARGUMENTS_MAX,
		.summary = "merges recordings of many hosts into a fleet folder",
		.doc = "Adds all batches of all recordings below each FOLDER (default: "
		       "$STACKS_DIR, else /var/lib/stacks), and the files of other fleet folders, "
		       "to the folder DIR: Parquet files by day and hour, sorted by command, host "
		       "and time, for DuckDB, Spark, ClickHouse and Iceberg. What DIR has already "
		       "is not added again. It can be killed at any time and run again.\n\n"
		       "Examples:\n"
		       "  stacksexport merge /srv/hosts -d /srv/fleet\n"
		       "  stacksexport merge -d /var/lib/fleet --follow --remove",
		.accepts = OPTION_DIR | OPTION_FOLLOW | OPTION_EVERY | OPTION_REMOVE,
		.run = merge__run,
	},
	{
		.name = "push",
		.argument = "FOLDER URL",
		.argument_max = 2,
		.summary = "sends a fleet folder to an S3 store, or a mounted folder",
		.doc = "Sends the files of the fleet folder FOLDER that URL does not have yet. URL "
		       "is s3://BUCKET/PREFIX (at AWS_ENDPOINT_URL, else at Amazon), "
		       "https://HOST/BUCKET/PREFIX, or a folder. Credentials are those of "
		       "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, else of ~/.aws/credentials. "
		       "Failed requests are tried again. It needs libcurl 7.88 or newer.\n\n"
		       "Examples:\n"
		       "  stacksexport push /var/lib/fleet s3://profiles/fleet\n"
		       "  stacksexport push /var/lib/fleet /mnt/fleet --follow --remove",
		.accepts = OPTION_FOLLOW | OPTION_REMOVE | OPTION_MAX_SPOOL,
		.run = push__run,
	},
	{
		.name = "otlp",
		.argument = "QUERY.sql",
		.argument_max = 1,
		.summary = "writes a query's result as a profile of OpenTelemetry (OTLP)",
		.doc = "Takes the queries of pprof and writes a request of the profiles protocol, "
		       "v1development of opentelemetry-proto 1.11, which is not stable: CPU "
		       "samples as samples/count with their period, off-CPU time as "
		       "off_cpu/nanoseconds, else the third column. service.name is the COMM of "
		       "-c, or system. The default output is the standard output.\n\n"
		       "Examples:\n"
		       "  stacksexport otlp cpu_stacks.sql -c postgres --output cpu.otlp",
		.accepts = OPTIONS_COMMON | OPTION_BY | OPTION_INLINES | OPTION_OFFSETS |
			   OPTION_OUTPUT,
		.run = otlp__run,
	},
	{
		.name = "metrics",
		.argument = "FILE [PORT]",
		.argument_max = 2,
		.summary = "serves the collector's counters to Prometheus",
		.doc = "Serves FILE, which collector --metrics FILE writes, at "
		       "http://127.0.0.1:PORT/metrics until SIGINT or SIGTERM. The default PORT is "
		       "9464; 0: one that is free. The status is 503 if the collector has not "
		       "written the file for half a minute. It needs no rights but to read "
		       "FILE.\n\n"
		       "Examples:\n"
		       "  stacksexport metrics /run/collector/stacks.prom",
		.accepts = 0,
		.run = metrics__run,
	},
	{ .name = NULL },
};

int main(int argc, char **argv)
{
	struct export_options options;
	int status;

	(void)argc;
	log__init("stacksexport", LOG_INFO);
	if (!export_options__parse(&options, subcommands, argv, &status))
		return status;
	return options.subcommand->run(&options);
}
