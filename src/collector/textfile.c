// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/jobs.h"
#include "base/log.h"
#include "base/replace.h"
#include "base/strcopy.h"

#define PID_SZ 16	  /* ".PID" */
#define END_NS 1000000000 /* longest wait for the file that is being written at the end */

struct writing {
	struct job job;
	struct textfile *file; /* not for the thread that writes */
	int (*writer)(FILE *);
	char path[PATH_MAX];
	bool moved; /* to a name of its own */
	int other;  /* pid of the collector that uses the first name; 0: none */
	char *text;
	size_t sz;
	int err;
};

struct textfile {
	struct jobs *jobs; /* one at a time */
	struct textfile_options options;
	char path[PATH_MAX];
	char *text; /* of the open stream */
	size_t sz;
	uint64_t tried_ns;
	bool moved;   /* to a name of its own */
	bool written; /* at least once */
	bool quiet;   /* or its failure has been reported */
};

static void textfile_say_unwritable(const struct textfile *t, const char *path, int err)
{
	log__warn("cannot write the %s %.200s: %s", t->options.what, path, strerror(err));
}

static int textfile__init(struct textfile *t, const struct textfile_options *o)
{
	char folder[PATH_MAX];

	t->options = *o;
	t->quiet = o->quiet;
	if (!str__copy(t->path, sizeof(t->path) - PID_SZ, o->path))
		return -ENAMETOOLONG;
	str__copy(folder, sizeof(folder), o->path);
	mkdir(dirname(folder), 0755); /* an error shows when the file is written */
	t->jobs = jobs__new();
	return t->jobs ? 0 : -errno;
}

struct textfile *textfile__new(const struct textfile_options *o)
{
	struct textfile *t = calloc(1, sizeof(*t));
	int err = t ? textfile__init(t, o) : -ENOMEM;

	if (!err)
		return t;
	log__warn("cannot write the %s %.200s: %s", o->what, o->path, strerror(-err));
	free(t);
	return errno = -err, NULL;
}

int textfile__writer(int (*writer)(FILE *), const char *path)
{
	int fd = writer ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	int pid = f ? writer(f) : 0;

	if (!f && fd >= 0)
		close(fd);
	if (f)
		fclose(f);
	return pid;
}

void textfile__free(struct textfile *t)
{
	if (!t)
		return;
	if (jobs__wait(t->jobs, END_NS) && t->written &&
	    (!t->options.writer || textfile__writer(t->options.writer, t->path) == getpid()))
		unlink(t->path);
	jobs__free(t->jobs);
	free(t);
}

/* Two collectors must not replace each other's file: the second one takes another name. */
static void textfile_make_way(struct writing *w)
{
	int pid = textfile__writer(w->writer, w->path);
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
		textfile_make_way(w);
	w->err = replace__file(w->path, w->text, w->sz);
}

static void writing__done(struct job *j)
{
	struct writing *w = (struct writing *)(void *)j;
	struct textfile *t = w->file;

	if (w->other)
		log__warn("another collector (%d) writes the %s %s: this one writes %s", w->other,
			  t->options.what, t->path, w->path);
	if (w->err && !t->quiet)
		textfile_say_unwritable(t, w->path, -w->err);
	str__copy(t->path, sizeof(t->path), w->path);
	t->moved = w->moved;
	t->written |= w->err == 0;
	t->quiet |= w->err != 0;
	free(w->text);
	free(w);
}

FILE *textfile__begin(struct textfile *t, uint64_t now_ns)
{
	FILE *f;

	if (!t)
		return NULL;
	jobs__collect(t->jobs);
	if (now_ns - t->tried_ns < t->options.every_ns || jobs__pending(t->jobs))
		return NULL;
	f = open_memstream(&t->text, &t->sz);
	if (f)
		t->tried_ns = now_ns;
	return f;
}

void textfile__end(struct textfile *t, FILE *f)
{
	struct writing *w = fclose(f) == 0 ? calloc(1, sizeof(*w)) : NULL;

	if (!w) {
		free(t->text);
		return;
	}
	w->job = (struct job){ .rank = JOB_LAST, .work = writing__work, .done = writing__done };
	w->file = t;
	w->writer = t->options.writer;
	str__copy(w->path, sizeof(w->path), t->path);
	w->moved = t->moved;
	w->text = t->text;
	w->sz = t->sz;
	jobs__submit(t->jobs, &w->job);
}
