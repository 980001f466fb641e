/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a BPF program by a perf event on each CPU, a number of times per second or once per number
 * of events. */
#ifndef CAPTURE_SAMPLER_H
#define CAPTURE_SAMPLER_H

#include <stdint.h>

struct bpf_program;
struct sampler;

/* `rate` is the probe's parameter: HZ, or 1 of N. Returns NULL and sets errno on failure. */
struct sampler *sampler__new(struct bpf_program *, uint64_t rate);
void sampler__free(struct sampler *);
/*
 * Opens an event on each CPU that has come online since the last call, and closes those of CPUs
 * that went offline. Returns 0, or -errno after logging what is missing.
 */
int sampler__update(struct sampler *);

#endif
