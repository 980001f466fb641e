/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the packets of a trace of Perfetto, one sequence of them. Texts are sanitized. */
#ifndef STACKSEXPORT_TRACKS_PACKETS_H
#define STACKSEXPORT_TRACKS_PACKETS_H

#include "perfetto.pb-c.h"
#include "pprof/builder_index.h"
#include "stacksexport/model/keymap.h"
#include "stacksexport/piecefile.h"

/* Texts that are written when they are used first; their ids count from 1. */
struct packet_texts {
	struct strtab *strings;
	size_t written; /* ids below this are in the file */
};

struct packets {
	struct piecefile *file;
	struct packet_texts names, categories, keys; /* of events, and of their annotations */
	struct keymap stacks;			     /* (key, 0): callstack i + 1 */
	struct buf scratch;
	int err; /* sticky */
};

/* Borrows the file. Returns 0 or -ENOMEM; call packets__free() in either case. */
int packets__init(struct packets *, struct piecefile *);
void packets__free(struct packets *);

/* Writes the first packets: the clock, which has unix time, and the period of CPU samples (0:
 * unknown). */
void packets__begin(struct packets *, int64_t first_ns, int64_t period_ns);

/* Writes the stacks that the builder keeps, and all that they consist of. */
void packets__stacks(struct packets *, struct builder *);

/* Returns the id of a stack by its key; 0: it has no frames. */
uint64_t packets__stack(const struct packets *, uint64_t key);

/* Returns the id of a text. The next packet has it if it is new. */
uint64_t packets__text(struct packets *, struct packet_texts *, const char *s, size_t sz);

/* Returns the text with U+FFFD for what is not UTF-8; valid until the next call. */
char *packets__clean(struct packets *, const char *s, size_t sz);

/* Writes a packet, with the new texts. */
void packets__write(struct packets *, Stacks__Perfetto__TracePacket *);

#endif
