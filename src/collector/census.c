// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/census.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "stacks/origin.h"

static int fail(int err)
{
	log__error("cannot start: %s", strerror(err));
	return -err;
}

int census__init(struct census *c)
{
	*c = (struct census){ .jobs = jobs__new() };
	if (c->jobs)
		c->processes = process_table__new(&(struct process_options){
			.jobs = c->jobs, .proc = "/proc", .identify = origin__of });
	return c->processes ? 0 : fail(errno);
}

static void *read_all(void *arg)
{
	struct census *c = arg;

	c->err = process_table__scan(c->processes);
	return NULL;
}

int census__begin(struct census *c)
{
	int err = thread__start_punctual(&c->reader, read_all, c);

	c->reading = !err;
	return err ? fail(err) : 0;
}

int census__end(struct census *c)
{
	if (c->reading)
		pthread_join(c->reader, NULL);
	c->reading = false;
	return c->err;
}

void census__stop(struct census *c)
{
	census__end(c);
	if (!jobs__free(c->jobs))
		log__warn("a file system does not answer: all is written, but this program ends "
			  "only when it does, or is unmounted by force");
	c->jobs = NULL;
}

void census__free(struct census *c)
{
	census__stop(c);
	process_table__free(c->processes);
	c->processes = NULL;
}
