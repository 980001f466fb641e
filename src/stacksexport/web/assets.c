// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/assets.h"

#include <string.h>

static const struct {
	const char *suffix, *type;
} types[] = {
	{ ".html", "text/html; charset=utf-8" },
	{ ".js", "text/javascript; charset=utf-8" },
	{ ".mjs", "text/javascript; charset=utf-8" },
	{ ".css", "text/css; charset=utf-8" },
	{ ".json", "application/json" },
	{ ".svg", "image/svg+xml" },
	{ ".png", "image/png" },
	{ ".woff2", "font/woff2" },
};

const struct asset *asset__find(const char *name)
{
	for (const struct asset *a = assets; a->name; a++)
		if (strcmp(a->name, name) == 0)
			return a;
	return NULL;
}

const char *asset__type(const struct asset *a)
{
	const char *dot = strrchr(a->name, '.');

	for (size_t i = 0; dot && i < sizeof(types) / sizeof(*types); i++)
		if (strcmp(dot, types[i].suffix) == 0)
			return types[i].type;
	return "text/plain; charset=utf-8";
}
