// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * compare_walks NAME SAMPLES SECONDS GDB COMMAND [ARG]…
 * Runs the command, samples it and its descendants like the collector, and walks each stack by the
 * collector's unwinder and by libdwfl. Also stops one of its processes GDB times, and lets gdb walk
 * the stack of a thread. Prints one line of tab-separated `key=value`: what was compared, how many
 * frames are equal, how the walks ended, and how many stacks differ for which reason. Unexplained
 * differences, and walks that do not reach the root, are printed to standard error, the first few
 * in full.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "must.h"

#include "lib/walks.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "capture/capture.h"
#include "collector/launch.h"
#include "capture/sideband.h"

#define STACK_SZ    (256u << 10)
#define RING_SZ	    (16u << 20)
#define PRINT_MAX   3
#define THREADS_MAX 256

struct tally {
	uint64_t stacks, frames, equal, differ[WALKS_EXPLANATIONS + 1];
	uint64_t by_status[UNWIND_STATUS_CNT], roots_of_libdwfl;
	uint64_t gdb_stacks, gdb_frames, gdb_equal;
};

struct compare {
	struct walks w; /* .process: of the current sample */
	struct launch launch;
	struct capture *capture;
	struct sideband *sideband;
	struct streams streams;
	uint8_t room[SNAPSHOT_ROOM_SZ]; /* for a stack with holes */
	uint64_t wanted, end_ns;	/* maximum number of stacks; time of the last one */
	struct tally tally;
	uint32_t busy; /* the process of the last sample */
	unsigned differences_printed, ends_printed;
};

/* ---- one stack ---- */

static void count_difference(struct compare *c, size_t common)
{
	size_t why = walks__explain(&c->w, common);

	c->tally.differ[why]++;
	if (why < WALKS_EXPLANATIONS || c->differences_printed++ >= PRINT_MAX)
		return;
	fprintf(stderr, "---- process %u differs from frame %zu on\n", c->w.event->tgid, common);
	walks__print("the walk", c->w.fast);
	walks__print("libdwfl", c->w.reference);
}

static void say_end(struct compare *c)
{
	if (c->w.fast->status == UNWIND_ROOT || c->ends_printed++ >= PRINT_MAX)
		return;
	fprintf(stderr, "---- process %u, stack from %" PRIx64 " on\n", c->w.event->tgid,
		(uint64_t)c->w.event->stack_addr);
	walks__print("the walk", c->w.fast);
}

static void count(struct compare *c)
{
	const struct trace *fast = c->w.fast, *reference = c->w.reference;
	size_t common = walks__common(&c->w);

	c->tally.stacks++;
	c->tally.frames += fast->cnt > reference->cnt ? fast->cnt : reference->cnt;
	c->tally.equal += common;
	c->tally.by_status[fast->status]++;
	c->tally.roots_of_libdwfl += reference->status == UNWIND_ROOT;
	say_end(c);
	if (common < fast->cnt || common < reference->cnt)
		count_difference(c, common);
}

static void walk(struct compare *c, const struct sample *s, struct process *p)
{
	unwinder__walk(c->w.unwinder, p, s, c->w.fast);
	if (c->w.fast->status == UNWIND_NO_MAP && process_table__refresh(c->w.table, p))
		unwinder__walk(c->w.unwinder, p, s, c->w.fast);
}

static void on_sample(struct compare *c, const struct event *e)
{
	struct process *p = process_table__get(c->w.table, e->tgid);
	struct sample s;

	event__sample(e, &s);
	if (event__holes(e))
		snapshot__spread(&s.stack, event__holes(e), c->room);
	if (!p || !(e->flags & EVENT_F_USER) || c->tally.stacks == c->wanted ||
	    monotonic__ns() > c->end_ns)
		return;
	c->busy = e->tgid;
	c->w.process = p;
	c->w.event->tgid = e->tgid;
	c->w.event->stack_addr = e->stack_addr;
	walk(c, &s, p);
	libdwflwalk__walk(c->w.naive, p, &s, c->w.reference);
	count(c);
}

static void on_records(const struct record *r, size_t cnt, void *arg)
{
	struct compare *c = arg;

	if (r->type != RECORD_SAMPLE)
		process_table__apply(c->w.table, r);
	else
		while (cnt--)
			on_sample(c, (r++)->event);
}

