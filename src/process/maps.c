// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/maps.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Longer than any line: a path has at most 4096 bytes, and the kernel writes each newline as
 * four.
 */
#define TEXT_SZ 65536

/* The rest of a line. Errors are sticky. */
struct maps_line {
	char *pos, *end;
	bool err;
};

static uint64_t maps_number(struct maps_line *l, unsigned base)
{
	char *begin = l->pos;
	uint64_t v = 0;

	for (; l->pos < l->end; l->pos++) {
		unsigned c = (unsigned char)*l->pos;
		unsigned digit = c - '0';

		if (digit > 9)
			digit = (c | 0x20) - 'a' < 6 ? (c | 0x20) - 'a' + 10 : base;
		if (digit >= base)
			break;
		v = v * base + digit;
	}
	if (l->pos == begin || l->pos - begin > 20)
		l->err = true;
	return v;
}

static void maps_expect(struct maps_line *l, char c)
{
	if (l->pos < l->end && *l->pos == c)
		l->pos++;
	else
		l->err = true;
}

static uint32_t maps_permissions(struct maps_line *l)
{
	uint32_t prot = 0;

	if (l->end - l->pos < 4) {
		l->err = true;
		return 0;
	}
	prot |= l->pos[0] == 'r' ? PROT_READ : 0;
	prot |= l->pos[1] == 'w' ? PROT_WRITE : 0;
	prot |= l->pos[2] == 'x' ? PROT_EXEC : 0;
	l->pos += 4;
	return prot;
}

/* The kernel shows a newline as \012, and a backslash as itself. */
static char *maps_unescape(char *path)
{
	char *from = path, *to = path;

	if (!strstr(path, "\\012"))
		return path;
	while (*from) {
		bool newline = strncmp(from, "\\012", 4) == 0;

		*to++ = newline ? '\n' : *from;
		from += newline ? 4 : 1;
	}
	*to = '\0';
	return path;
}

/* Returns false for most lines; the rest of such a line is not parsed. */
static bool maps_is_executable(const char *text, const char *end)
{
	const char *past = memchr(text, ' ', (size_t)(end - text));

	return past && end - past > 3 && past[3] == 'x';
}

/*
 * Parses one line. `end` points to the newline, which is overwritten with the NUL that ends the
 * path.
 */
static bool maps_parse_line(char *text, char *end, struct record_mmap *m)
{
	struct maps_line l = { text, end, false };
	uint64_t past;

	if (!maps_is_executable(text, end))
		return false;
	m->start = maps_number(&l, 16);
	maps_expect(&l, '-');
	past = maps_number(&l, 16);
	maps_expect(&l, ' ');
	m->prot = maps_permissions(&l);
	if (l.err || past <= m->start)
		return false;
	maps_expect(&l, ' ');
	m->pgoff = maps_number(&l, 16);
	maps_expect(&l, ' ');
	m->maj = (uint32_t)maps_number(&l, 16);
	maps_expect(&l, ':');
	m->min = (uint32_t)maps_number(&l, 16);
	maps_expect(&l, ' ');
	m->ino = maps_number(&l, 10);
	while (l.pos < end && *l.pos == ' ')
		l.pos++;
	*end = '\0';
	m->path = maps_unescape(l.pos);
	m->len = past - m->start;
	return !l.err;
}

size_t maps__parse(char *text, size_t sz, maps_fn fn, void *arg)
{
	char *pos = text, *newline;

	while ((newline = memchr(pos, '\n', sz - (size_t)(pos - text)))) {
		struct record_mmap m = { 0 };

		if (maps_parse_line(pos, newline, &m))
			fn(&m, arg);
		pos = newline + 1;
	}
	return (size_t)(pos - text);
}

int maps__read(int fd, maps_fn fn, void *arg)
{
	char text[TEXT_SZ];
	size_t have = 0;
	ssize_t got;

	while ((got = read(fd, text + have, sizeof(text) - have)) > 0) {
		size_t done;

		have += (size_t)got;
		done = maps__parse(text, have, fn, arg);
		have -= done;
		memmove(text, text + done, have);
		if (have == sizeof(text))
			return -EINVAL;
	}
	return got < 0 ? -errno : 0;
}
