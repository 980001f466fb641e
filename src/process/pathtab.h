/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths, each kept once for as long as somebody refers to it: a process that maps file after file
 * leaves nothing behind. */
#ifndef PROCESS_PATHTAB_H
#define PROCESS_PATHTAB_H

struct pathtab;

struct pathtab *pathtab__new(void); /* NULL + errno */
void pathtab__free(struct pathtab *);
const char *pathtab__add(struct pathtab *, const char *path); /* a reference; NULL + errno */
const char *pathtab__get(const char *path);	       /* one more, to what pathtab__add() gave */
void pathtab__put(struct pathtab *, const char *path); /* accepts NULL */

#endif
