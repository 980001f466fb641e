/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A perf event on each CPU that runs a BPF program, so many times a second or once in so many
 * events. */
#ifndef CAPTURE_SAMPLER_H
#define CAPTURE_SAMPLER_H

#include <stdint.h>

struct bpf_program;
struct sampler;

/* `rate`: what the probe's parameter is, HZ or 1 of N. NULL + errno. */
struct sampler *sampler__new(struct bpf_program *, uint64_t rate);
void sampler__free(struct sampler *);
/*
 * Opens an event on each CPU that has come online since the last call, and closes those of CPUs
 * that went. 0, or -errno after saying what is missing.
 */
int sampler__update(struct sampler *);

#endif
