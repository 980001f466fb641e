/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds which kinds of events a query reads, and which sources record them. Sets of kinds have the
 * bits 1 << enum event_kind. */
#ifndef STACKSEXPORT_DUCK_SOURCES_H
#define STACKSEXPORT_DUCK_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Returns the kinds that the text of a statement names, itself or through a view. */
uint64_t sources__read_by(const char *sql);

/* Returns true if it reads the rows about lost events. */
bool sources__reads_lost(const char *sql);

/* Returns the kind with that name, as a set; 0: there is none. */
uint64_t sources__kind(const char *name, size_t sz);

/* Returns the kinds that a list of sources, such as "profile,switch", records. */
uint64_t sources__of_list(const char *names, size_t sz);

/* Appends the kinds in a set: "tcp_send, tcp_recv". */
void sources__names(struct buf *out, uint64_t kinds);

/*
 * Appends the kinds in `read` that were not recorded, with their sources: "tcp_connect (collector
 * -p tcp), wake (collector -p wake)". Appends nothing if there are none.
 */
void sources__missing(struct buf *out, uint64_t read, uint64_t recorded);

/* Appends all kinds in `read`, with the option for user stacks: "vfs_read (collector -p vfs:u)". */
void sources__with_stacks(struct buf *out, uint64_t read);

#endif
