// SPDX-License-Identifier: GPL-2.0-or-later
/* collector: takes a snapshot at every event of the chosen probes, unwinds it, writes Parquet. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "base/openfiles.h"
#include "base/priority.h"
#include "collector/absent.h"
#include "collector/census.h"
#include "collector/clock.h"
#include "collector/collector_help.h"
#include "collector/confined.h"
#include "collector/dump.h"
#include "collector/governor.h"
#include "collector/keeper.h"
#include "collector/launch.h"
#include "collector/memory.h"
#include "collector/metrics.h"
#include "collector/notify.h"
#include "collector/collector_options.h"
#include "collector/privileges.h"
#include "collector/reload.h"
#include "collector/session.h"
#include "collector/signals.h"
#include "collector/status.h"
#include "collector/statusfile.h"
#include "collector/trigger.h"
#include "collector/wakeups.h"
#include "capture/sideband.h"

#define STATUS_WAIT_MS 1000 /* for a slow reader of stderr, not for an absent one */

#define METRICS_SOURCES(c)                                              \
	{                                                               \
		(c)->capture, (c)->session, (c)->memory, (c)->recording \
	}

struct collector {
	struct collector_options options;
	struct launch launch;
	struct notify notify;
	struct capture *capture;
	struct sideband *sideband;
	struct workers *workers; /* NULL: none */
	struct census census;
	struct recording *recording;
	struct runtimes *runtimes; /* NULL: none are recorded */
	struct session *session;
	struct status status;
	struct statusfile *statusfile; /* NULL: none */
	struct metrics *metrics;       /* NULL: none */
	struct governor *governor;     /* NULL: no budget */
	struct memory *memory;
	struct trigger *trigger;
	struct streams streams; /* of capture, then of sideband */
	struct wakeups wakeups;
	int signal_fd;
	uint64_t begin_ns, end_ns, billed_ns;
	uint64_t drained_ns; /* everything before this time has been read */
	bool interrupted;
	int err; /* what failed while recording */
};

/* Makes rows of everything that happened before now, earliest first. First closes a batch if it is
 * due: what was read the last time has its names by now. */
static void collector_drain(void *arg)
{
	struct collector *c = arg;
	int err = session__tick(c->session, c->drained_ns);

	c->drained_ns = monotonic__ns();
	merge__drain(&c->streams, c->drained_ns, session__records, c->session);
	capture__losses(c->capture, session__loss, c->session);
	if (sideband__update(c->sideband) > 0)
		process_table__scan(c->census.processes);
	if (!c->err)
		c->err = err;
}

/* ---- start --------------------------------------------------------------------------------------
 */

/* Collects the streams of both kinds of rings in one array, for merge__drain(). */
static int main_collect_streams(struct collector *c)
{
	struct streams *all = &c->streams;
	struct stream *const *bpf, *const *sideband;
	size_t bpf_cnt = capture__streams(c->capture, &bpf);

	all->cnt = bpf_cnt + sideband__streams(c->sideband, &sideband);
	all->v = calloc(all->cnt, sizeof(*all->v));
	if (!all->v)
		return -ENOMEM;
	memcpy(all->v, bpf, bpf_cnt * sizeof(*bpf));
	memcpy(all->v + bpf_cnt, sideband, (all->cnt - bpf_cnt) * sizeof(*sideband));
	return 0;
}

static int main_watch_all(struct collector *c)
{
	struct wakeups *w = &c->wakeups;
	int err = wakeups__init(w);

	if (!err)
		err = wakeups__watch(w, c->signal_fd, WAKEUP_SIGNAL);
	if (!err)
		err = wakeups__watch(w, capture__epoll_fd(c->capture), WAKEUP_RING);
	if (!err)
		err = wakeups__watch(w, session__fd(c->session), WAKEUP_OTHER);
	if (!err && c->options.command)
		err = wakeups__watch(w, c->launch.pid_fd, WAKEUP_OTHER);
	if (!err)
		err = sideband__add_to_epoll(c->sideband, w->news_fd);
	return err;
}

