/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the tests of user stacks in events: what a child reports about itself, and the ends of
 * stacks. */
#ifndef UNIT_CAPTURE_SCENE_H
#define UNIT_CAPTURE_SCENE_H

#include "lib/capture_take.h"

#include <pthread.h>
#include <sys/uio.h>

/* What a child reports about itself before it sleeps. */
struct scene {
	uint64_t top;	/* end of its stack */
	uint64_t base;	/* start of its stack, if the test allocated it */
	size_t depth;	/* bytes that it must use */
	size_t again;	/* how many more times it must use them */
	size_t missing; /* pages of them that are not in memory */
	pid_t tid;
};

static inline uint64_t page_sz(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

#define AWAKE_TRIES 1000 /* for a child that naps: it may be awake when it is visited */

/* Returns the bytes of glibc's thread descriptor below the thread pointer: all of it on AArch64,
 * none on x86-64. The kernel writes there which CPU the thread runs on (rseq). */
static inline size_t descriptor_sz(void)
{
	return (uintptr_t)__builtin_thread_pointer() - pthread_self();
}

/* Skips the first bytes, below the stack pointer of a child that keeps running. */
static inline void assert_same_memory(pid_t pid, const struct event *e, size_t skip)
{
	size_t descriptor = e->flags & EVENT_F_TRUNCATED ? 0 : descriptor_sz();
	size_t sz = e->ustack_sz - skip - descriptor;
	uint8_t *memory = malloc(sz);
	struct iovec local = { memory, sz };
	struct iovec remote = { (void *)(uintptr_t)(e->stack_addr + skip), sz };

	assert_non_null(memory);
	for (int i = 0; i < AWAKE_TRIES; i++) {
		assert_int_equal(process_vm_readv(pid, &local, 1, &remote, 1, 0), sz);
		if (memcmp(memory, event__ustack(e) + skip, sz) == 0)
			break;
		usleep(1000);
	}
	assert_memory_equal(memory, event__ustack(e) + skip, sz);
	free(memory);
}

static inline uint64_t end_of(const struct event *e)
{
	return e->stack_addr + e->ustack_sz;
}

/* mm->start_stack, which /proc shows as the 28th field of stat. */
static inline uint64_t start_stack(pid_t pid)
{
	char path[64], line[1024], *at;
	uint64_t value;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	at = strrchr(line, ')') + 1;
	for (int i = 3; i < 28; i++)
		at = strchr(at + 1, ' ');
	value = strtoull(at, NULL, 10);
	return value;
}

#endif
