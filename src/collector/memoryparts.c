// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/memoryparts.h"

#include <string.h>

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
		       { "waiting", t->deferred.sz },
		       { "process_table", t->processes.sz },
		       { "thread_table", t->threads_sz },
		       { "batch", r.batch_sz },
		       { "flight", r.flight.sz },
	       },
	       MEMORY_PART_CNT * sizeof(*out));
}
