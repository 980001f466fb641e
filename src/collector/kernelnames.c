// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/kernelnames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct kernel_names {
	struct job job;
	struct kallsyms *syms;
	int err;
	bool ready;
	struct stacks *stacks;
};

static void work(struct job *job)
{
	struct kernel_names *k = (struct kernel_names *)job;

	k->syms = kallsyms__new("/proc/kallsyms");
	k->err = k->syms ? 0 : errno;
}

static void done(struct job *job)
{
	struct kernel_names *k = (struct kernel_names *)job;

	if (k->err)
		log__warn("kernel frames will have no names: /proc/kallsyms: %s%s",
			  strerror(k->err),
			  k->err == EPERM ? " (needs CAP_SYSLOG, or sysctl kernel.kptr_restrict=0)"
					  : "");
	k->ready = true;
	stacks__set_kernel(k->stacks, k->syms);
}

struct kernel_names *kernel_names__new(struct jobs *jobs, struct stacks *stacks)
{
	struct kernel_names *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	/* A lane of its own: of no device. */
	k->job = (struct job){
		.rank = JOB_FIRST, .slow = true, .lane = UINT64_MAX, .work = work, .done = done
	};
	k->stacks = stacks;
	jobs__submit(jobs, &k->job);
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
	return k->ready;
}
