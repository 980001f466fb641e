/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that a process made at run time: the functions, where each lies, and since when. Addresses
 * are reused: of several functions at an address the one added last counts. The size is bounded.
 */
#ifndef JIT_CODEMAP_H
#define JIT_CODEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codemap;

struct code {
	uint64_t start, sz; /* addresses in the process, bytes */
	uint64_t time_ns;   /* time of creation, CLOCK_MONOTONIC; 0: unknown */
	const char *name;   /* raw, with a NUL */
	/* Its call-frame information, as in .eh_frame, or NULL; valid from codemap__find() until
	 * the next codemap__add(). */
	const void *frames;
	size_t frames_sz;
	uint16_t machine; /* of the frames, EM_*; a codemap does not store this, nor: */
	/* Address of .eh_frame, for its pc-relative addresses; 0: it is a .debug_frame. */
	uint64_t frames_at;
};

struct codemap *codemap__new(void); /* returns NULL and sets errno on failure */
void codemap__free(struct codemap *);

/* Adds a copy. Returns 0, -EINVAL if the function is empty or too large, -E2BIG if there is no
 * room, or -ENOMEM. */
int codemap__add(struct codemap *, const struct code *);

/* Makes room: keeps the half that was added last. Returns 0, or -ENOMEM without a change.
 * Invalidates the names that codemap__find() has returned. */
int codemap__keep_newest(struct codemap *);

/*
 * Finds the function at the address at that time: the last one that was there by then. If there was
 * none, finds the first later one, because a runtime may report a function late. The name lives as
 * long as the map.
 */
bool codemap__find(const struct codemap *, uint64_t addr, uint64_t time_ns, struct code *);

size_t codemap__cnt(const struct codemap *);
size_t codemap__sz(const struct codemap *); /* bytes of memory */
/* Returns a number that grows with each address that got another function. */
uint32_t codemap__reused(const struct codemap *);

#endif
