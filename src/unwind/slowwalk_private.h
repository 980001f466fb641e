/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the slow walk: addresses, rules of a place, and the step to a caller. */
#ifndef UNWIND_SLOWWALK_PRIVATE_H
#define UNWIND_SLOWWALK_PRIVATE_H

#include "cfi/libdwrules.h"
#include "elf/code.h"
#include "unwind/slowwalk.h"

#define SLOWWALK_STAY (UNWIND_STATUS_CNT + 1) /* result of a method: it does not apply */

#define ADDRESS_MIN 0x10000 /* vm.mmap_min_addr's default */

static inline uint64_t slowwalk__snapshot_end(const struct slowwalk *w)
{
	return w->stack->addr + w->stack->sz;
}

/* Includes the bytes before the snapshot that the leaf has not touched yet. */
static inline bool slowwalk__in_snapshot(const struct slowwalk *w, uint64_t sp)
{
	return sp - w->low <= slowwalk__snapshot_end(w) - w->low;
}

/* Returns whether the page was not in memory: a page between others, or the stack pointer's own
 * page (while the kernel copies it at the first write after a fork). */
static inline bool slowwalk__lacks(const struct slowwalk *w, uint64_t addr)
{
	return slowwalk__in_snapshot(w, addr) &&
	       ((addr < w->stack->addr && w->stack->sz) || snapshot__lacks(w->stack, addr));
}

static inline bool slowwalk__is_stack_like(const struct slowwalk *w, uint64_t addr)
{
	return addr % 8 == 0 && addr >= ADDRESS_MIN && addr < slowwalk__machine(w)->stack_end;
}

/* Returns the rules for a frame's place and sets its link-time address; NULL: there are none. */
struct libdw_rules *slowwalk__find_cfi(struct slowwalk *, const struct frame *, uint64_t *vaddr);

/* Returns what `is` returns for the code before an address, or `other` if there is no file. */
bool slowwalk__is_behind(struct slowwalk *, uint64_t addr, cfi_text_fn is, bool other);

/* Makes the caller the current frame. Returns SLOWWALK_GO_ON. */
enum unwind_status slowwalk__return_to(struct slowwalk *, uint64_t pc, uint64_t sp);

#endif
