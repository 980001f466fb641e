/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs calls that may never return; the caller waits for a limited time. For example, reading
 * /proc/PID/maps takes the lock of the process's address space. The process can hold that lock for
 * any time, in mmap(2) of a file, if its FUSE server does not answer.
 */
#ifndef BASE_ERRAND_H
#define BASE_ERRAND_H

#include <stdbool.h>
#include <stdint.h>

struct errand {
	void (*run)(struct errand *);  /* in another thread; touches only the errand */
	void (*drop)(struct errand *); /* frees the errand; in either thread */
	/*
	 * Returns an id of the user that is responsible if `run` does not return. The caller's
	 * thread calls it, and only while errands of some user hang.
	 */
	uint64_t (*user)(const struct errand *);
	uint64_t user_id; /* private */
};

struct errands;

struct errands *errands__new(void); /* Returns NULL with errno set on failure. */
/* Accepts NULL. Abandons threads that hang; the kernel ends them with the process. */
void errands__free(struct errands *);

/*
 * Runs the errand in another thread and waits for it: at most half a second, or 20 ms after waits
 * of one second in sum (a sixteenth of the time is forgiven). Returns true if it has run; the
 * caller owns it again. Returns false, and drops the errand, now or when `run` returns, if it did
 * not return in time, or if an errand of the same user hangs or returned late less than 30 s ago.
 * At most 64 users can have an errand that hangs; then all errands fail. If `errands` is NULL,
 * the caller's thread runs it. One thread at a time may call this.
 */
bool errands__run(struct errands *errands, struct errand *);

#endif
