/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds out what this kernel supports, by trying and from its types (BTF); never from its version
 * number. */
#ifndef CAPTURE_FEATURE_H
#define CAPTURE_FEATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "capture/preempt.h"
#include "capture/probe.h"

struct features;
struct bpf_object;
struct bpf_program;

/* Reads the kernel's types when a query needs them. Returns NULL and sets errno on failure. */
struct features *features__new(void);
void features__free(struct features *);

/* Returns 0, or -errno (already logged) if the types could not be read: other results are then
 * meaningless. */
int features__err(const struct features *);

/* Call it after the kernel has refused the programs. Returns true, and logs it, if the kernel is
 * too old for any of them. */
bool features__too_old(struct features *);

/* Returns true if the kernel has what the program hooks into. */
bool features__has_hook(struct features *, const struct bpf_program *);

/* Returns true if the probe can do without the program, and the kernel lacks what the program
 * needs. */
bool features__leaves_out(struct features *, const struct bpf_program *);

/* Returns true if one link can attach a program to many user-space places (Linux 6.6). Otherwise
 * each place takes a file descriptor; newer kernels take 0.1 s to detach each of them. */
bool features__uprobe_multi(struct features *);

/* Returns false if it is unknown; the probes that need it are then refused. */
bool features__preempt_count(struct features *, struct preempt_count *);

/* Returns the offset of a member of a struct in bytes; -1 if the kernel has no such member. */
int64_t features__member(struct features *, const char *type, const char *name);

/* Returns the number of arguments of a tracepoint, without the program's context; 0 if there is no
 * such tracepoint. */
size_t features__tracepoint_args(struct features *, const char *name);

/* Returns the number of arguments of a kernel function; 0 if there is no such function. */
size_t features__function_args(struct features *, const char *name);

/*
 * Chooses the first of the probe's ways that the kernel supports (NULL if the probe has no ways).
 * Returns 0, or -ENOTSUP; features__why() then returns what the first way lacks.
 */
int features__choose(struct features *, const struct bpf_object *, const struct probe *,
		     const char **way);

/* Returns what was missing last, with the version that introduced it or the option that enables it.
 */
const char *features__why(const struct features *);

/* Returns true if the program belongs to the probe and the way. Programs are named PROBE__HOOK,
 * PROBE__WAY__HOOK, or PROBE__any__HOOK for all ways. */
bool program__is_of(const char *program, const struct probe *, const char *way);

#endif
