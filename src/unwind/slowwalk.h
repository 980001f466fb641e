/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The slow walk: one frame at a time, with all registers and all rules, and heuristics for code
 * without rules. */
#ifndef UNWIND_SLOWWALK_H
#define UNWIND_SLOWWALK_H

#include "unwind/slowwalk_state.h"

/*
 * Steps from a frame with pc and flags to the next one; also sets the frame's mapping. On success
 * the walk's registers, flags and source are those of the next frame. Otherwise returns how the
 * walk ends.
 */
enum unwind_status slowwalk__step(struct slowwalk *, struct frame *);

#endif
