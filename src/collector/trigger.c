// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/trigger.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"

#define EVERY_NS 1000000000

/* What the job reads. */
struct machine_use {
	uint64_t busy, all; /* ticks of all CPUs since the boot */
	uint64_t memory_sz; /* of the largest process */
	uint64_t pid;	    /* of that process */
};

struct trigger {
	struct condition *conditions;
	size_t cnt;
	struct jobs *jobs;
	struct trigger_job *job; /* the running job, or NULL */
	struct machine_use before;
	uint64_t asked_ns;
	bool fired; /* since the last tick */
};

struct trigger_job {
	struct job job;
	struct trigger *owner;
	bool wants_memory;
	struct machine_use use;
};

static bool trigger_wants(const struct trigger *t, enum condition_of of)
{
	for (size_t i = 0; i < t->cnt; i++)
		if (t->conditions[i].of == of)
			return true;
	return false;
}

struct trigger *trigger__new(struct jobs *jobs)
{
	struct trigger *t = calloc(1, sizeof(*t));

	if (t)
		t->jobs = jobs;
	return t;
}

void trigger__free(struct trigger *t)
{
	free(t);
}

void trigger__watch(struct trigger *t, struct condition *conditions, size_t cnt,
		    struct session *session)
{
	uint64_t span_ns = UINT64_MAX;

	t->conditions = conditions;
	t->cnt = cnt;
	for (size_t i = 0; i < cnt; i++)
		if (conditions[i].of == CONDITION_SPAN && conditions[i].above < span_ns)
			span_ns = conditions[i].above;
	session__watch_spans(session, span_ns);
}

/* ---- reading /proc, in a job --------------------------------------------------------------------
 */

static void trigger_use_read_cpus(struct machine_use *u)
{
	uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
	FILE *f = fopen("/proc/stat", "re");

	if (f && fscanf(f, "cpu %lu %lu %lu %lu %lu %lu %lu %lu", &user, &nice, &system, &idle,
			&iowait, &irq, &softirq, &steal) == 8) {
		u->busy = user + nice + system + irq + softirq + steal;
		u->all = u->busy + idle + iowait;
	}
	if (f)
		fclose(f);
}

static uint64_t trigger_process_memory_sz(uint64_t pid)
{
	uint64_t pages = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%lu/statm", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void trigger_use_read_memory(struct machine_use *u)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;

	while (proc && (entry = readdir(proc)) != NULL) {
		uint64_t pid, sz = 0;

		if (parse__u64(entry->d_name, &pid) == 0)
			sz = trigger_process_memory_sz(pid);
		if (sz > u->memory_sz) {
			u->memory_sz = sz;
			u->pid = pid;
		}
	}
	if (proc)
		closedir(proc);
}

static void trigger_work(struct job *job)
{
	struct trigger_job *j = (struct trigger_job *)(void *)job;

	trigger_use_read_cpus(&j->use);
	if (j->wants_memory)
		trigger_use_read_memory(&j->use);
}

/* ---- conditions ---------------------------------------------------------------------------------
 */

/* Returns the percentage in use since the last reading. The first one knows none. */
static uint64_t trigger_cpu_percent(const struct trigger *t, const struct machine_use *u)
{
	uint64_t all = u->all - t->before.all;

	if (!t->before.all || u->all <= t->before.all || u->busy < t->before.busy)
		return 0;
	return (u->busy - t->before.busy) * 100 / all;
}

static void trigger_judge(struct trigger *t, const struct machine_use *u)
{
	uint64_t percent = trigger_cpu_percent(t, u);

	for (size_t i = 0; i < t->cnt; i++) {
		struct condition *c = &t->conditions[i];

		if (c->of == CONDITION_CPU && condition__fires(c, percent, t->asked_ns)) {
			t->fired = true;
			log__info("--when: the CPUs are used by %lu %%", percent);
		}
		if (c->of == CONDITION_MEMORY && condition__fires(c, u->memory_sz, t->asked_ns)) {
			t->fired = true;
			log__info("--when: process %lu has %lu MB of memory", u->pid,
				  u->memory_sz >> 20);
		}
	}
	t->before = *u;
}

static void trigger_done(struct job *job)
{
	struct trigger_job *j = (struct trigger_job *)(void *)job;
	struct trigger *t = j->owner;

	t->job = NULL;
	if (j->use.all)
		trigger_judge(t, &j->use);
	free(j);
}

static void trigger_measure(struct trigger *t, uint64_t now_ns)
{
	bool memory = trigger_wants(t, CONDITION_MEMORY);
	struct trigger_job *j;

	if (t->job || now_ns - t->asked_ns < EVERY_NS ||
	    !(memory || trigger_wants(t, CONDITION_CPU)))
		return;
	j = calloc(1, sizeof(*j));
	if (!j)
		return;
	t->job = j;
	t->asked_ns = now_ns;
	j->owner = t;
	j->wants_memory = memory;
	j->job = (struct job){ .rank = JOB_LAST, .work = trigger_work, .done = trigger_done };
	jobs__submit(t->jobs, &j->job);
}

bool trigger__tick(struct trigger *t, struct session *s, uint64_t now_ns)
{
	uint64_t slow_ns;
	bool fired;

	trigger_measure(t, now_ns);
	slow_ns = session__take_slow_span(s);
	if (slow_ns)
		log__info("--when: a span took %.3f s", (double)slow_ns / 1e9);
	fired = t->fired || slow_ns;
	t->fired = false;
	return fired;
}
