// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/memoryparts.h"

#include <string.h>

/* After all parts of .anonymous_sz, these two come last. */
#define FLIGHT (MEMORY_PART_CNT - 2)
#define OTHER  (MEMORY_PART_CNT - 1)

/* Returns what no part counts. The parts may be larger: pages that were never written have no
 * memory, and .anonymous_sz is up to half a second old. */
static size_t memoryparts_other_sz(const struct memory_part *parts, size_t anonymous_sz)
{
	size_t counted = 0;

	for (size_t i = 0; i < FLIGHT; i++)
		counted += parts[i].sz;
	return anonymous_sz > counted ? anonymous_sz - counted : 0;
}

void memory_parts__get(struct memory_part out[MEMORY_PART_CNT], const struct session_totals *t,
		       const struct memory_stats *m, const struct recording *recording)
{
	struct recording_stats r;

	recording__stats(recording, &r);
	memcpy(out,
	       (const struct memory_part[MEMORY_PART_CNT]){
		       { "names", m->slot_sz[ELF_SLOT_SYMBOLS] },
		       { "rules", m->slot_sz[ELF_SLOT_UNWIND] },
		       { "tables", m->slot_sz[ELF_SLOT_TABLE] },
		       { "runtimes", m->runtimes_sz },
		       { "jit", m->jit_sz + t->unwinder.jit_cfi_sz },
		       { "kernel_names", t->kernel_names_sz },
		       { "unnamed", t->unnamed_sz },
		       { "waiting", t->deferred.sz },
		       { "process_table", t->processes.sz },
		       { "thread_table", t->threads_sz },
		       { "batch", r.batch_sz },
		       { "flight", r.flight.sz },
		       { "other", 0 },
	       },
	       MEMORY_PART_CNT * sizeof(*out));
	out[OTHER].sz = memoryparts_other_sz(out, m->anonymous_sz);
}
