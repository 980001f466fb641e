// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * batchrows ROWS RATE FOLDER FILE…: the collector's work per row, without the kernel, at RATE rows
 * per second. The snapshots of record_snapshots are put into two rings repeatedly, as slices of as
 * many threads as there are files, and become rows of a recording in FOLDER. Prints the CPU time of
 * the thread that reads the rings and of all threads; valgrind --tool=callgrind counts
 * instructions.
 */
#include <linux/bpf.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "collector/session.h"
#include "capture/ring.h"
#include "snapset.h"
#include "store/recording.h"

#define RINGS	    2
#define RING_SZ	    (16u << 20)
#define POLLS_PER_S 10
#define ROUND_MAX   4000    /* a ring that fills up is read sooner */
#define NOBODY	    5000000 /* the kernel does not assign process ids from here on */
#define PATIENCE_NS 10000000000
#define NS_PER_S    1000000000
#define WARM_ROUNDS 4

struct source {
	struct ring *ring;
	struct stream *stream;
	uint64_t consumer, producer;
	uint8_t *data;
};

struct bench {
	struct source sources[RINGS];
	struct snapset *sets;
	size_t set_cnt;
	uint64_t rate;
	size_t round_rows; /* in the rings when they are read */
	size_t next;	   /* index of the next of all samples */
	struct recording *recording;
	struct census census;
	struct session *session;
	uint64_t now_ns;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Maps a ring like the kernel: the data twice, so that no event is split. */
static void open_source(struct source *s)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct ring_area area;

	s->data = mmap(NULL, 2 * RING_SZ, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || ftruncate(fd, RING_SZ) || s->data == MAP_FAILED)
		die("ring");
	for (int i = 0; i < 2; i++)
		if (mmap(s->data + i * RING_SZ, RING_SZ, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			die("ring");
	close(fd);
	s->ring = ring__new();
	if (!s->ring)
		die("ring");
	area = (struct ring_area){ &s->consumer, &s->producer, s->data, RING_SZ };
	ring__set_area(s->ring, &area);
	s->stream = ring__stream(s->ring);
}

/* Adds a slice that ends now. */
static void put(struct source *s, const struct event *sample, uint64_t now_ns)
{
	uint8_t *at = s->data + s->producer % RING_SZ;
	struct event *e = (void *)(at + BPF_RINGBUF_HDR_SZ);
	uint32_t sz = (uint32_t)(sizeof(*e) + sample->ustack_sz);

	memcpy(at, &sz, sizeof(sz));
	memcpy(e, sample, sz);
	e->kind = EVENT_SWITCH;
	e->state = EVENT_STATE_SLEEPING;
	e->weight = 1;
	e->cgroup_id = 1;
	e->time_ns = now_ns;
	e->duration_ns = 5000 + now_ns * 2654435761 % 20000;
	e->runnable_ns = now_ns * 2246822519 % 3000;
	e->flags |= EVENT_F_RUNNABLE;
	snprintf(e->comm, sizeof(e->comm), "program");
	snprintf(e->thread, sizeof(e->thread), "program");
	s->producer += (sz + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
}

static void fill(struct bench *b)
{
	for (size_t i = 0; i < b->round_rows; i++, b->next++) {
		const struct snapset *set = &b->sets[b->next % b->set_cnt];

		b->now_ns += NS_PER_S / b->rate;
		put(&b->sources[i % RINGS], set->events[b->next / b->set_cnt % set->cnt],
		    b->now_ns);
	}
}

static void drain(struct bench *b)
{
	struct stream *streams[RINGS];
	struct streams all = { streams, RINGS };

	for (size_t i = 0; i < RINGS; i++)
		streams[i] = b->sources[i].stream;
	merge__drain(&all, b->now_ns, session__records, b->session);
	if (session__tick(b->session, b->now_ns))
		die("session");
}

static void apply(const struct record *r, void *session)
{
	session__records(r, 1, session);
}

static void open_session(struct bench *b, char *folder)
{
	static struct collector_options o; /* keeps pointers to its arguments */
	char probe[] = "switch:u", why[256];

	o = (struct collector_options){ .recording = { .dir = folder,
						       .owner_uid = geteuid(),
						       .owner_gid = getegid(),
						       .rows_per_group = 100000,
						       .groups_per_file = 10,
						       .batch_ns = 10000000000,
						       .compression = "zstd(1)" } };
	o.capture.probe_cnt = (size_t)probes__parse(probe, o.probes, why, sizeof(why));
	b->recording = recording__new(&o.recording);
	if (b->recording && census__init(&b->census) == 0)
		b->session = session__new(&o, b->recording, &b->census, NULL);
	if (!b->session)
		die("session");
	for (size_t i = 0; i < b->set_cnt; i++)
		snapset__maps(&b->sets[i], apply, b->session);
}

/* Repeats until all files that the stacks need have been read. */
static void warm(struct bench *b)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;

	for (size_t i = 0; i < WARM_ROUNDS; i++) {
		fill(b);
		drain(b);
		while ((session__totals(b->session).deferred.cnt ||
			session__totals(b->session).reading) &&
		       clock_ns(CLOCK_MONOTONIC) < until_ns) {
			usleep(1000);
			session__tick(b->session, b->now_ns);
		}
	}
}

static void report(struct bench *b, uint64_t rows, uint64_t reader_ns, uint64_t all_ns)
{
	struct session_totals t = session__totals(b->session);

	printf("rows\t%lu\treader=%.0f\tall=%.0f\troot=%.2f\n", rows,
	       (double)reader_ns / (double)rows, (double)all_ns / (double)rows,
	       100.0 * (double)t.to_root / (double)t.user_stacks);
}

int main(int argc, char **argv)
{
	struct bench b = { .set_cnt = argc > 4 ? (size_t)argc - 4 : 0,
			   .rate = argc > 4 ? strtoul(argv[2], NULL, 10) : 0 };
	uint64_t wanted = argc > 4 ? strtoul(argv[1], NULL, 10) : 0, reader_ns = 0, from_ns, all_ns;
	uint64_t rows = 0;

	if (!wanted || b.rate < POLLS_PER_S) {
		fprintf(stderr, "usage: rows ROWS RATE FOLDER FILE...\n");
		return 2;
	}
	b.round_rows = b.rate / POLLS_PER_S < ROUND_MAX ? b.rate / POLLS_PER_S : ROUND_MAX;
	log__init("batchrows", LOG_WARN);
	b.sets = calloc(b.set_cnt, sizeof(*b.sets));
	b.now_ns = clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < b.set_cnt; i++)
		b.sets[i] = snapset__read(argv[i + 4], NOBODY + (uint32_t)i);
	for (size_t i = 0; i < RINGS; i++)
		open_source(&b.sources[i]);
	open_session(&b, argv[3]);
	warm(&b);
	all_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (uint64_t fill_ns; rows < wanted; rows += b.round_rows) {
		from_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		fill(&b);
		fill_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns;
		all_ns += fill_ns;
		from_ns += fill_ns;
		drain(&b);
		reader_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns;
	}
	session__flush(b.session, b.now_ns);
	if (recording__finish(b.recording))
		die("recording");
	report(&b, rows, reader_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID) - all_ns);
	census__stop(&b.census);
	session__free(b.session);
	recording__free(b.recording);
	census__free(&b.census);
	return 0;
}
