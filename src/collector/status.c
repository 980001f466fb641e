// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cputime.h"
#include "base/log.h"
#include "collector/absent.h"
#include "stacks/labels.h"
#include "event/kind.h"

#define LIVE_NS	     500000000
#define NEGLIGIBLE   10000 /* one lost event in this many */
#define POOR	     100   /* more than one stack in this many */
#define LINE_NS	     10000000000
#define PROGRESS_MAX 160
#define CLEAR_LINE   "\r\033[K"

static void status_clear_line(void)
{
	fputs(CLEAR_LINE, stderr);
}

void status__init(struct status *s, const struct collector_options *o, const struct notify *notify)
{
	*s = (struct status){ .filter = &o->capture.filter,
			      .notify = notify,
			      .quiet = o->quiet,
			      .terminal = isatty(STDERR_FILENO) };
	if (s->terminal && !s->quiet)
		log__set_before(status_clear_line);
}

void status__recording(struct status *s, const char *dir, uint64_t begin_ns)
{
	s->begin_ns = s->shown_ns = begin_ns;
	s->cpu_ns = cpu_time__ns();
	fprintf(stderr, "recording to %s%s\n", dir,
		s->terminal && !s->quiet ? " (Ctrl-C ends it)" : "");
}

static double status_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 100.0;
}

struct size_text {
	char s[32];
};

static struct size_text status_size_text(uint64_t bytes)
{
	struct size_text t;

	if (bytes < 1000000)
		snprintf(t.s, sizeof(t.s), "%.0f KB", (double)bytes / 1e3);
	else
		snprintf(t.s, sizeof(t.s), "%.1f MB", (double)bytes / 1e6);
	return t;
}

bool status__due(const struct status *s, uint64_t now_ns)
{
	if (s->quiet && !notify__is_open(s->notify))
		return false;
	return now_ns - s->shown_ns >= (s->terminal && !s->quiet ? LIVE_NS : LINE_NS);
}

void status__tick(struct status *s, const struct session *session, const struct recording *r,
		  uint64_t now_ns)
{
	struct session_totals t = session__totals(session);
	struct recording_stats written;
	uint64_t cpu_ns = session__cpu_ns(session);
	char roots[32] = "", text[PROGRESS_MAX];

	recording__stats(r, &written);
	if (t.user_stacks)
		snprintf(roots, sizeof(roots), "%.1f %% to the root  ",
			 status_percent(t.to_root, t.user_stacks));
	snprintf(text, sizeof(text), "%5.0f s  %lu samples  %s%lu lost  %s  own CPU %.1f %%",
		 (double)(now_ns - s->begin_ns) / 1e9, t.rows, roots, t.lost,
		 status_size_text(written.bytes).s,
		 status_percent(cpu_ns - s->cpu_ns, now_ns - s->shown_ns));
	if (!s->quiet && log__writable(0))
		fprintf(stderr, "%s%s%s", s->terminal ? CLEAR_LINE : "", text,
			s->terminal ? "" : "\n");
	notify__status(s->notify, text + strspn(text, " "));
	s->cpu_ns = cpu_ns;
	s->shown_ns = now_ns;
}

/* Prints "unwound: root 1234, truncated 12". */
static void status_print_unwound(const struct session_stats *st)
{
	const char *separator = "  user stacks ended:";

	for (size_t i = 0; i < UNWIND_STATUS_CNT; i++) {
		if (!st->unwound[i])
			continue;
		fprintf(stderr, "%s %s %lu", separator, unwind_status__name(i), st->unwound[i]);
		separator = ",";
	}
	if (*separator == ',')
		fputc('\n', stderr);
}

/* Reasons for incomplete walks about which the user can do something. */
static const struct {
	enum unwind_status status;
	const char *advice;
} poor_ends[] = {
	{ UNWIND_TRUNCATED, "are larger than what was copied, or partly not in memory: record with "
			    "--stack-size=1M or --stitch" },
	{ UNWIND_NO_CFI, "end in code without call-frame information: 'stacksexport top' says what "
			 "helps" },
};

static void status_advise_walks(const struct session_stats *st)
{
	uint64_t all = session_stats__sum(st->user_stacks);

	for (size_t i = 0; i < sizeof(poor_ends) / sizeof(*poor_ends); i++) {
		uint64_t cnt = st->unwound[poor_ends[i].status];

		if (cnt * POOR > all)
			log__info("%.1f %% of the user stacks %s", status_percent(cnt, all),
				  poor_ends[i].advice);
	}
}

static void status_say_walks(const struct session *session)
{
	const struct session_totals t = session__totals(session);
	const struct unwinder_stats u = t.unwinder;
	const struct workers_stats w = t.workers;

	log__debug("stacks walked by tables %lu, across code without a table %lu, by libdw's rules "
		   "%lu; tables made %zu, from the cache %zu, in parts %zu, of files without one "
		   "%zu, %zu bytes of them",
		   u.flat, u.partly, u.odd, u.tables.made, u.tables.cached, u.tables.indexed,
		   u.tables.failed, u.tables.bytes);
	log__debug("workers: %lu started, %lu died, %lu late, %lu with answers that were refused; "
		   "%lu requests; CPU %.2f s",
		   w.started, w.died, w.late, w.refused, w.asked, (double)w.cpu_ns / 1e9);
}

