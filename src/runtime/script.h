/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function of a program that an interpreter runs, as it was read once. */
#ifndef RUNTIME_SCRIPT_H
#define RUNTIME_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/trace.h"

/* The line of the code from this offset up to that of the next place. Line 0: none. */
struct script_place {
	uint32_t off, line;
};

#define SCRIPT_PLACES_MAX (1u << 20)

struct script_function {
	struct script script; /* strings are the function's own, malloc()ed */
	uint64_t start, sz;   /* of its code, in the process */
	uint64_t *copies;     /* where its code begins, too; ascending, malloc()ed */
	size_t copy_cnt;
	bool is_copied; /* there may be more copies later */
	uint32_t first_line;
	struct script_place *places; /* ascending by .off */
	size_t cnt, cap;
};

void script__free(struct script *);	      /* strings that are its own */
size_t script__memory(const struct script *); /* bytes */

/* Sets both names, cleaned, and their keys, with the runtime's name in them. Returns 0 or -ENOMEM.
 */
int script_function__name(struct script_function *, const char *runtime, const char *module,
			  const char *name);
/* Appends a place; merges it with the last one if that has the same line. Returns 0 or -errno. */
int script_function__add(struct script_function *, uint32_t off, uint32_t line);
/* Returns true if `instr` is in the function's code, or a copy of it. */
bool script_function__has(const struct script_function *, uint64_t instr);
/* Returns false if the function does not have `instr`. */
bool script_function__line(const struct script_function *, uint64_t instr, uint32_t *line);
size_t script_function__memory(const struct script_function *); /* bytes */
void script_function__free(struct script_function *);

#endif
