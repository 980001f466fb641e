/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a recording for the page, and reads it in a thread. */
#ifndef STACKSEXPORT_WEB_SOURCETHREAD_H
#define STACKSEXPORT_WEB_SOURCETHREAD_H

#include "stacksexport/web/source.h"

/* Opens a recording and starts a thread that reads it. Returns STATUS_OK, or an exit status
 * (already logged); call source__close() in either case. */
int source__open(struct source *, const struct export_options *, struct running *, struct model *);

#endif
