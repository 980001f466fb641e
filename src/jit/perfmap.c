// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/perfmap.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "symbol/demangle.h"

#define TEXT_SZ 65536 /* longer lines are skipped */

static unsigned perfmap_digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

/* Parses a number and skips the blanks after it; NULL if there is none. */
static char *perfmap_number(char *s, uint64_t *v)
{
	char *begin;

	if (s[0] == '0' && (s[1] | 0x20) == 'x')
		s += 2;
	begin = s;
	for (*v = 0; perfmap_digit_of(*s) < 16; s++)
		*v = *v << 4 | perfmap_digit_of(*s);
	if (s == begin || s - begin > 16 || (*s != ' ' && *s != '\t'))
		return NULL;
	return s + strspn(s, " \t");
}

bool perfmap__line(char *line, struct code *c)
{
	uint64_t start, code_sz;
	char *s = perfmap_number(line, &start), *name = s ? perfmap_number(s, &code_sz) : NULL;
	size_t sz = name ? strnlen(name, SYMBOL_NAME_MAX - 1) : 0;

	if (sz && name[sz - 1] == '\r')
		sz--;
	if (!sz)
		return false;
	name[sz] = '\0';
	*c = (struct code){ .start = start, .sz = code_sz, .name = name };
	return true;
}

/* Adds complete lines of a text until the list is full. Returns the consumed bytes. */
static size_t perfmap_add_lines(struct code_progress *p, char *text, size_t sz, struct code_list *l)
{
	char *line = text, *end;

	while (!code_list__is_full(l) && (end = memchr(line, '\n', sz - (size_t)(line - text)))) {
		struct code c;

		*end = '\0';
		if (!p->in_long_line && perfmap__line(line, &c))
			code_list__add(l, &c);
		p->in_long_line = false;
		line = end + 1;
	}
	return (size_t)(line - text);
}

/* Reads the bytes before the offset. */
static ssize_t perfmap_read_last(const struct code_progress *p, int fd,
				 uint8_t last[sizeof(p->last)])
{
	size_t sz = p->off < sizeof(p->last) ? (size_t)p->off : sizeof(p->last);

	return pread(fd, last, sz, (off_t)(p->off - sz));
}

/* Java rewrites its whole file on each request. */
static bool perfmap_is_same(const struct code_progress *p, int fd)
{
	uint8_t last[sizeof(p->last)];
	ssize_t sz = perfmap_read_last(p, fd, last);

	return sz >= 0 && memcmp(last, p->last, (size_t)sz) == 0;
}

/* Reads at most a text's bytes at the offset. */
static ssize_t perfmap_read_text(const struct code_progress *p, const struct code_part *part,
				 char text[TEXT_SZ])
{
	uint64_t left = part->end - p->off;

	return pread(part->fd, text, left < TEXT_SZ ? left : TEXT_SZ, (off_t)p->off);
}

int perfmap__read(struct code_progress *p, const struct code_part *part, struct code_list *l)
{
	char text[TEXT_SZ];
	ssize_t got = 0;

	if (!perfmap_is_same(p, part->fd))
		return -ESTALE;
	while (p->off < part->until && p->off < part->end && !code_list__is_full(l) &&
	       (got = perfmap_read_text(p, part, text)) > 0) {
		size_t done = perfmap_add_lines(p, text, (size_t)got, l);

		if (done == 0 && got < TEXT_SZ)
			break;
		p->in_long_line |= done == 0;
		p->off += done ? done : (size_t)got;
	}
	if (got < 0 || perfmap_read_last(p, part->fd, p->last) < 0)
		return -errno;
	return 0;
}
