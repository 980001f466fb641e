/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs other programs for a test, and makes a folder to work in. */
#ifndef UNIT_SHELL_H
#define UNIT_SHELL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the output of `sh -c COMMAND`, for the caller to free; NULL if it fails. */
__attribute__((format(printf, 1, 2))) static inline char *shell__output(const char *fmt, ...)
{
	char command[4096], *text = NULL;
	size_t sz = 0, n = 1;
	va_list ap;
	FILE *p;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	p = popen(command, "r");
	while (p && n) {
		text = realloc(text, sz + 65537);
		n = fread(text + sz, 1, 65536, p);
		sz += n;
	}
	if (!p || pclose(p) != 0) {
		free(text);
		return NULL;
	}
	text[sz] = '\0';
	return text;
}

/* Runs a command that must succeed. */
#define shell__run(...)                                        \
	do {                                                   \
		char *shell_text = shell__output(__VA_ARGS__); \
		assert_non_null(shell_text);                   \
		free(shell_text);                              \
	} while (0)

/* Makes FOLDER/NAME. */
static inline void shell__write(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static inline int shell__has(const char *program)
{
	char *text = shell__output("command -v %s", program);

	free(text);
	return text != NULL;
}

static inline int shell__setup(void **state)
{
	*state = strdup("/tmp/test-XXXXXX");
	return mkdtemp(*state) ? 0 : -1;
}

static inline int shell__teardown(void **state)
{
	free(shell__output("rm -rf '%s'", (char *)*state));
	free(*state);
	return 0;
}

/* A test that gets the path of its own folder. */
#define test_with_folder(f) cmocka_unit_test_setup_teardown(f, shell__setup, shell__teardown)

#endif