static bool status_is_only_kind(size_t kind)
{
	size_t cnt = 0;

	for (size_t k = 0; k < EVENT_KIND_CNT; k++)
		cnt += strcmp(event_kind__probe(k), event_kind__probe(kind)) == 0;
	return cnt == 1;
}

static void status_print_kind(const struct session_stats *st, size_t k)
{
	char root[16] = "-", lost[24] = "";

	if (st->user_stacks[k])
		snprintf(root, sizeof(root), "%.2f %%",
			 status_percent(st->to_root[k], st->user_stacks[k]));
	if (status_is_only_kind(k))
		snprintf(lost, sizeof(lost), "%lu", st->lost[k]);
	if (st->rows[k] || (*lost && st->lost[k]))
		fprintf(stderr, "%-12s %12lu %14s %10s\n", event_kind__name(k), st->rows[k], root,
			lost);
	if (!*lost && st->lost[k]) /* it is unknown which of the probe's kinds */
		fprintf(stderr, "%-12s %12s %14s %10lu\n", event_kind__probe(k), "", "all kinds",
			st->lost[k]);
}

static void status_print_summary(const struct status *s, const struct session *session,
				 const struct recording *r, uint64_t end_ns)
{
	const struct session_stats *st = session__stats(session);
	struct recording_stats written;

	recording__stats(r, &written);
	fprintf(stderr, "%-12s %12s %14s %10s\n", "kind", "rows", "to the root", "lost");
	for (size_t k = 0; k < EVENT_KIND_CNT; k++)
		status_print_kind(st, k);
	status_print_unwound(st);
	status_advise_walks(st);
	status_say_walks(session);
	if (st->lost_sideband)
		fprintf(stderr, "  lost notices of mappings and processes: %lu\n",
			st->lost_sideband);
	if (written.added > written.rows)
		fprintf(stderr, "  missing from the files, because %s: %lu of these rows\n",
			written.flight.is_on ? "no trigger came for them" : "writing failed",
			written.added - written.rows);
	if (written.removed_batches)
		fprintf(stderr, "  removed by --keep: the %lu oldest batches\n",
			written.removed_batches);
	fprintf(stderr, "%.1f s, %lu rows in %lu %s, %s in %s; own CPU %.2f s\n",
		(double)(end_ns - s->begin_ns) / 1e9, written.rows, written.batches,
		written.batches == 1 ? "batch" : "batches", status_size_text(written.bytes).s,
		recording__dir(r), (double)session__cpu_ns(session) / 1e9);
}

/* Prints what every user must know. */
static void status_warn(const struct status *s, const struct session_totals *t,
			const struct recording *r)
{
	bool removed = recording__removed(r);

	if (!t->rows) {
		log__warn("nothing was recorded: no event occurred, or no process matched the "
			  "filters%s%s%s",
			  removed ? "; " : "", removed ? recording__dir(r) : "",
			  removed ? " is removed" : "");
		absent__report(s->filter);
	}
	if (t->nameless)
		log__warn("%zu stacks have no names, because a file system did not answer",
			  t->nameless);
	if (s->quiet && t->lost * NEGLIGIBLE > t->rows + t->lost)
		log__warn("%lu %s lost: sums over this recording are too small "
			  "(stacksexport top shows where)",
			  t->lost, t->lost == 1 ? "event was" : "events were");
}

void status__summary(struct status *s, const struct session *session, const struct recording *r,
		     uint64_t end_ns)
{
	const struct session_totals t = session__totals(session);

	if (s->terminal && !s->quiet)
		status_clear_line();
	log__set_before(NULL);
	if (!s->quiet)
		status_print_summary(s, session, r, end_ns);
	status_warn(s, &t, r);
}

static void status_print_costs(const struct capture_cost *costs, size_t cnt, uint64_t ns)
{
	uint64_t runs = 0;

	for (size_t i = 0; i < cnt; i++)
		runs += costs[i].runs;
	if (cnt && !runs) { /* the kernel counts for CAP_SYS_ADMIN only */
		fprintf(stderr,
			"no BPF program ran, or CAP_SYS_ADMIN is missing to see what they cost\n");
		return;
	}
	if (cnt)
		fprintf(stderr, "%-34s %12s %10s %10s\n", "BPF program", "runs", "ns/run",
			"% of a CPU");
	for (size_t i = 0; i < cnt; i++)
		fprintf(stderr, "%-34s %12lu %10.0f %10.3f\n", costs[i].program, costs[i].runs,
			costs[i].runs ? (double)costs[i].run_ns / (double)costs[i].runs : 0,
			status_percent(costs[i].run_ns, ns));
}

void status__bill(struct status *s, struct capture *c, uint64_t ns)
{
	size_t cnt = 0;
	struct capture_cost *costs = s->quiet ? NULL : capture__costs(c, &cnt);

	status_print_costs(costs, cnt, ns);
	free(costs);
}
