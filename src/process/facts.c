// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/errand.h"
#include "process/crowd.h"
#include "process/process_private.h"

#define FIELD_START 22 /* of /proc/PID/stat, proc(5) */

/* Reads the beginning of a file of the process. Returns its length without the NUL that is
 * appended, 0 if it cannot be read. */
static size_t facts_read_text(int proc, uint32_t tgid, const char *file, char text[1024])
{
	char name[32];
	ssize_t got;
	int fd;

	snprintf(name, sizeof(name), "%u/%s", tgid, file);
	fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, 1023);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

/* ---- the command line ---------------------------------------------------------------------------
 */

struct facts_reading {
	struct errand errand;
	int proc;
	uint32_t tgid;
	size_t sz;
	char text[PROCESS_TEXT_MAX];
};

static struct facts_reading *facts_reading_of(struct errand *e)
{
	return (struct facts_reading *)((char *)e - offsetof(struct facts_reading, errand));
}

static void facts_reading_run(struct errand *e)
{
	struct facts_reading *r = facts_reading_of(e);
	char name[32];
	ssize_t got;
	int fd;

	snprintf(name, sizeof(name), "%u/cmdline", r->tgid);
	fd = openat(r->proc, name, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, r->text, sizeof(r->text));
	if (fd >= 0)
		close(fd);
	r->sz = got > 0 ? (size_t)got : 0;
}

static void facts_reading_drop(struct errand *e)
{
	free(facts_reading_of(e));
}

/* Like the questions of mmquery.c: each process of root counts as a user. */
static uint64_t facts_reading_user(const struct errand *e)
{
	const struct facts_reading *r = facts_reading_of((struct errand *)e);
	uint64_t crowd = crowd__of(r->proc, r->tgid);

	return crowd == JOB_CROWD_ROOT ? 1ull << 63 | r->tgid : crowd;
}

/* Puts blanks between the arguments. */
static void facts_reading_join(struct facts_reading *r, size_t max)
{
	while (r->sz && (r->text[r->sz - 1] == '\0' || r->text[r->sz - 1] == ' '))
		r->sz--;
	if (r->sz > max)
		r->sz = max;
	for (size_t i = 0; i < r->sz; i++)
		if (r->text[i] == '\0')
			r->text[i] = ' ';
}

/* Returns NULL if the process does not answer, or out of memory. */
static struct facts_reading *facts_read_command_line(const struct process_table *t, uint32_t tgid,
						     size_t max)
{
	struct facts_reading *r = malloc(sizeof(*r));

	if (!r)
		return NULL;
	r->errand = (struct errand){ facts_reading_run, facts_reading_drop, facts_reading_user, 0 };
	r->proc = t->open.places.proc;
	r->tgid = tgid;
	if (!errands__run(t->open.places.errands, &r->errand))
		return NULL;
	facts_reading_join(r, max);
	return r;
}

/* ---- the rest, which takes no memory lock -------------------------------------------------------
 */

/* Returns the number after `label` in a status file, or 0. */
static uint32_t facts_status_number(const char *text, const char *label, unsigned idx)
{
	const char *at = strstr(text, label);
	char *end;

	if (!at)
		return 0;
	end = (char *)at + strlen(label);
	while (idx--)
		strtoul(end, &end, 10);
	return (uint32_t)strtoul(end, NULL, 10);
}

/* Returns the start on CLOCK_BOOTTIME. The command, which may contain anything, ends with the last
 * parenthesis. */
static uint64_t facts_stat_start_ns(const char *text)
{
	const char *at = strrchr(text, ')');
	long ticks_per_s = sysconf(_SC_CLK_TCK);

	for (int field = 2; at && field < FIELD_START; field++)
		at = strchr(at + 1, ' ');
	return at && ticks_per_s > 0
		       ? strtoull(at, NULL, 10) * (1000000000ull / (uint64_t)ticks_per_s)
		       : 0;
}

/* Returns the length of the path, 0 if there is none. */
static size_t facts_read_executable(int proc, uint32_t tgid, char path[PATH_MAX])
{
	static const char deleted[] = " (deleted)";
	char name[32];
	ssize_t got;
	size_t sz;

	snprintf(name, sizeof(name), "%u/exe", tgid);
	got = readlinkat(proc, name, path, PATH_MAX);
	sz = got > 0 ? (size_t)got : 0;
	if (sz > sizeof(deleted) - 1 &&
	    memcmp(path + sz - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1) == 0)
		sz -= sizeof(deleted) - 1;
	return sz;
}

struct process_facts *process_table__facts(const struct process_table *t, uint32_t tgid,
					   size_t text_max)
{
	char status[1024], stat_line[1024], path[PATH_MAX];
	bool known = t->open.places.proc >= 0 &&
		     facts_read_text(t->open.places.proc, tgid, "status", status) &&
		     facts_read_text(t->open.places.proc, tgid, "stat", stat_line);
	size_t path_len = known ? facts_read_executable(t->open.places.proc, tgid, path) : 0;
	size_t path_sz = path_len < text_max ? path_len : text_max;
	/* without an executable: a zombie, or a thread of the kernel, which has no arguments */
	struct facts_reading *r = path_len ? facts_read_command_line(t, tgid, text_max) : NULL;
	size_t line_sz = r ? r->sz : 0;
	struct process_facts *f = malloc(sizeof(*f) + path_sz + line_sz);

	if (f)
		*f = (struct process_facts){ .known = known,
					     .executable_sz = path_sz,
					     .command_line_sz = line_sz };
	if (f && known) {
		f->start_ns = facts_stat_start_ns(stat_line);
		f->parent = facts_status_number(status, "\nPPid:", 0);
		f->uid = facts_status_number(status, "\nUid:", 1);
		memcpy(f->text, path, path_sz);
		memcpy(f->text + path_sz, r ? r->text : "", line_sz);
	}
	free(r);
	return f;
}
