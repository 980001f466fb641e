/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that were read from a part of a perf map or a jitdump, in the order of the file. A
 * worker answers with a list as one block without pointers.
 */
#ifndef JIT_CODELIST_H
#define JIT_CODELIST_H

#include <stdbool.h>

#include "base/buf.h"
#include "jit/codemap.h"

/* How far a file has been read. */
struct code_progress {
	uint64_t off; /* 0: nothing yet */
	/* of a perf map */
	uint8_t last[32];     /* the bytes before off, if there are so many */
	uint8_t in_long_line; /* the start of the line was skipped */
	/* of a jitdump */
	uint8_t untimed;  /* its times are ticks of a counter, not CLOCK_MONOTONIC */
	uint16_t machine; /* EM_*, of the code */
	uint32_t zero;
};

/* A part of a file. */
struct code_part {
	int fd;
	uint64_t end;	/* of the file */
	uint64_t until; /* reading ends with the line or record that reaches this offset */
};

/* A function, or one that has moved. */
struct code_entry {
	uint64_t start, sz, time_ns; /* as in struct code */
	uint64_t from;		     /* its address before, if it has moved */
	uint32_t moved; /* 1: it has the name of the function at .from, and no frames */
	uint32_t name;	/* offset in the names */
	uint32_t frames_off, frames_sz;
};

/* Zero-initialized. */
struct code_list {
	struct buf entries; /* struct code_entry[] */
	struct buf names;   /* with NULs */
	struct buf frames;
	void *block; /* that the parts are in; NULL: each has its own memory */
};

void code_list__free(struct code_list *); /* leaves it empty */

/* Adds a copy. */
void code_list__add(struct code_list *, const struct code *);
/* Adds that the function at .from moved to .start. */
void code_list__move(struct code_list *, uint64_t from, const struct code *);
size_t code_list__cnt(const struct code_list *);
/* Returns whether the list has reached its bound: 65,536 functions, or 4 MB of names or frames. */
bool code_list__is_full(const struct code_list *);
int code_list__err(const struct code_list *); /* 0 or -ENOMEM: functions are missing */

/*
 * Adds the functions from `begin` to `end` to the map. If there is no room, drops the oldest ones
 * and sets `*overflowed`; or, if that is NULL, returns -E2BIG. Returns 0 or an error of
 * codemap__add() but -EINVAL.
 */
int code_list__apply(const struct code_list *, size_t begin, size_t end, struct codemap *,
		     bool *overflowed);

/* ---- blocks -------------------------------------------------------------------------------------
 */

#define CODE_BLOCK_MAX (16u << 20) /* bytes of the largest block */

/* What a part of a file gave. */
struct code_result {
	struct code_progress at; /* after the part */
	int32_t err;		 /* 0, or -errno: why reading ended */
	uint32_t entries_sz, names_sz, frames_sz;
};

/* Returns a malloc()ed block and sets `*sz`, or NULL and sets errno. */
void *code_block__of(const struct code_list *, const struct code_progress *, int err, size_t *sz);

/* Returns whether the block may be the result of reading from `from` up to the offset `end`. */
bool code_block__is_sound(const void *block, size_t sz, uint64_t from, uint64_t end);
/* Makes the list of a sound block, of which it takes ownership. */
struct code_list code_list__of_block(void *block);

#endif
