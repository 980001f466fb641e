/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which native frames are activations of the C function that runs an interpreter's calls, for
 * runtimes that do not say it: by their places in the code. */
#ifndef RUNTIME_ACTIVATIONS_H
#define RUNTIME_ACTIVATIONS_H

#include "runtime/runtime.h"

/* Sets the anchors of `cnt` runs, each of which has an activation of the layout's evaluator, by
 * their order. */
void activations__assign(const struct runtime_calls *, struct runtime_run *runs, size_t cnt);

#endif
