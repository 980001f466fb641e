// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/monotonic.h"
#include "libstacktrace/tracker.h"
#include "symbol/symbol.h"

static void places_find_symbol(const struct mapping *m, struct stacktrace_place *p)
{
	struct symbol s;

	if (!m->file || !elf_file__vaddr(m->file, p->file_offset, &p->elf_address) ||
	    !elf_file__symbol(m->file, p->elf_address, &s))
		return;
	p->symbol_start = s.address;
	snprintf(p->symbol, sizeof(p->symbol), "%s", s.name);
}

/* Fills the symbol of JIT-compiled code from the current perf map or jitdump of the process. */
static void places_find_jit_symbol(stacktrace_tracker *t, uint32_t tgid, uint64_t address,
				   struct stacktrace_place *p)
{
	struct jit_place at = { tgid, address, t->jit_root ? UINT64_MAX : monotonic__ns() };
	struct jit_symbol s;

	if (jit__name(t->jit, &at, NULL, &s) != JIT_NAMED)
		return;
	p->symbol_start = s.start;
	snprintf(p->symbol, sizeof(p->symbol), "%.*s", (int)sizeof(p->symbol) - 1, s.name);
}

static void places_describe(const struct mapping *m, uint64_t address, struct stacktrace_place *p)
{
	p->start = m->start;
	p->end = m->end;
	p->file_offset = address - m->start + m->pgoff;
	p->build_id_size = m->build_id.sz;
	memcpy(p->build_id, m->build_id.bytes, m->build_id.sz);
	snprintf(p->module, sizeof(p->module), "%s", m->path);
	places_find_symbol(m, p);
}

API int stacktrace_find(stacktrace_tracker *t, pid_t pid, uint64_t address,
			struct stacktrace_place *place)
{
	const struct process *p;
	const struct mapping *m;

	place->start = place->end = place->file_offset = 0;
	place->elf_address = place->symbol_start = 0;
	place->build_id_size = 0;
	place->module[0] = place->symbol[0] = '\0';
	tracker__lock(t);
	p = pid > 0 ? process_table__find(t->processes, (uint32_t)pid) : NULL;
	m = p ? process__find(p, address) : NULL;
	if (m)
		places_describe(m, address, place);
	if (m && m->kind == MAPPING_ANON)
		places_find_jit_symbol(t, (uint32_t)pid, address, place);
	tracker__unlock(t);
	return m ? 0 : -ENOENT;
}
