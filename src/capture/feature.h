/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this kernel can, by trying and by its types (BTF); never by its version number. */
#ifndef CAPTURE_FEATURE_H
#define CAPTURE_FEATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "capture/preempt.h"
#include "capture/probe.h"

struct features;
struct bpf_object;
struct bpf_program;

/* The kernel's types are read when a question needs them. NULL + errno. */
struct features *features__new(void);
void features__free(struct features *);

/* 0, or why answers are not to be believed: the types could not be read. That has been said. */
int features__err(const struct features *);

/* Of a kernel that refuses the programs: whether it is too old for any of them. Says so. */
bool features__too_old(struct features *);

/* Whether the kernel has what the program hooks into. */
bool features__has_hook(struct features *, const struct bpf_program *);

/* Whether a program is left out where the kernel lacks what it needs; then the probe does without.
 */
bool features__leaves_out(struct features *, const struct bpf_program *);

/* Whether one link can attach a program to many user-space places (6.6). Without, each takes a file
 * descriptor; and where newer kernels do it one by one, detaching takes 0.1 s for each. */
bool features__uprobe_multi(struct features *);

/* False: not known; then the probes that need it are refused. */
bool features__preempt_count(struct features *, struct preempt_count *);

/* Returns the offset of a member of a struct in bytes; -1 if the kernel has no such member. */
int64_t features__member(struct features *, const char *type, const char *name);

/* The number of arguments of a tracepoint, without the program's context; 0: there is no such. */
size_t features__tracepoint_args(struct features *, const char *name);

/* The number of arguments of a function of the kernel; 0: there is no such. */
size_t features__function_args(struct features *, const char *name);

/*
 * The first of the probe's ways (NULL where it has none) that the kernel can: 0, or -ENOTSUP, for
 * what the first of them lacks.
 */
int features__choose(struct features *, const struct bpf_object *, const struct probe *,
		     const char **way);

/* What was missing last: with the version that it came with, the option that it is built with. */
const char *features__why(const struct features *);

/* Is the program one of the probe, and of that way? A program name is PROBE__HOOK or
 * PROBE__WAY__HOOK, PROBE__any__HOOK for all ways. */
bool program__is_of(const char *program, const struct probe *, const char *way);

#endif
