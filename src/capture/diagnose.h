/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says in words what this machine, or this user, lacks. */
#ifndef CAPTURE_DIAGNOSE_H
#define CAPTURE_DIAGNOSE_H

#include <stdint.h>

/* Whether this user may record: 0, or -EPERM after saying what is missing. */
int diagnose__rights(void);
/* Before anything is loaded: 0, or -errno after saying what is missing. */
int diagnose__start(void);
/* After the kernel has refused the BPF programs. */
void diagnose__load(int err);
/* After perf_event_open() has failed. */
void diagnose__perf_event(int err, const char *program, uint64_t rate);

#endif
