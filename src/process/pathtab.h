/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interned, reference-counted paths. A path is freed with its last reference, so a process that
 * maps many files leaks nothing.
 */
#ifndef PROCESS_PATHTAB_H
#define PROCESS_PATHTAB_H

struct pathtab;

struct pathtab *pathtab__new(void); /* NULL + errno */
void pathtab__free(struct pathtab *);
const char *pathtab__add(struct pathtab *,
			 const char *path); /* Returns a reference, or NULL with errno set. */
const char *pathtab__get(
	const char *path); /* Takes another reference to a path from pathtab__add(). */
void pathtab__put(struct pathtab *, const char *path); /* accepts NULL */

#endif
