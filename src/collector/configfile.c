// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/configfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_MAX 65536
#define BLANKS	   " \t\r"

char *config_file__read(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(CONFIG_MAX + 1) : NULL;
	size_t sz = text ? fread(text, 1, CONFIG_MAX + 1, f) : 0;
	int err = !text ? errno : ferror(f) ? EIO : sz > CONFIG_MAX ? EFBIG : 0;

	if (!err && memchr(text, '\0', sz))
		err = EINVAL;
	if (f)
		fclose(f);
	if (!err) {
		text[sz] = '\0';
		return text;
	}
	free(text);
	return errno = err, NULL;
}

/* Returns the text without the blanks around it. */
static char *config_trim(char *text)
{
	size_t sz;

	text += strspn(text, BLANKS);
	sz = strlen(text);
	while (sz && strchr(BLANKS, text[sz - 1]))
		sz--;
	text[sz] = '\0';
	return text;
}

bool config_text__next(struct config_text *c)
{
	char *line;

	while ((line = strsep(&c->rest, "\n")) != NULL) {
		c->line++;
		line = config_trim(line);
		if (!*line || *line == '#')
			continue;
		c->value = line;
		c->option = config_trim(strsep(&c->value, "="));
		if (c->value)
			c->value = config_trim(c->value);
		return true;
	}
	return false;
}

static const struct argp_option *config_option(const struct config_text *c,
					       const struct argp_option *table)
{
	const struct argp_option *real = table;

	for (const struct argp_option *o = table; o->name || o->doc; o++) {
		if (!(o->flags & OPTION_ALIAS))
			real = o;
		if (o->name && strcmp(o->name, c->option) == 0)
			return real;
	}
	return NULL;
}

const struct argp_option *config_text__find(const struct config_text *c,
					    const struct argp_option *table, const char **why)
{
	const struct argp_option *o = config_option(c, table);

	*why = !o		     ? "is not an option"
	       : o->arg && !c->value ? "needs a value"
	       : !o->arg && c->value ? "takes no value"
				     : NULL;
	return *why ? NULL : o;
}