static void drain(void *arg)
{
	struct compare *c = arg;

	merge__drain(&c->streams, monotonic__ns(), on_records, c);
	jobs__collect(c->w.jobs);
}

/* ---- sampling ---- */

static void collect_streams(struct compare *c)
{
	struct stream *const *bpf, *const *sideband;
	size_t bpf_cnt = capture__streams(c->capture, &bpf);
	size_t sideband_cnt = sideband__streams(c->sideband, &sideband);

	c->streams.cnt = bpf_cnt + sideband_cnt;
	c->streams.v = calloc(c->streams.cnt, sizeof(*c->streams.v));
	must(c->streams.v);
	memcpy(c->streams.v, bpf, bpf_cnt * sizeof(*bpf));
	memcpy(c->streams.v + bpf_cnt, sideband, sideband_cnt * sizeof(*sideband));
}

static void begin(struct compare *c)
{
	static struct probe_choice choices[PROBE_CHOICE_MAX];
	char text[] = "profile:u:997", why[256];
	uint32_t pid = (uint32_t)c->launch.pid;
	struct capture_options o = { .probes = choices,
				     .filter = { .pids = &pid, .pid_cnt = 1 },
				     .stack_sz = STACK_SZ,
				     .ring_sz = RING_SZ,
				     .drain = drain,
				     .drain_arg = c };
	uint64_t begin_ns;

	o.probe_cnt = (size_t)probes__parse(text, choices, why, sizeof(why));
	must((c->sideband = sideband__new(SIDEBAND_PAGES)));
	must((c->capture = capture__new(&o)));
	collect_streams(c);
	must(sideband__enable(c->sideband) == 0);
	must(capture__load(c->capture) == 0);
	must(capture__begin(c->capture, &begin_ns) == 0);
}

static void sample_for(struct compare *c, double seconds)
{
	c->end_ns = monotonic__ns() + (uint64_t)(seconds * 1e9);
	while (c->tally.stacks < c->wanted && monotonic__ns() < c->end_ns &&
	       !launch__ended(&c->launch)) {
		usleep(5000);
		drain(c);
	}
}

/* ---- gdb ---- */

static const char gdb_script[] =
	"set backtrace past-main on\nset debuginfod enabled off\nset print thread-events off\n"
	"python\nf = gdb.newest_frame()\n"
	"while f is not None:\n"
	"  if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME): print('pc', hex(f.pc()))\n"
	"  f = f.older()\nend\n";

static void count_against_gdb(struct compare *c, FILE *gdb)
{
	const struct trace *t = c->w.fast;
	size_t cnt = 0, common = 0, own = t->cnt;
	uint64_t pcs[TRACE_MAX];
	char line[64];

	while (cnt < TRACE_MAX && fgets(line, sizeof(line), gdb))
		if (strncmp(line, "pc ", 3) == 0)
			pcs[cnt++] = strtoull(line + 3, NULL, 16);
	if (!cnt)
		return;
	/* Without CFI, gdb analyses code and guesses. */
	for (size_t i = 0; i < own; i++)
		if (t->frames[i].source > FRAME_BY_CFI)
			cnt = own = i;
	while (common < cnt && common < own && pcs[common] == t->frames[common].pc)
		common++;
	c->tally.gdb_stacks++;
	c->tally.gdb_frames += cnt > own ? cnt : own;
	c->tally.gdb_equal += common;
	if (common == cnt && common == own)
		return;
	fprintf(stderr, "---- gdb differs from frame %zu on\n", common);
	walks__print("the walk", t);
	for (size_t i = common; i < cnt && i < common + 5; i++)
		fprintf(stderr, "gdb %2zu %012" PRIx64 "\n", i, pcs[i]);
}

