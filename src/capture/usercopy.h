/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels in which a copy from user memory can lock up the machine. With CONFIG_HARDENED_USERCOPY
 * it looks at where it copies to; from 0aef499f3172 ("mm/usercopy: Detect vmalloc overruns", 5.19)
 * on it looks memory from vmalloc up, under a spinlock: copy_from_user_nofault ->
 * __check_object_size -> find_vmap_area. d319f344561d ("mm: Fix copy_from_user_nofault()", 6.4, and
 * stable kernels since) ends that for BPF programs. Until then both of these may hang for good:
 *
 * - A sample that interrupts the holder of the lock on its own CPU.
 *
 * - A switch. A spinlock keeps its holder from being preempted, at the end of an interrupt too. But
 *   the program itself runs with the run queue of this CPU locked, and waits for a holder on
 * another CPU. An interrupt there may delay the holder while it waits for this run queue, to wake a
 * thread.
 *
 * BPF maps are from vmalloc, but for small ones. So on such a kernel user memory is read into a
 * small map, and from there to where it belongs: no stack is lost, and no program of ours needs to
 * think about which locks are held where it runs.
 */
#ifndef CAPTURE_USERCOPY_H
#define CAPTURE_USERCOPY_H

#include <stdbool.h>

#include "capture/ksyms.h"

struct features;

#define USERCOPY_CODE_MAX 2048

/* A function of the kernel, as it is in memory. */
struct usercopy_code {
	uint64_t addr;
	size_t sz;
	uint8_t bytes[USERCOPY_CODE_MAX];
};

enum { USERCOPY_COPY, USERCOPY_CHECK, USERCOPY_LOOK_UP, USERCOPY_SYM_CNT };

/* What the kernel's symbols and types say: where the functions are, and the offset of
 * pagefault_disabled in task_struct. */
struct usercopy_places {
	struct ksym syms[USERCOPY_SYM_CNT];
	uint32_t disabled_off;
};

/* Returns whether this code takes the lock. A fixed kernel looks first whether the task has page
 * faults disabled, as copy_from_user_nofault() does. */
bool usercopy__takes_lock(const struct usercopy_code *copy, const struct usercopy_code *check,
			  const struct usercopy_places *);

/* Returns whether the running kernel does: 1, 0, or -errno if that cannot be seen. */
int usercopy__test(struct features *);

#endif
