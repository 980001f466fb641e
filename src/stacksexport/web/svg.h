/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STACKSEXPORT_WEB_SVG_H
#define STACKSEXPORT_WEB_SVG_H

#include "stacksexport/web/flame.h"

/* A flame_show_fn. Draws a picture without scripts, in which each frame has its numbers as a
 * title. */
int svg__show(const struct flame *, const struct metric_shape *, struct buf *out);

#endif