static void main_runtime_found(uint64_t ino, const struct capture_runtime *where, void *arg)
{
	struct collector *c = arg;
	int err = capture__set_runtime(c->capture, ino, where);

	if (err)
		log__warn("stacks of some interpreted programs have native frames only: %s",
			  strerror(-err));
}

/* Finds the runtimes of running processes. Threads that are off the CPU when the recording begins
 * may not be seen again, so their runtimes must be known by then. */
static int main_open_runtimes(struct collector *c)
{
	if (!c->options.runtimes)
		return 0;
	c->runtimes = runtimes__new(&(struct runtimes_options){ .jobs = c->census.jobs,
								.wanted = c->options.runtimes,
								.found = main_runtime_found,
								.arg = c });
	if (!c->runtimes)
		return -errno;
	census__find_runtimes(&c->census, c->runtimes);
	return 0;
}

static int main_open_governor(struct collector *c)
{
	const struct collector_options *o = &c->options;

	if (!o->budget_percent)
		return 0;
	c->governor = governor__new(&(struct governor_options){
		.capture = c->capture,
		.session = c->session,
		.probes = o->capture.probes,
		.probe_cnt = o->capture.probe_cnt,
		.percent = o->budget_percent,
	});
	return c->governor ? 0 : -errno;
}

/* Loads the programs while the census reads the running processes. */
static int collector_load(struct collector *c)
{
	int err = sideband__enable(c->sideband), census_err;

	jobs__set_workers(c->census.jobs, c->workers);
	if (!err)
		err = census__begin(&c->census);
	if (err)
		return err;
	err = capture__load(c->capture);
	census_err = census__end(&c->census);
	return err ? err : census_err;
}

/* Makes the session, and what watches it. */
static int main_open_session(struct collector *c)
{
	const struct collector_options *o = &c->options;

	/* reads the kernel's symbols if it takes kernel stacks; the trampolines of the programs are
	 * among them now */
	c->session = session__new(o, c->recording, &c->census, c->runtimes);
	if (!c->session)
		return -errno;
	session__set_probes(c->session, capture__any_probes(c->capture));
	c->drained_ns = monotonic__ns();
	c->memory = memory__new(&(struct memory_owners){ process_table__files(c->census.processes),
							 c->runtimes, session__jit(c->session) },
				c->census.jobs, o->max_memory_sz);
	if (!c->memory)
		return -errno;
	c->statusfile =
		statusfile__new(o->status_path, &(struct statusfile_sources){ c->session, c->memory,
									      c->recording });
	c->metrics = metrics__new(o->metrics_path, &(struct metrics_sources)METRICS_SOURCES(c));
	c->trigger = trigger__new(c->census.jobs);
	if (!c->trigger)
		return -errno;
	trigger__watch(c->trigger, o->conditions, o->condition_cnt, c->session);
	return 0;
}

/* Forks the workers and the command. */
static int collector_fork(struct collector *c, const struct caller *caller)
{
	struct collector_options *o = &c->options;
	int err = confined__begin(o, &c->workers);

	if (!err)
		err = privileges__check_ids();
	if (err)
		return err;
	o->capture.workers = c->workers;
	o->capture.filter.starter_pid = (uint32_t)workers__starter_pid(c->workers);
	if (o->command)
		return launch__prepare(&c->launch, o->command, o->keep_root ? NULL : caller);
	absent__report(&o->capture.filter);
	return 0;
}

/* Opens the sources of records, and loads the BPF programs. */
static int main_open_sources(struct collector *c)
{
	int err;

	c->options.capture.drain = collector_drain;
	c->options.capture.drain_arg = c;
	c->capture = capture__new(&c->options.capture);
	if (!c->capture)
		return -errno;
	c->sideband = sideband__new(SIDEBAND_PAGES);
	if (!c->sideband)
		return -errno;
	err = census__init(&c->census);
	return err ? err : collector_load(c);
}

/* Opens what turns records into rows. */
static int main_open_consumers(struct collector *c)
{
	int err = main_open_runtimes(c);

	if (!err)
		err = main_open_session(c);
	if (!err)
		err = main_open_governor(c);
	if (!err)
		err = main_collect_streams(c);
	return err ? err : main_watch_all(c);
}

