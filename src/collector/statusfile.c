// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/statusfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/jobs.h"
#include "base/log.h"
#include "base/replace.h"
#include "base/strcopy.h"
#include "stacks/labels.h"

#define EVERY_NS 500000000
#define PID_SZ	 16	    /* ".PID" */
#define END_NS	 1000000000 /* longest wait for the file that is being written at the end */

/* A text that a job writes into the file: the disk may take seconds, and rings fill in
 * milliseconds. */
struct writing {
	struct job job;
	struct statusfile *file;
	char path[PATH_MAX];
	bool moved; /* to a separate name */
	int other;  /* pid of the collector that uses the first name; 0: none */
	char *text;
	size_t sz;
	int err;
};

struct statusfile {
	struct jobs *jobs; /* one at a time */
	char path[PATH_MAX];
	uint64_t tried_ns, cpu_ns;
	bool moved;   /* to a separate name */
	bool written; /* at least once */
	bool quiet;   /* the file is the default one, or its failure has been reported */
};

static void say_unwritable(const char *path, int err)
{
	log__warn("cannot write the status file %.200s: %s", path, strerror(err));
}

struct statusfile *statusfile__new(const char *path)
{
	struct statusfile *s = path ? calloc(1, sizeof(*s)) : NULL;
	char folder[PATH_MAX];

	if (!path || !s)
		return errno = path ? ENOMEM : 0, NULL;
	if (!str__copy(s->path, sizeof(s->path) - PID_SZ, path)) {
		say_unwritable(path, ENAMETOOLONG);
		free(s);
		return errno = ENAMETOOLONG, NULL;
	}
	s->quiet = strcmp(path, STATUS_FILE) == 0;
	str__copy(folder, sizeof(folder), path);
	mkdir(dirname(folder), 0755); /* an error shows when the file is written */
	s->jobs = jobs__new();
	if (s->jobs)
		return s;
	say_unwritable(path, errno);
	free(s);
	return NULL;
}

