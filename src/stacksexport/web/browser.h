/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens an address in the browser of the user. */
#ifndef STACKSEXPORT_WEB_BROWSER_H
#define STACKSEXPORT_WEB_BROWSER_H

#include <stdbool.h>

/* Runs $BROWSER, or xdg-open if there is a display. For root, a browser would run the scripts of
 * all web pages as root: it runs as the user who called sudo, and without one it is not run.
 * Returns false if no browser was opened. Waits some seconds for the program to end or to fail. */
bool browser__open(const char *url);

#endif
