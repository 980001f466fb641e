// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/statusfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "collector/labels.h"

#define EVERY_NS 500000000
#define TEMP	 ".new"

struct statusfile {
	char path[PATH_MAX], temp[PATH_MAX + sizeof(TEMP)];
	uint64_t tried_ns, written_ns, cpu_ns;
	bool quiet; /* nobody asked for it, or it has been said that it cannot be written */
};

struct statusfile *statusfile__new(const char *path)
{
	struct statusfile *s = path ? calloc(1, sizeof(*s)) : NULL;
	char folder[PATH_MAX];

	if (!path || !s)
		return errno = path ? ENOMEM : 0, NULL;
	if (strlen(path) >= sizeof(s->path)) {
		free(s);
		return errno = ENAMETOOLONG, NULL;
	}
	strcpy(s->path, path);
	s->quiet = strcmp(path, STATUS_FILE) == 0;
	snprintf(s->temp, sizeof(s->temp), "%s" TEMP, path);
	strcpy(folder, path);
	mkdir(dirname(folder), 0755); /* whether it can be written is seen when it is */
	return s;
}

void statusfile__free(struct statusfile *s)
{
	if (s && s->written_ns)
		unlink(s->path);
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

static void print(struct statusfile *s, FILE *f, const struct session *session, uint64_t now_ns)
{
	const struct session_stats *st = session__stats(session);
	struct session_totals sum = session__totals(session);
	const struct tables_stats *tables = &sum.unwinder.tables;
	uint64_t cpu_ns = own_cpu_ns();
	double converted =
		sum.user_stacks ? 100.0 * (double)sum.to_root / (double)sum.user_stacks : 100;
	double cpu = s->written_ns ? 100.0 * (double)(cpu_ns - s->cpu_ns) /
					     (double)(now_ns - s->written_ns)
				   : 0;

	fprintf(f, "{\n  \"pid\": %d,\n  \"samples\": %lu,\n  \"stacks\": %lu,\n", (int)getpid(),
		sum.rows, sum.user_stacks);
	fprintf(f, "  \"unwound\": %lu,\n  \"converted_percent\": %.2f,\n", sum.to_root, converted);
	print_failed(f, st);
	fprintf(f, "  \"unnamed_stacks\": %zu,\n", sum.unnamed);
	fprintf(f,
		"  \"tables\": {\"made\": %zu, \"cached\": %zu, \"pending\": %zu, \"none\": %zu, "
		"\"bytes\": %zu},\n",
		tables->made, tables->cached, tables->pending, tables->failed, tables->bytes);
	fprintf(f, "  \"lost\": %lu,\n  \"own_cpu_percent\": %.2f\n}\n", sum.lost, cpu);
	s->cpu_ns = cpu_ns;
}

static int replace(struct statusfile *s, const struct session *session, uint64_t now_ns)
{
	FILE *f;
	int fd, err;

	unlink(s->temp); /* of one that was killed */
	/* Nobody else's: a FIFO would block, and a file's owner could write what we are believed.
	 */
	fd = open(s->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	err = f ? 0 : -errno;
	if (!f) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	print(s, f, session, now_ns);
	if (fclose(f) || rename(s->temp, s->path)) {
		err = -errno;
		unlink(s->temp);
	}
	return err;
}

void statusfile__tick(struct statusfile *s, const struct session *session, uint64_t now_ns)
{
	int err;

	if (!s || now_ns - s->tried_ns < EVERY_NS)
		return;
	s->tried_ns = now_ns;
	err = replace(s, session, now_ns);
	if (!err)
		s->written_ns = now_ns;
	else if (!s->quiet)
		log__warn("the status file %s cannot be written: %s", s->path, strerror(-err));
	s->quiet |= err != 0;
}
