/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the probe usdt, for programs and libraries with the provider stacks_tracing. */
#ifndef CAPTURE_USDT_H
#define CAPTURE_USDT_H

#include "capture/probe.h"

struct usdt;
struct workers; /* worker/workers.h */
struct collector_bpf;

/*
 * Reads the notes of each file that a usdt choice names; ignores other choices. Without any,
 * returns a usdt that does nothing. Returns NULL and sets errno after logging what is wrong with
 * which file.
 */
struct usdt *usdt__new(struct workers *, const struct probe_choice *, size_t cnt);
/* Sets sizes and constants. Call before the programs are loaded. `multi`: the kernel attaches a
 * program to many places at a time. Returns 0 or -errno. */
int usdt__prepare(struct usdt *, struct collector_bpf *, bool multi);
/* Attaches to every process that maps one of the files, now or later; see uprobes__attach().
 * Returns 0 or -errno (already logged). */
int usdt__attach(struct usdt *, struct collector_bpf *);
/* Begins to detach and waits half a second. Returns false if the kernel has not detached by then.
 * Accepts NULL. */
bool usdt__detach(struct usdt *);
/* Waits until the kernel has detached, without a limit. The programs must still be loaded. Accepts
 * NULL. */
void usdt__free(struct usdt *);

#endif
