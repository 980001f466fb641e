// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/slowwalk_state.h"

/* Like slowwalk__find_cfi(), for generated code; addresses are those of the process. */
static struct libdw_rules *slowwalk_find_jit_cfi(const struct slowwalk *w, const struct frame *f,
						 uint64_t *vaddr)
{
	struct jit_place place = { w->process->tgid, frame__place(f), w->sample->time_ns };
	struct elf_file *file;

	if (f->map->kind != MAPPING_ANON || !w->jit)
		return NULL;
	*vaddr = f->pc;
	if (!place.time_ns)
		place.time_ns = UINT64_MAX;
	file = jit_cfi__find(w->jit, &place, w->jobs);
	return file && file->machine == slowwalk__machine(w) ? libdw_rules__of(file, NULL) : NULL;
}

struct libdw_rules *slowwalk__find_cfi(struct slowwalk *w, const struct frame *f, uint64_t *vaddr)
{
	const struct mapping *m = f->map;
	bool caller = f->flags & FRAME_CALLER;

	w->awaits |= m->opening != NULL;
	if (!m->file)
		return slowwalk_find_jit_cfi(w, f, vaddr);
	if (m->file->machine != slowwalk__machine(w) ||
	    !elf_file__vaddr(m->file, frame__place(f) - m->start + m->pgoff, vaddr))
		return NULL;
	*vaddr += caller;
	return libdw_rules__of(m->file, w->jobs);
}

bool slowwalk__is_behind(struct slowwalk *w, uint64_t addr, cfi_text_fn is, bool other)
{
	struct frame caller = { addr, .map = slowwalk__map(w, addr - 1), .flags = FRAME_CALLER };
	struct libdw_rules *cfi;
	uint64_t vaddr;
	bool found;

	if (!caller.map)
		return false;
	w->awaits |= caller.map->opening != NULL;
	cfi = caller.map->file ? slowwalk__find_cfi(w, &caller, &vaddr) : NULL;
	found = cfi ? libdw_rules__code(cfi, vaddr, is) : other;
	w->awaits |= cfi && libdw_rules__awaits(cfi);
	return found;
}

enum unwind_status slowwalk__return_to(struct slowwalk *w, uint64_t pc, uint64_t sp)
{
	w->flags = FRAME_CALLER;
	w->regs.v[slowwalk__machine(w)->pc] = pc;
	w->regs.v[slowwalk__machine(w)->sp] = sp;
	if (machine__links(slowwalk__machine(w)))
		w->regs.valid &= ~(1ull << slowwalk__machine(w)->ra);
	return SLOWWALK_GO_ON;
}