/* Forks first, because the other processes must not inherit what is opened later. */
static int collector_prepare(struct collector *c)
{
	struct collector_options *o = &c->options;
	struct caller caller = caller__get();
	int err = collector_fork(c, &caller);

	if (err)
		return err;
	c->signal_fd = signals__open();
	if (c->signal_fd < 0)
		return c->signal_fd;
	privileges__harden();
	privileges__check();
	openfiles__raise();
	priority__punctual();
	err = main_open_sources(c);
	if (err)
		return err;
	o->recording.owner_uid = caller.uid;
	o->recording.owner_gid = caller.gid;
	c->recording = recording__new(&o->recording);
	if (!c->recording)
		return -errno;
	privileges__limit(o);
	return main_open_consumers(c);
}

/* ---- run ----------------------------------------------------------------------------------------
 */

/* Begins to record. The census has the running processes, and the side-band reports later ones, so
 * no process is missed. */
static int collector_begin(struct collector *c)
{
	int err = 0;

	if (c->options.command && !c->options.all)
		err = capture__add_command(c->capture, (uint32_t)c->launch.pid, c->launch.program);
	if (!err)
		err = capture__begin(c->capture, &c->begin_ns);
	if (err)
		return err;
	collector_drain(c); /* a reader of the line below then finds the rings empty */
	c->billed_ns = c->begin_ns;
	if (log__writable(STATUS_WAIT_MS))
		status__recording(&c->status, recording__dir(c->recording), c->begin_ns);
	notify__ready(&c->notify);
	return c->options.command ? launch__go(&c->launch, collector_drain, c) : 0;
}

/* Returns the time until the rings must be read, or the service manager notified. */
static uint64_t main_left_ns(const struct collector *c)
{
	uint64_t now_ns = monotonic__ns(), end_ns = c->begin_ns + c->options.duration_ns;
	uint64_t left_ns = session__backlog(c->session) ? 0 : c->options.poll_ns;
	uint64_t notify_ns = notify__interval_ns(&c->notify);

	if (left_ns > notify_ns)
		left_ns = notify_ns;
	if (!c->options.duration_ns || now_ns + left_ns <= end_ns)
		return left_ns;
	return end_ns > now_ns ? end_ns - now_ns : 0;
}

static void collector_reload(struct collector *c)
{
	const struct reload r = { .options = &c->options,
				  .recording = c->recording,
				  .session = c->session,
				  .memory = c->memory,
				  .governor = c->governor,
				  .trigger = c->trigger,
				  .metrics = &c->metrics,
				  .metrics_sources = METRICS_SOURCES(c) };

	reload__options(&r);
}

static void collector_obey(struct collector *c, unsigned signals)
{
	bool hangup = signals & SIGNALS_HANGUP;

	c->interrupted |= signals & SIGNALS_INTERRUPT || (hangup && !c->options.has_config);
	if (hangup && c->options.has_config)
		collector_reload(c);
	if (signals & SIGNALS_TRIGGER)
		recording__trigger(c->recording);
}

static void main_wait_for_events(struct collector *c)
{
	unsigned why = wakeups__wait(&c->wakeups, main_left_ns(c));

	if (why & WAKEUP_RING)
		capture__woken(c->capture);
	if (why & WAKEUP_SIGNAL)
		collector_obey(c, signals__read(c->signal_fd));
}

/* Returns true if no process is left that can be recorded: those of --pid and their descendants. A
 * filter by name can match a new process at any time. */
static bool main_is_deserted(const struct collector *c)
{
	const struct capture_filter *f = &c->options.capture.filter;

	if (!f->pid_cnt || f->comm_cnt || capture__has_targets(c->capture))
		return false;
	log__info("all processes of --pid have ended: the recording ends");
	return true;
}

static bool collector_over(struct collector *c)
{
	if (c->err || c->interrupted)
		return true;
	if ((c->options.command && launch__ended(&c->launch)) || main_is_deserted(c))
		return true;
	return c->options.duration_ns && monotonic__ns() >= c->begin_ns + c->options.duration_ns;
}

