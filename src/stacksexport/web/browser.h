/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens an address in the browser of the user. */
#ifndef STACKSEXPORT_WEB_BROWSER_H
#define STACKSEXPORT_WEB_BROWSER_H

#include <stdbool.h>

/* Runs $BROWSER, or xdg-open if there is a display. A browser runs the scripts of web pages, so
 * root does not run one: under sudo, the caller of sudo runs it, and otherwise none is opened.
 * Returns false if no browser was opened. Waits some seconds for the program to end or to fail. */
bool browser__open(const char *url);

#endif