/* The whole process is stopped, so that gdb sees the same stack. */
static void compare_with_gdb(struct compare *c, pid_t pid, pid_t tid, const char *script)
{
	struct process *p = process_table__get(c->w.table, (uint32_t)pid);
	char command[512];
	struct sample s;
	FILE *gdb;

	if (!p || !live__interrupt(tid))
		return;
	live__capture(tid, c->w.event, 0, EVENT_STACK_MAX);
	live__let_go(tid);
	c->w.event->tgid = (uint32_t)pid;
	c->w.process = p;
	event__sample(c->w.event, &s);
	walk(c, &s, p);
	snprintf(command, sizeof(command), "gdb -nx -batch -p %d -x %s 2>/dev/null </dev/null", tid,
		 script);
	gdb = popen(command, "r");
	must(gdb);
	count_against_gdb(c, gdb);
	pclose(gdb);
}

/* Returns a thread that was running when its process was stopped, else any. */
static pid_t pick_thread(pid_t pid)
{
	pid_t tids[THREADS_MAX];
	size_t cnt = live__threads(pid, tids, THREADS_MAX);

	return cnt ? tids[(size_t)random() % cnt] : 0;
}

static void ask_gdb(struct compare *c, unsigned times)
{
	char script[] = "/tmp/compare-walks-XXXXXX";
	int fd = mkstemp(script);

	must(fd >= 0 && write(fd, gdb_script, sizeof(gdb_script) - 1) > 0);
	close(fd);
	for (unsigned i = 0; i < times && !launch__ended(&c->launch); i++) {
		pid_t pid = (pid_t)c->busy, tid;

		if (kill(pid, SIGSTOP) != 0)
			break;
		live__wait_state(pid, 'T');
		drain(c);
		tid = i % 2 ? pick_thread(pid) : pid;
		if (tid)
			compare_with_gdb(c, pid, tid, script);
		kill(pid, SIGCONT);
		usleep(30000);
		drain(c);
	}
	unlink(script);
}

/* ---- result ---- */

static void print(const struct compare *c, const char *name)
{
#define X(id, text) text,
	static const char *const statuses[] = { UNWIND_STATUSES(X) };
#undef X
	const struct tally *t = &c->tally;

	printf("name=%s\tstacks=%" PRIu64 "\tframes=%" PRIu64 "\tequal=%" PRIu64
	       "\tlibdwfl roots=%" PRIu64 "\tgdb stacks=%" PRIu64 "\tgdb frames=%" PRIu64
	       "\tgdb equal=%" PRIu64,
	       name, t->stacks, t->frames, t->equal, t->roots_of_libdwfl, t->gdb_stacks,
	       t->gdb_frames, t->gdb_equal);
	for (size_t i = 0; i < UNWIND_STATUS_CNT; i++)
		printf("\tended %s=%" PRIu64, statuses[i], t->by_status[i]);
	for (size_t i = 0; i < WALKS_EXPLANATIONS; i++)
		printf("\tdiffer %s=%" PRIu64, walks__explanations[i].name, t->differ[i]);
	printf("\tunexplained=%" PRIu64 "\n", t->differ[WALKS_EXPLANATIONS]);
}

static void set_up(struct compare *c)
{
	c->w.table = process_table__new(&(struct process_options){ .proc = "/proc" });
	c->w.jobs = jobs__new();
	c->w.unwinder = unwinder__new(NULL, c->w.jobs);
	c->w.naive = libdwflwalk__new();
	c->w.event = live__event();
	c->w.fast = calloc(1, sizeof(*c->w.fast));
	c->w.reference = calloc(1, sizeof(*c->w.reference));
	must(c->w.table && c->w.jobs && c->w.unwinder && c->w.naive && c->w.fast && c->w.reference);
}

int main(int argc, char **argv)
{
	struct compare *c = calloc(1, sizeof(*c));

	if (argc < 6) {
		fprintf(stderr, "usage: compare_walks NAME SAMPLES SECONDS GDB COMMAND [ARG]...\n");
		return 2;
	}
	must(c);
	log__init("compare_walks", LOG_WARN);
	c->wanted = strtoull(argv[2], NULL, 10);
	set_up(c);
	must(launch__prepare(&c->launch, argv + 5, NULL) == 0);
	begin(c);
	must(process_table__scan(c->w.table) == 0); /* the command, before it execs */
	must(launch__go(&c->launch, NULL, NULL) == 0);
	sample_for(c, atof(argv[3]));
	ask_gdb(c, (unsigned)atoi(argv[4]));
	launch__kill(&c->launch);
	print(c, argv[1]);
	return c->tally.stacks == 0;
}
