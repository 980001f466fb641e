/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a profile for the Firefox Profiler that its threads share: strings, functions,
 * frames and stacks. A table is an object with an array for each column. */
#ifndef STACKSEXPORT_TRACKS_FOXTABLES_H
#define STACKSEXPORT_TRACKS_FOXTABLES_H

#include "pprof/builder_index.h"
#include "stacksexport/model/trie.h"
#include "stacksexport/piecefile.h"

enum fox_category {
	FOX_OTHER, /* the first one is the default, and has to be grey */
	FOX_USER,
	FOX_KERNEL,
	FOX_JIT,
	FOX_BLOCKED,
	FOX_RUNNABLE,
	FOX_CATEGORY_CNT,
};

/* The array of categories as JSON. */
extern const char fox_categories[];

struct fox_tables {
	struct builder *builder; /* its frames, stacks and strings; borrowed */
	struct builder_index index;
	uint32_t *first_frame; /* by the id of a location: the number of its outermost function */
	uint32_t frame_cnt;    /* of locations; labels have the numbers behind them */
	struct keymap labels;  /* (string, category) */
	struct trie stacks;    /* of numbers of frames; node i is row i - 1 */
	struct keymap known;   /* (key of a stack, 0) */
	uint32_t *known_nodes; /* by the index in known */
	size_t known_cap;
	int err; /* sticky */
};

/* Returns 0 or -ENOMEM; call fox_tables__free() in either case. */
int fox_tables__init(struct fox_tables *, struct builder *);
void fox_tables__free(struct fox_tables *);

/* Returns the string's number. */
uint32_t fox_tables__string(struct fox_tables *, const char *s, size_t sz);

/* Returns the node of the stack with that key, or TRIE_ROOT if it has no frames. */
uint32_t fox_tables__stack(struct fox_tables *, uint64_t key);

/* Returns the node of a stack with a frame on top that is not code; `name` is a string. */
uint32_t fox_tables__label(struct fox_tables *, uint32_t node, uint32_t name, enum fox_category);

/* Appends the row of a node, or null for TRIE_ROOT. */
void fox_tables__append_row(struct buf *, uint32_t node);

/* Writes "libs":[…],"shared":{…}. Call it last: it has the strings of all calls before. */
void fox_tables__write(struct fox_tables *, struct piecefile *);

#endif