/* Prints the cost of the BPF programs if that is due. */
static void collector_bill(struct collector *c)
{
	uint64_t now_ns = monotonic__ns(), every_ns = c->options.bill_ns;

	if (!every_ns || now_ns - c->billed_ns < every_ns || !log__writable(0))
		return;
	c->billed_ns = now_ns;
	status__bill(&c->status, c->capture, c->billed_ns - c->begin_ns);
}

static void collector_record(struct collector *c)
{
	while (!collector_over(c)) {
		main_wait_for_events(c);
		collector_drain(c);
		memory__tick(c->memory, monotonic__ns());
		statusfile__tick(c->statusfile, monotonic__ns());
		metrics__tick(c->metrics, monotonic__ns());
		governor__tick(c->governor, monotonic__ns());
		if (trigger__tick(c->trigger, c->session, monotonic__ns()))
			recording__trigger(c->recording);
		notify__tick(&c->notify, monotonic__ns());
		if (status__due(&c->status, monotonic__ns()))
			status__tick(&c->status, c->session, c->recording, monotonic__ns());
		collector_bill(c);
	}
}

/* Ends the recording. `begun`: false if the command was not started; then nothing is kept. */
static int collector_end(struct collector *c, bool begun)
{
	int err, finish_err;

	notify__stopping(&c->notify);
	err = capture__end(c->capture, &c->end_ns);
	collector_drain(c);
	session__flush(c->session, c->end_ns);
	if (!begun)
		recording__drop_batch(c->recording);
	finish_err = recording__finish(c->recording);
	if (!err)
		err = c->err ? c->err : finish_err;
	if (begun && log__writable(STATUS_WAIT_MS)) {
		status__summary(&c->status, c->session, c->recording, c->end_ns);
		status__bill(&c->status, c->capture, c->end_ns - c->begin_ns);
	}
	return err;
}

static int collector_run(struct collector *c)
{
	int err = collector_begin(c);
	bool begun = !err;

	if (begun)
		collector_record(c);
	if (c->begin_ns) {
		int end_err = collector_end(c, begun);

		err = err ? err : end_err;
	}
	return err;
}

/* Frees everything except the capture. */
static void collector__free(struct collector *c)
{
	statusfile__free(c->statusfile);
	metrics__free(c->metrics);
	governor__free(c->governor);
	workers__stop(c->workers);
	census__stop(&c->census);
	memory__free(c->memory);
	trigger__free(c->trigger);
	session__free(c->session);
	runtimes__free(c->runtimes);
	recording__free(c->recording);
	sideband__free(c->sideband);
	census__free(&c->census);
	workers__put(c->workers);
	launch__free(&c->launch);
	wakeups__close(&c->wakeups);
	notify__close(&c->notify);
	free(c->streams.v);
	options__free(&c->options);
}

int main(int argc, char **argv)
{
	struct collector c = { .launch = { .go_fd = -1, .exec_fd = -1, .pid_fd = -1 },
			       .wakeups = { .urgent_fd = -1, .news_fd = -1 } };
	int err, status, keeper;
	bool detached;

	options__parse(&c.options, argc, argv);
	log__init("collector", c.options.quiet	   ? LOG_WARN
			       : c.options.verbose ? LOG_DEBUG
						   : LOG_INFO);
	if (c.options.dump)
		return dump__trigger(c.options.status_path);
	if (c.options.list)
		return collector_help__list_probes() ? 1 : 0;
	memory__init_malloc();
	notify__open(&c.notify); /* the watchdog's time may be for this process, not its child */
	keeper = keeper__begin();
	if (keeper >= 0)
		c.options.capture.filter.keeper_pid = (uint32_t)getppid();
	status__init(&c.status, &c.options, &c.notify);
	err = collector_prepare(&c);
	if (!err)
		err = collector_run(&c);
	privileges__advise(err);
	status = launch__finish(&c.launch, err);
	detached = keeper__detach(c.capture);
	collector__free(&c);
	keeper__end(keeper, status, !detached);
	capture__free(c.capture);
	return status;
}
