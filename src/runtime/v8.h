/* SPDX-License-Identifier: GPL-2.0-or-later */
/* V8: its objects, its functions, its code, and the walk through its frames. */
#ifndef RUNTIME_V8_H
#define RUNTIME_V8_H

#include "base/buf.h"
#include "runtime/codeblob.h"
#include "runtime/codewalk.h"
#include "runtime/v8_layout.h"

/* ---- objects ----
 *
 * A value is a word: a small integer (Smi), or the address of an object plus 1.
 */

static inline bool v8__is_object(uint64_t value)
{
	return (value & 3) == 1;
}

static inline bool v8__is_smi(uint64_t value)
{
	return (value & UINT32_MAX) == 0;
}

static inline int32_t v8__smi(uint64_t value)
{
	return (int32_t)(value >> 32);
}

/* A process, and the layout of its objects. */
struct v8_heap {
	struct remote *remote;
	const struct runtime_layout *layout;
};

/* Returns the word at an offset of an object; 0, with the remote's error set, if it is none. */
uint64_t v8__word(const struct v8_heap *, uint64_t object, uint32_t off);
/* Like v8__word(), at an offset of the layout. */
uint64_t v8__field(const struct v8_heap *, uint64_t object, enum v8_at);
/* Returns the instance type, or UINT32_MAX if there is no object. Leaves no error. */
uint32_t v8__type(const struct v8_heap *, uint64_t value);
bool v8__has_type(const struct v8_heap *, uint64_t value, enum v8_at type);

/* Appends a string as UTF-8, cut off at some length. Returns false if it is none. */
bool v8__text(const struct v8_heap *, uint64_t string, struct buf *);

/* The bytes of an array of bytes; to be freed. NULL, with size 0, if it is none or empty. */
uint8_t *v8__bytes(const struct v8_heap *, uint64_t array, size_t *sz);

/* ---- source ---- */

/* Where the lines of a script's source begin. */
struct v8_lines {
	uint64_t script; /* 0: none was read */
	uint32_t *ends;	 /* positions of line ends, ascending */
	size_t cnt, cap;
	uint32_t end; /* positions before it are known */
};

/* Reads a script's source up to `end`, unless it is the last one that was read. */
void v8_lines__read(struct v8_lines *, const struct v8_heap *, uint64_t script, uint32_t end);
/* Returns the line of a position, from 1 on; 0: unknown. */
uint32_t v8_lines__at(const struct v8_lines *, uint32_t position);
void v8_lines__free(struct v8_lines *);

/* An entry of a table of source positions. */
struct v8_position {
	uint32_t at;	  /* position in the source; V8_NOWHERE: none */
	uint32_t inlined; /* index of the inlined call that it is in; V8_NOWHERE: none */
};

#define V8_NOWHERE UINT32_MAX

/* A compressed table: variable-length numbers, least significant part first. */
struct v8_numbers {
	const uint8_t *at, *end;
	bool err;
};
uint64_t v8_numbers__take(struct v8_numbers *);
int64_t v8_numbers__take_signed(struct v8_numbers *);

/* The table's entries; .raw and .off are those of the current one. */
struct v8_positions {
	struct v8_numbers numbers;
	bool has_flags; /* v8_positions__have_flags() */
	int64_t off, raw;
};
/* Returns true from V8 14 on: two flags follow each distance. Before, its sign is a flag. */
static inline bool v8_positions__have_flags(const struct runtime_layout *l)
{
	return l->version >> 16 >= 14;
}
/* Moves to the next entry; returns false at the end, or if the table is wrong. */
bool v8_positions__next(struct v8_positions *);
void v8_position__decode(uint64_t raw, struct v8_position *);

/* ---- functions ---- */

struct v8_function {
	struct script_function names; /* only .script and .first_line */
	uint64_t script;
	uint32_t start, end; /* positions in the source */
};

/* Reads a SharedFunctionInfo. Returns 0 or -errno. */
int v8__read_shared(const struct v8_heap *, uint64_t shared, struct v8_lines *,
		    struct v8_function *);

/* Reads a function by its bytecode, with `hint` of the wanted one. For `read` of struct
 * runtime_code. */
int v8__read_bytecode(const struct v8_heap *, const struct code_wanted *, struct code_blob *);
int v8__read_code(struct remote *, const struct runtime_layout *, const struct code_wanted *,
		  struct code_blob *);
/* Reads the places of optimised code, and those of baseline code. Returns 0 or -errno. */
int v8__read_scopes(const struct v8_heap *, uint64_t code, struct code_blob *);
int v8__read_baseline(const struct v8_heap *, uint64_t code, struct code_blob *);

/* ---- frames ---- */

enum managed_result v8__step(struct code_walk *, struct managed_frame *);
bool v8__bytecode(const struct runtime_layout *, const struct snapshot *, uint64_t fp,
		  struct code_wanted *);
/* Returns the place in the bytecode that a frame executes, for code_blob__scope(). */
uint64_t v8__place(const struct runtime_layout *, const struct snapshot *, const struct frame *,
		   const struct code_blob *code);

#endif
