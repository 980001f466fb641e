/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a recording into the tables of the page, part by part, in threads of its own. */
#ifndef STACKSEXPORT_WEB_READING_H
#define STACKSEXPORT_WEB_READING_H

#include "stacksexport/web/source.h"

/* Makes the tables and starts the threads. Returns 0 or -errno; reports. */
int reading__start(struct source *);

#endif
