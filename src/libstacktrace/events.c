// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/monotonic.h"
#include "libstacktrace/tracker.h"

/* Applies the record to the tables of process `pid`, stamped with the present time. Returns 0, or
 * -EINVAL if `pid` is not positive. */
static int events_apply(stacktrace_tracker *t, struct record *r, pid_t pid)
{
	if (pid <= 0)
		return -EINVAL;
	r->tgid = r->tid = (uint32_t)pid;
	tracker__lock(t);
	r->time_ns = monotonic__ns();
	process_table__apply(t->processes, r);
	dump_paths__apply(t->dump_paths, r);
	tracker__unlock(t);
	return 0;
}

API int stacktrace_map(stacktrace_tracker *t, pid_t pid, const struct stacktrace_mapping *m)
{
	struct record r = { .type = RECORD_MMAP };

	if (m->size == 0 || m->size > UINT64_MAX - m->start || !m->path)
		return -EINVAL;
	r.mmap = (struct record_mmap){ .start = m->start,
				       .len = m->size,
				       .pgoff = m->offset,
				       .prot = PROT_READ | PROT_EXEC,
				       .maj = m->major,
				       .min = m->minor,
				       .ino = m->inode,
				       .path = m->path };
	if (m->build_id)
		r.mmap.build_id.sz =
			m->build_id_size < BUILD_ID_MAX ? (uint8_t)m->build_id_size : BUILD_ID_MAX;
	if (m->build_id)
		memcpy(r.mmap.build_id.bytes, m->build_id, r.mmap.build_id.sz);
	return events_apply(t, &r, pid);
}

API int stacktrace_fork(stacktrace_tracker *t, pid_t parent, pid_t child)
{
	struct record r = { .type = RECORD_FORK };

	if (parent <= 0 || parent == child)
		return -EINVAL;
	r.fork.parent_tgid = r.fork.parent_tid = (uint32_t)parent;
	return events_apply(t, &r, child);
}

API int stacktrace_exec(stacktrace_tracker *t, pid_t pid)
{
	struct record r = { .type = RECORD_COMM, .comm = { "", true } };

	return events_apply(t, &r, pid);
}

API int stacktrace_exit(stacktrace_tracker *t, pid_t pid)
{
	struct record r = { .type = RECORD_EXIT };

	return events_apply(t, &r, pid);
}

API int stacktrace_overlay(stacktrace_tracker *t, pid_t pid, const char *at, const char *from)
{
	int err;

	if (pid <= 0 || at[0] != '/' || from[0] != '/')
		return -EINVAL;
	tracker__lock(t);
	err = process_table__overlay(t->processes, (uint32_t)pid, at, from);
	tracker__unlock(t);
	return err;
}

API int stacktrace_scan(stacktrace_tracker *t)
{
	int err;

	tracker__lock(t);
	err = process_table__scan(t->processes);
	process_table__open(t->processes);
	tracker__unlock(t);
	return err;
}

API bool stacktrace_knows(stacktrace_tracker *t, pid_t pid)
{
	bool known;

	tracker__lock(t);
	known = pid > 0 && process_table__find(t->processes, (uint32_t)pid);
	tracker__unlock(t);
	return known;
}
