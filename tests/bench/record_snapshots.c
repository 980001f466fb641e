// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record_snapshots FILE SAMPLES PROBE COMMAND [ARG]…: runs the command, takes snapshots of it like
 * the collector with -p PROBE (stacks up to 256 KiB), and writes them as a snapset.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "capture/capture.h"
#include "process/maps.h"
#include "snapset.h"

#define STACK_SZ   (256u << 10)
#define RING_SZ	   (16u << 20)
#define START_MS   700 /* programs load before they work */
#define PATIENCE_S 20

struct take {
	pid_t pid;
	size_t wanted;
	struct snapset_head head;
	struct buf maps, samples;
	struct capture *capture;
	struct streams streams;
};

static void die(const char *what)
{
	fprintf(stderr, "record_snapshots: %s: %s\n", what, strerror(errno));
	exit(1);
}

static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid;
}

static void keep_map(const struct record_mmap *m, void *arg)
{
	struct take *t = arg;
	const struct snapset_map map = { .start = m->start,
					 .len = m->len,
					 .pgoff = m->pgoff,
					 .ino = m->ino,
					 .maj = m->maj,
					 .min = m->min,
					 .path_sz = strlen(m->path) + 1 };

	buf__append(&t->maps, &map, sizeof(map));
	buf__append(&t->maps, m->path, map.path_sz);
	t->head.map_cnt++;
}

/* Reads the present mappings; keeps the last ones if the process has ended. */
static void read_maps(struct take *t)
{
	size_t cnt = t->head.map_cnt;
	struct buf old = t->maps;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", t->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	t->maps = (struct buf){ 0 };
	t->head.map_cnt = 0;
	if (fd >= 0)
		maps__read(fd, keep_map, t);
	close(fd);
	if (t->head.map_cnt) {
		buf__free(&old);
		return;
	}
	t->maps = old;
	t->head.map_cnt = cnt;
}

static void keep_one(const struct record *r, struct take *t)
{
	const struct event *e = r->event;
	struct snapset_sample s = { .addr = e->stack_addr,
				    .truncated = !!(e->flags & EVENT_F_TRUNCATED),
				    .sz = e->ustack_sz };

	if ((pid_t)e->tgid != t->pid || !(e->flags & EVENT_F_USER) || event__holes(e) ||
	    t->head.sample_cnt == t->wanted)
		return;
	memcpy(s.regs, e->regs, sizeof(s.regs));
	buf__append(&t->samples, &s, sizeof(s));
	buf__append(&t->samples, event__ustack(e), e->ustack_sz);
	t->head.sample_cnt++;
}

static void keep_samples(const struct record *r, size_t cnt, void *arg)
{
	while (cnt--)
		keep_one(r++, arg);
}

static void drain(void *arg)
{
	struct take *t = arg;

	merge__drain(&t->streams, monotonic__ns(), keep_samples, t);
}

static void open_capture(struct take *t, char *probe)
{
	char why[256];
	static struct probe_choice choices[PROBE_CHOICE_MAX];
	struct stream *const *streams;
	uint32_t pid = (uint32_t)t->pid;
	struct capture_options o = { .probes = choices,
				     .filter = { .pids = &pid, .pid_cnt = 1 },
				     .stack_sz = STACK_SZ,
				     .ring_sz = RING_SZ,
				     .drain = drain,
				     .drain_arg = t };
	int cnt = probes__parse(probe, choices, why, sizeof(why));
	uint64_t begin_ns;

	if (cnt < 0) {
		fprintf(stderr, "record_snapshots: %s\n", why);
		exit(2);
	}
	o.probe_cnt = (size_t)cnt;
	t->capture = capture__new(&o);
	if (!t->capture)
		die("cannot sample");
	t->streams.cnt = capture__streams(t->capture, &streams);
	t->streams.v = malloc(t->streams.cnt * sizeof(*streams));
	if (!t->streams.v)
		die("memory");
	memcpy(t->streams.v, streams, t->streams.cnt * sizeof(*streams));
	if (capture__load(t->capture) || capture__begin(t->capture, &begin_ns))
		die("cannot sample");
}

static void write_all(const struct take *t, const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f || buf__err(&t->maps) || buf__err(&t->samples))
		die(path);
	fwrite(&t->head, sizeof(t->head), 1, f);
	fwrite(t->maps.data, t->maps.sz, 1, f);
	fwrite(t->samples.data, t->samples.sz, 1, f);
	if (fclose(f))
		die(path);
}

int main(int argc, char **argv)
{
	struct take t = { .head.magic = SNAPSET_MAGIC };
	uint64_t end_ns;

	if (argc < 5) {
		fprintf(stderr, "usage: record_snapshots FILE SAMPLES PROBE COMMAND [ARG]...\n");
		return 2;
	}
	log__init("record_snapshots", LOG_WARN);
	t.wanted = strtoul(argv[2], NULL, 10);
	t.pid = start(argv + 4);
	usleep(START_MS * 1000);
	open_capture(&t, argv[3]);
	end_ns = monotonic__ns() + PATIENCE_S * 1000000000ull;
	while (t.head.sample_cnt < t.wanted && monotonic__ns() < end_ns &&
	       waitpid(t.pid, NULL, WNOHANG) == 0) {
		usleep(5000);
		drain(&t);
		read_maps(&t);
	}
	kill(t.pid, SIGKILL);
	capture__free(t.capture);
	write_all(&t, argv[1]);
	fprintf(stderr, "%s: %lu samples, %zu bytes\n", argv[1], (unsigned long)t.head.sample_cnt,
		t.samples.sz);
	return t.head.sample_cnt == 0;
}
