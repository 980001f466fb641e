/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logs what this machine, or this user, lacks. */
#ifndef CAPTURE_DIAGNOSE_H
#define CAPTURE_DIAGNOSE_H

#include <stdint.h>

/* Returns 0 if this user may record, or -EPERM after logging what is missing. */
int diagnose__rights(void);
/* Checks the machine before anything is loaded. Returns 0, or -errno after logging what is missing.
 */
int diagnose__start(void);
/* Logs why the kernel has refused the BPF programs. */
void diagnose__load(int err);
/* Logs why perf_event_open() has failed for `what`, and what to do about it. `rate`: Hz; 0: not
 * periodic. */
void diagnose__perf_event(int err, const char *what, uint64_t rate);

#endif
