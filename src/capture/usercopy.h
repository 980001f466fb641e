/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels in which a copy from user memory can lock up the machine. With CONFIG_HARDENED_USERCOPY
 * such a copy checks its destination. From 0aef499f3172 ("mm/usercopy: Detect vmalloc
 * overruns", 5.19) on it looks up memory from vmalloc under a spinlock: copy_from_user_nofault ->
 * __check_object_size -> find_vmap_area. d319f344561d ("mm: Fix copy_from_user_nofault()", 6.4, and
 * stable kernels since) ends that for BPF programs. Without this fix, two cases may hang forever:
 *
 * - A sample that interrupts the holder of the lock on its own CPU.
 *
 * - A switch. A spinlock keeps its holder from being preempted, also at the end of an interrupt.
 * But the program itself runs with the run queue of this CPU locked, and waits for a holder on
 * another CPU. An interrupt there may delay the holder while it waits for this run queue, to wake a
 * thread.
 *
 * BPF maps, except small ones, are from vmalloc. On such a kernel, user memory is therefore read
 * into a small map and copied from there: no stack is lost, and our programs need not know which
 * locks are held where they run.
 */
#ifndef CAPTURE_USERCOPY_H
#define CAPTURE_USERCOPY_H

#include <stdbool.h>

#include "base/ksyms.h"

struct features;

#define USERCOPY_CODE_MAX 2048

/* The code of a kernel function, as it is in memory. */
struct usercopy_code {
	uint64_t addr;
	size_t sz;
	uint8_t bytes[USERCOPY_CODE_MAX];
};

enum { USERCOPY_COPY, USERCOPY_CHECK, USERCOPY_LOOK_UP, USERCOPY_SYM_CNT };

/* The addresses of the functions, from the kernel's symbols, and the offset of pagefault_disabled
 * in task_struct, from its types. */
struct usercopy_places {
	struct ksym syms[USERCOPY_SYM_CNT];
	uint32_t disabled_off;
};

/* Returns true if this code takes the lock. A fixed kernel first checks whether the task has page
 * faults disabled, as copy_from_user_nofault() does. */
bool usercopy__takes_lock(const struct usercopy_code *copy, const struct usercopy_code *check,
			  const struct usercopy_places *);

/* Returns 1 if the running kernel takes the lock, 0 if not, or -errno if that cannot be determined.
 */
int usercopy__test(struct features *);

#endif
