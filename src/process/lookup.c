// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/lookup.h"

#include "base/search.h"
#include "process/image.h"
#include "process/openjob.h"

_Static_assert(IMAGE_HINTS == 1 << (64 - 57), "process__hint() returns one of all hints");

struct process process__keep(const struct process *p)
{
	struct process kept = *p;

	image__get(kept.image);
	open_job__get(kept.exe);
	return kept;
}

void process__drop(struct process *p)
{
	image__put(p->image);
	open_job__put(p->exe);
	*p = (struct process){ 0 };
}

bool process__named(struct process *p)
{
	if (!p->exe)
		return true;
	if (!open_job__start(p->exe))
		return false;
	if (p->exe->file)
		p->build_id = p->exe->file->build_id;
	open_job__put(p->exe);
	p->exe = NULL;
	return true;
}

bool process__settled(struct process *p)
{
	bool all = process__open(p);

	return process__named(p) && all;
}

bool process__open(const struct process *p)
{
	bool all = true;

	for (size_t i = 0; i < p->map_cnt; i++)
		all &= mapping__open(&p->maps[i]);
	return all;
}

const struct mapping *process__search(const struct process *p, uint64_t addr)
{
	size_t lo = SEARCH_COUNT(p->maps, p->map_cnt, m, m->end <= addr);

	if (lo == p->map_cnt || p->maps[lo].start > addr)
		return NULL;
	if (__builtin_expect(p->maps[lo].opening != NULL, 0))
		mapping__open(&p->maps[lo]);
	if (p->hints)
		*process__hint(p, addr) = (uint16_t)lo;
	return &p->maps[lo];
}
