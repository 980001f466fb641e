// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/ksyms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX (512u << 20) /* bytes of the file */
#define LINE_SZ	 4096	      /* longer lines are skipped; the kernel's have less than 700 bytes */

static bool ksyms_is_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static char *ksyms_parse_address(char *s, uint64_t *addr)
{
	char *p = s;

	for (*addr = 0; ksyms_is_digit(*p); p++)
		*addr = *addr << 4 | (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
	return p > s && p - s <= 16 && *p == ' ' ? p + 1 : NULL;
}

/* Returns false if the line is malformed or has no address. Modifies it. */
static bool ksyms_parse_line(char *text, struct ksym_line *l)
{
	char *p = ksyms_parse_address(text, &l->addr), *module;

	if (!p || !l->addr || p[0] == '\0' || p[1] != ' ' || p[2] == '\0')
		return false;
	l->type = p[0];
	l->name = p + 2;
	module = strchr(p + 2, '\t');
	if (module)
		*module++ = '\0';
	l->module = module;
	return true;
}

/* Reads a line without its newline. Returns its bytes in the file; 0 at the end or on an error. */
static size_t ksyms_read_line(FILE *f, char line[LINE_SZ])
{
	size_t sz, rest = 0;
	int c = '\n';

	if (!fgets(line, LINE_SZ, f))
		return 0;
	sz = strcspn(line, "\n");
	if (line[sz] == '\n')
		line[sz] = '\0';
	else if (sz == LINE_SZ - 1)
		for (line[0] = '\0'; (c = getc(f)) != EOF && c != '\n'; rest++)
			;
	return sz + rest + 1;
}

static int ksyms_read_lines(FILE *f, ksym_line_fn fn, void *arg)
{
	size_t text_sz = 0, sz, cnt = 0;
	char text[LINE_SZ];
	int err = 0;

	while (!err && (sz = ksyms_read_line(f, text)) > 0) {
		struct ksym_line l;

		text_sz += sz;
		if (text_sz > TEXT_MAX)
			return -EFBIG;
		if (!ksyms_parse_line(text, &l))
			continue;
		cnt++;
		err = fn(&l, arg);
	}
	if (!err && ferror(f))
		return -errno;
	return err || cnt ? err : text_sz ? -EPERM : -ENOENT;
}

int ksyms__each(const char *path, ksym_line_fn fn, void *arg)
{
	FILE *f = fopen(path, "re");
	int err = f ? ksyms_read_lines(f, fn, arg) : -errno;

	if (f)
		fclose(f);
	return err;
}

struct ksyms_search {
	struct ksym *syms;
	size_t cnt, ended; /* ended: those with an end */
};

/* Lines are in the order of addresses, and those of modules come last. */
static int ksyms_find_in_line(const struct ksym_line *l, void *arg)
{
	struct ksyms_search *s = arg;

	if (l->module)
		return 1;
	for (size_t i = 0; i < s->cnt; i++) {
		struct ksym *k = &s->syms[i];

		if (k->addr && !k->end && l->addr > k->addr) {
			k->end = l->addr;
			s->ended++;
		} else if (!k->addr && !strcmp(k->name, l->name)) {
			k->addr = l->addr;
		}
	}
	return s->ended == s->cnt;
}

int ksyms__find(const char *path, struct ksym *syms, size_t cnt)
{
	struct ksyms_search s = { syms, cnt, 0 };
	int err = ksyms__each(path, ksyms_find_in_line, &s);

	return err > 0 ? 0 : err;
}
