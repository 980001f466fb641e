/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which kinds of events a query reads, and what records them: sets of kinds, 1 << enum event_kind.
 */
#ifndef STACKSEXPORT_DUCK_SOURCES_H
#define STACKSEXPORT_DUCK_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Those that the text of a statement names, itself or by a view that is made of them. */
uint64_t sources__read_by(const char *sql);

/* Whether it asks for the notices of lost events. */
bool sources__reads_lost(const char *sql);

/* The kind with that name, as a set; 0: there is none. */
uint64_t sources__kind(const char *name, size_t sz);

/* Those that sources record: "profile,switch". */
uint64_t sources__of_list(const char *names, size_t sz);

/* Appends "tcp_send, tcp_recv": the kinds in a set. */
void sources__names(struct buf *out, uint64_t kinds);

/*
 * Appends "tcp_connect (collector -p tcp), wake (collector -p wake)": the kinds in `read` whose
 * source has recorded nothing. Nothing when there are none.
 */
void sources__missing(struct buf *out, uint64_t read, uint64_t recorded);

/* The same for all kinds in `read`, with user stacks: "vfs_read (collector -p vfs:u)". */
void sources__with_stacks(struct buf *out, uint64_t read);

#endif
