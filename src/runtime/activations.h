/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the native frames of the C function that runs an interpreter's calls, by their places in
 * the code. For runtimes with data that do not lead to these frames. */
#ifndef RUNTIME_ACTIVATIONS_H
#define RUNTIME_ACTIVATIONS_H

#include "runtime/runtime.h"

/* Sets the anchors of `cnt` runs, each of which has an activation of the layout's evaluator, by
 * their order. */
void activations__assign(const struct runtime_calls *, struct runtime_run *runs, size_t cnt);

#endif
