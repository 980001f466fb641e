// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/json.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static int json_peek(FILE *in)
{
	return ungetc(getc_unlocked(in), in);
}

/* `c` begins NaN, Infinity or -Infinity; it is outside strings. */
static bool json_is_no_number(int c, FILE *in)
{
	return c == 'N' || c == 'I' || (c == '-' && json_peek(in) == 'I');
}

static void json_put_null(FILE *in, FILE *out)
{
	while (isalpha(json_peek(in)))
		getc_unlocked(in);
	fputs("null", out);
}

static void json_copy_valid(FILE *in, FILE *out)
{
	bool string = false, escaped = false;
	int c;

	while ((c = getc_unlocked(in)) != EOF) {
		if (!string && json_is_no_number(c, in)) {
			json_put_null(in, out);
			continue;
		}
		if (c == '"' && !escaped)
			string = !string;
		escaped = c == '\\' && !escaped;
		putc_unlocked(c, out);
	}
}

/* Creates a new file under the name of the one that is read; no other user can open it. */
static FILE *json_open_anew(const char *path)
{
	int fd;

	if (unlink(path) != 0)
		return NULL;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? NULL : fdopen(fd, "w");
}

int json__make_valid(const char *path)
{
	FILE *in = fopen(path, "re"), *out = in ? json_open_anew(path) : NULL;
	int err = out ? 0 : -errno;

	if (!err)
		json_copy_valid(in, out);
	if (!err && (ferror(in) || ferror(out)))
		err = -EIO;
	if (out && fclose(out) != 0 && !err)
		err = -errno;
	if (in)
		fclose(in);
	if (err)
		log__error("cannot write %s: %s", path, strerror(-err));
	return err;
}