/* Returns the pid in the file; 0 if there is none. */
static int writer_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), pid = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f && fd >= 0)
		close(fd);
	if (f && fscanf(f, " { \"pid\": %d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

void statusfile__free(struct statusfile *s)
{
	if (!s)
		return;
	if (jobs__wait(s->jobs, END_NS) && s->written && writer_of(s->path) == getpid())
		unlink(s->path);
	jobs__free(s->jobs);
	free(s);
}

static uint64_t own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void print_failed(FILE *f, const struct session_stats *st)
{
	const char *separator = "";

	fprintf(f, "  \"failed\": {");
	for (size_t i = 0; i < UNWIND_STATUS_CNT; i++) {
		if (i == UNWIND_ROOT || !st->unwound[i])
			continue;
		fprintf(f, "%s\"%s\": %lu", separator, unwind_status__name(i), st->unwound[i]);
		separator = ", ";
	}
	fprintf(f, "},\n");
}

static void print_memory(FILE *f, const struct memory *memory, const struct session_totals *t)
{
	struct memory_stats m;

	memory__stats(memory, &m);
	fprintf(f,
		"  \"memory\": {\"limit\": %zu, \"anonymous\": %zu, \"names\": %zu, \"rules\": "
		"%zu, "
		"\"tables\": %zu, \"waiting\": %zu, \"processes\": %zu, \"threads\": %zu, "
		"\"files\": %zu, \"unused_freed\": %lu, \"evicted\": %lu},\n",
		m.max_sz, m.anonymous_sz, m.slot_sz[ELF_SLOT_SYMBOLS], m.slot_sz[ELF_SLOT_UNWIND],
		m.slot_sz[ELF_SLOT_TABLE], t->deferred.sz, t->processes.processes, t->threads,
		t->processes.files, m.unused_sz, m.evicted_sz);
}

static void print(struct statusfile *s, FILE *f, const struct session *session,
		  const struct memory *memory, uint64_t now_ns)
{
	const struct session_stats *st = session__stats(session);
	struct session_totals sum = session__totals(session);
	const struct table_store_stats *tables = &sum.unwinder.tables;
	uint64_t cpu_ns = own_cpu_ns();
	double converted =
		sum.user_stacks ? 100.0 * (double)sum.to_root / (double)sum.user_stacks : 100;
	double cpu = s->tried_ns
			     ? 100.0 * (double)(cpu_ns - s->cpu_ns) / (double)(now_ns - s->tried_ns)
			     : 0;

	fprintf(f, "{\n  \"pid\": %d,\n  \"samples\": %lu,\n  \"stacks\": %lu,\n", (int)getpid(),
		sum.rows, sum.user_stacks);
	fprintf(f, "  \"unwound\": %lu,\n  \"converted_percent\": %.2f,\n", sum.to_root, converted);
	print_failed(f, st);
	fprintf(f, "  \"waiting\": %zu,\n  \"waited\": %lu,\n  \"reading\": %zu,\n",
		sum.deferred.cnt, sum.deferred.waited, sum.reading);
	fprintf(f, "  \"unnamed_stacks\": %zu,\n  \"unnamed\": %zu,\n", sum.unnamed, sum.nameless);
	fprintf(f,
		"  \"tables\": {\"made\": %zu, \"cached\": %zu, \"indexed\": %zu, \"pending\": "
		"%zu, "
		"\"none\": %zu, \"bytes\": %zu},\n",
		tables->made, tables->cached, tables->indexed, tables->pending, tables->failed,
		tables->bytes);
	print_memory(f, memory, &sum);
	fprintf(f, "  \"lost\": %lu,\n  \"own_cpu_percent\": %.2f\n}\n", sum.lost, cpu);
	s->cpu_ns = cpu_ns;
}

/* Two collectors must not replace each other's file: the second one takes another name. */
static void make_way(struct writing *w)
{
	int pid = writer_of(w->path);
	size_t len;

	if (pid <= 0 || pid == getpid() || (kill(pid, 0) != 0 && errno == ESRCH))
		return;
	w->other = pid;
	w->moved = true;
	len = strlen(w->path);
	snprintf(w->path + len, sizeof(w->path) - len, ".%d", (int)getpid());
}

static void writing__work(struct job *j)
{
	struct writing *w = (struct writing *)(void *)j;

	if (!w->moved)
		make_way(w);
	w->err = replace__file(w->path, w->text, w->sz);
}

static void writing__done(struct job *j)
{
	struct writing *w = (struct writing *)(void *)j;
	struct statusfile *s = w->file;

	if (w->other)
		log__warn("another collector (%d) writes the status file %s: this one writes %s",
			  w->other, s->path, w->path);
	if (w->err && !s->quiet)
		say_unwritable(w->path, -w->err);
	str__copy(s->path, sizeof(s->path), w->path);
	s->moved = w->moved;
	s->written |= w->err == 0;
	s->quiet |= w->err != 0;
	free(w->text);
	free(w);
}

static void submit(struct statusfile *s, char *text, size_t sz)
{
	struct writing *w = calloc(1, sizeof(*w));

	if (!w) {
		free(text);
		return;
	}
	w->job = (struct job){ .rank = JOB_LAST, .work = writing__work, .done = writing__done };
	w->file = s;
	str__copy(w->path, sizeof(w->path), s->path);
	w->moved = s->moved;
	w->text = text;
	w->sz = sz;
	jobs__submit(s->jobs, &w->job);
}

void statusfile__tick(struct statusfile *s, const struct session *session,
		      const struct memory *memory, uint64_t now_ns)
{
	char *text = NULL;
	size_t sz;
	FILE *f;

	if (!s)
		return;
	jobs__collect(s->jobs);
	if (now_ns - s->tried_ns < EVERY_NS || jobs__pending(s->jobs))
		return;
	f = open_memstream(&text, &sz);
	if (!f)
		return;
	print(s, f, session, memory, now_ns);
	s->tried_ns = now_ns;
	if (fclose(f) == 0)
		submit(s, text, sz);
	else
		free(text);
}
