/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of users, from a file like /etc/passwd. Directory services are not queried: a server
 * that does not answer must not stop the recording.
 */
#ifndef COLLECTOR_USERS_H
#define COLLECTOR_USERS_H

#include <stdint.h>

struct users;

/* Reads the file once; without it, no user has a name. Returns NULL if out of memory. */
struct users *users__new(const char *path);
void users__free(struct users *);			     /* accepts NULL */
const char *users__name(const struct users *, uint32_t uid); /* NULL: unknown */

#endif
