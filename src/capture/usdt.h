/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probe usdt: programs and libraries with the provider stacks_tracing. */
#ifndef CAPTURE_USDT_H
#define CAPTURE_USDT_H

#include "capture/probe.h"

struct usdt;
struct collector_bpf;

/*
 * Reads the notes of each file that one of the choices names; others are passed over. Without any,
 * there is a usdt that does nothing. NULL + errno after saying what is wrong with which file.
 */
struct usdt *usdt__new(const struct probe_choice *, size_t cnt);
/* Before the programs are loaded: sizes and constants. `multi`: the kernel attaches a program to
 * many places at a time. 0 or -errno. */
int usdt__prepare(struct usdt *, struct collector_bpf *, bool multi);
/* Every process that maps one of the files, now or later. 0 or -errno, said. */
int usdt__attach(struct usdt *, struct collector_bpf *);
/* Waits half a second for the kernel to detach; then a thread goes on with it. */
void usdt__free(struct usdt *);

#endif
