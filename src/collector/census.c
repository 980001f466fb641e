// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/census.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "base/thread.h"
#include "stacks/origin.h"
#include "collector/privileges.h"

#define RUNTIMES_WAIT_NS 500000000 /* for processes that do not respond when they are examined */
#define RUNTIMES_STEP_NS 2000000

static int census_fail(int err)
{
	log__error("cannot start: %s", strerror(err));
	return -err;
}

/* Creates the jobs in this thread, because workers have the rights of the thread that starts them,
 * and the priority of the thread that creates them. */
static void *census_make_jobs(void *arg)
{
	struct census *c = arg;

	privileges__limit_reader();
	priority__punctual();
	c->jobs = jobs__new();
	c->err = c->jobs ? 0 : errno;
	return NULL;
}

static int census_start_jobs(struct census *c)
{
	int err = thread__start(&c->reader, census_make_jobs, c);

	if (err)
		return err;
	pthread_join(c->reader, NULL);
	err = c->err;
	c->err = 0;
	return err;
}

int census__init(struct census *c)
{
	int err;

	*c = (struct census){ 0 };
	err = census_start_jobs(c);
	if (err)
		return census_fail(err);
	if (c->jobs)
		c->processes = process_table__new(&(struct process_options){
			.jobs = c->jobs, .proc = "/proc", .identify = origin__of });
	return c->processes ? 0 : census_fail(errno);
}

static void *census_read_all(void *arg)
{
	struct census *c = arg;

	privileges__limit_reader();
	c->err = process_table__scan(c->processes);
	return NULL;
}

int census__begin(struct census *c)
{
	int err = thread__start_punctual(&c->reader, census_read_all, c);

	c->reading = !err;
	return err ? census_fail(err) : 0;
}

int census__end(struct census *c)
{
	if (c->reading)
		pthread_join(c->reader, NULL);
	c->reading = false;
	return c->err;
}

static void census_look_at(const struct process *p, void *runtimes)
{
	runtimes__look(runtimes, p);
}

void census__find_runtimes(struct census *c, struct runtimes *runtimes)
{
	uint64_t until_ns = monotonic__ns() + RUNTIMES_WAIT_NS;

	process_table__each(c->processes, census_look_at, runtimes);
	while (runtimes__is_looking(runtimes) && monotonic__ns() < until_ns)
		jobs__wait(c->jobs, RUNTIMES_STEP_NS);
}

void census__stop(struct census *c)
{
	census__end(c);
	if (!jobs__free(c->jobs))
		log__warn("a file system does not answer: the recording is complete, but a child "
			  "process remains until the file system answers or is unmounted by force");
	c->jobs = NULL;
}

void census__free(struct census *c)
{
	census__stop(c);
	process_table__free(c->processes);
	c->processes = NULL;
}
