// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacks/kernelnames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct kernel_names {
	struct kallsyms *syms;
	bool ready;
	struct stacks *stacks;
};

struct kernelnames_reading {
	struct job job;
	struct kallsyms *syms;
	int err;
	struct kernel_names *names; /* only while there are jobs */
};

static void kernelnames_work(struct job *job)
{
	struct kernelnames_reading *r = (struct kernelnames_reading *)job;

	r->syms = kallsyms__new("/proc/kallsyms");
	r->err = r->syms ? 0 : errno;
}

static void kernelnames_done(struct job *job)
{
	struct kernelnames_reading *r = (struct kernelnames_reading *)job;
	struct kernel_names *k = r->names;

	if (r->err)
		log__warn("kernel frames will have no names: /proc/kallsyms: %s%s",
			  strerror(r->err),
			  r->err == EPERM ? " (needs CAP_SYSLOG, or sysctl kernel.kptr_restrict=0)"
					  : "");
	k->ready = true;
	k->syms = r->syms;
	stacks__set_kernel(k->stacks, k->syms);
	free(r);
}

struct kernel_names *kernel_names__new(struct jobs *jobs, struct stacks *stacks)
{
	struct kernel_names *k = calloc(1, sizeof(*k));
	struct kernelnames_reading *r = k ? calloc(1, sizeof(*r)) : NULL;

	if (!r) {
		free(k);
		return NULL;
	}
	k->stacks = stacks;
	r->names = k;
	/* a separate lane, which belongs to no device */
	r->job = (struct job){ .rank = JOB_FIRST,
			       .slow = true,
			       .lane = UINT64_MAX,
			       .work = kernelnames_work,
			       .done = kernelnames_done };
	jobs__submit(jobs, &r->job);
	return k;
}

void kernel_names__free(struct kernel_names *k)
{
	if (!k)
		return;
	kallsyms__free(k->syms);
	free(k);
}

bool kernel_names__ready(const struct kernel_names *k)
{
	return !k || k->ready;
}
