/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the names of functions say of a thread that waits in them: the rules of model/waiting.h. */
#ifndef STACKSEXPORT_MODEL_WAITTRAITS_H
#define STACKSEXPORT_MODEL_WAITTRAITS_H

#include <stdint.h>

#include "stacksexport/duck/frames.h"

enum wait_trait {
	WAIT_SCHEDULES = 1 << 0,  /* on top of every wait: the scheduler, a cancellation point */
	WAIT_LIBC = 1 << 1,	  /* of the C or C++ library */
	WAIT_RUNTIME = 1 << 2,	  /* of these, or of what a language has for waiting */
	WAIT_UNNAMED = 1 << 3,	  /* has no symbol */
	WAIT_ROOT = 1 << 4,	  /* begins a thread */
	WAIT_PLUMBING = 1 << 5,	  /* what a program has for any kind of wait */
	WAIT_CAUSE = 1 << 6,	  /* waits for a lock, a timer or another process, not for work */
	WAIT_LOOP = 1 << 7,	  /* idle threads of a known runtime or program wait in it */
	WAIT_OUTER_LOOP = 1 << 8, /* a known loop, which also calls the functions that work */
	WAIT_LOOP_CALL = 1 << 9,  /* a call that only loops make, or that waits for an end */
	WAIT_POOL_CALL = 1 << 10, /* a condition variable, semaphore, futex or poll() */
};

/* Returns the traits of a function; `module` is without its folders. */
uint16_t wait_traits__of(struct frame_text name, struct frame_text module);

#endif
