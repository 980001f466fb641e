/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HotSpot: its code cache, its methods, and the walk through its frames. */
#ifndef RUNTIME_HOTSPOT_H
#define RUNTIME_HOTSPOT_H

#include "runtime/codeblob.h"
#include "runtime/codewalk.h"
#include "runtime/hotspot_layout.h"

/* For struct runtime_code. */
int hotspot__read_ranges(struct remote *, const struct runtime_layout *, struct code_ranges *);
int hotspot__read_code(struct remote *, const struct runtime_layout *, const struct code_wanted *,
		       struct code_blob *);
enum managed_result hotspot__step(struct code_walk *, struct managed_frame *);
bool hotspot__function(const struct snapshot *, const struct frame *, uint64_t *method);
uint64_t hotspot__instr(const struct runtime_layout *, const struct event *,
			const struct snapshot *, const struct frame *);

/* Reads a Method: names and lines. Returns 0 or -errno. For `read` of struct runtime. */
int hotspot__read_method(struct remote *, const struct runtime_layout *, uint64_t method,
			 struct script_function *);

/* Reads the description of an nmethod's places. Returns 0 or -errno. */
int hotspot__read_scopes(struct remote *, const struct runtime_layout *, struct code_blob *);

/* The compressed numbers of debug information and line tables. */
struct hotspot_numbers {
	const uint8_t *at, *end;
	uint8_t excluded; /* values that no byte has: 1 from JDK 20 on */
	bool err;
};
struct hotspot_numbers hotspot_numbers__on(const struct runtime_layout *, const uint8_t *bytes,
					   size_t sz);
uint32_t hotspot_numbers__take(struct hotspot_numbers *);

#endif
