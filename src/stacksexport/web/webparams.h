/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parameters of a request, and values that its queries bind besides them. */
#ifndef STACKSEXPORT_WEB_WEBPARAMS_H
#define STACKSEXPORT_WEB_WEBPARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PARAMS_MAX 32

/* Borrowed; the value has no NUL in it. */
struct query_param {
	const char *name, *value;
};

struct query_params {
	struct query_param list[PARAMS_MAX];
	size_t cnt;
};

/* Sets a parameter, or replaces its value. Returns 0 or -E2BIG. */
int query_params__set(struct query_params *, const char *name, const char *value);

/* Returns NULL if it is absent or empty. */
const char *query_params__find(const struct query_params *, const char *name);

/* Reads an integer. *value keeps its default if the parameter is absent. Returns 0 or -EINVAL. */
int query_params__int(const struct query_params *, const char *name, int64_t *value);

#endif
