// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/printer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/utf8.h"

#define TEXT_MIN      8	 /* columns of text are not cut below this */
#define TEXT_WRAPPED  32 /* nor below this in a table that does not fit even so: its lines wrap */
#define WIDTH_DEFAULT 80 /* of a terminal that does not say it: a serial line, a container's */

struct printer_column {
	bool right;
	size_t width; /* of the widest cell */
};

struct printer {
	struct buf text; /* the cells, one after the other */
	struct buf ends; /* size_t: where each ends in .text */
	size_t cell_cnt, column_cnt;
	struct printer_column columns[];
};

struct printer *printer__new(size_t column_cnt, const bool *right)
{
	struct printer *p = calloc(1, sizeof(*p) + column_cnt * sizeof(p->columns[0]));

	if (!p)
		return NULL;
	p->column_cnt = column_cnt;
	for (size_t i = 0; i < column_cnt; i++)
		p->columns[i].right = right[i];
	return p;
}

void printer__free(struct printer *p)
{
	if (!p)
		return;
	buf__free(&p->text);
	buf__free(&p->ends);
	free(p);
}

void printer__cell(struct printer *p, const char *s, size_t sz)
{
	struct printer_column *c = &p->columns[p->cell_cnt++ % p->column_cnt];
	size_t begin = p->text.sz, width;

	utf8__sanitize_printable(&p->text, s, sz);
	buf__append(&p->ends, &p->text.sz, sizeof(p->text.sz));
	width = utf8__cnt((const char *)p->text.data + begin, p->text.sz - begin);
	c->width = width > c->width ? width : c->width;
}

void printer__cellf(struct printer *p, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printer__cell(p, text, n < 0 ? 0 : n >= (int)sizeof(text) ? sizeof(text) - 1 : (size_t)n);
}

/* Takes from the widest text column, one at a time, until the table fits. False: it does not. */
static bool printer_shrink(const struct printer *p, size_t width, size_t text_min, size_t *widths)
{
	size_t sum = 2 * (p->column_cnt - 1);

	for (size_t i = 0; i < p->column_cnt; i++)
		sum += widths[i] = p->columns[i].width;
	while (sum > width) {
		size_t widest = p->column_cnt;

		for (size_t i = 0; i < p->column_cnt; i++)
			if (!p->columns[i].right && widths[i] > text_min &&
			    (widest == p->column_cnt || widths[i] >= widths[widest]))
				widest = i;
		if (widest == p->column_cnt)
			return false;
		widths[widest]--;
		sum--;
	}
	return true;
}

static void printer_fit(const struct printer *p, size_t width, size_t *widths)
{
	if (!width)
		width = SIZE_MAX;
	if (!printer_shrink(p, width, TEXT_MIN, widths))
		printer_shrink(p, width, TEXT_WRAPPED, widths);
}

/* The last column is not padded: no line ends with spaces. */
static void print_cell(const struct printer *p, size_t cell, size_t width, FILE *out)
{
	const size_t *ends = (const size_t *)p->ends.data;
	const char *s = (const char *)p->text.data + (cell ? ends[cell - 1] : 0);
	size_t sz = ends[cell] - (cell ? ends[cell - 1] : 0), cnt = sz ? utf8__cnt(s, sz) : 0;
	size_t column = cell % p->column_cnt;
	bool last = column + 1 == p->column_cnt, cut = cnt > width;
	int pad = cut ? 0 : (int)(width - cnt);

	if (cut)
		sz = utf8__prefix(s, sz, width - 1);
	if (p->columns[column].right)
		fprintf(out, "%*s", pad, "");
	fwrite(sz ? s : "", 1, sz, out);
	if (cut)
		fputs("…", out);
	if (!p->columns[column].right && !last)
		fprintf(out, "%*s", pad, "");
	fputs(last ? "\n" : "  ", out);
}

int printer__print(const struct printer *p, FILE *out, size_t width)
{
	size_t *widths = calloc(p->column_cnt ? p->column_cnt : 1, sizeof(*widths));

	if (!widths || buf__err(&p->text) || buf__err(&p->ends)) {
		free(widths);
		return -ENOMEM;
	}
	printer_fit(p, width, widths);
	for (size_t i = 0; i < p->cell_cnt; i++)
		print_cell(p, i, widths[i % p->column_cnt], out);
	free(widths);
	return 0;
}

size_t terminal__width(int fd)
{
	struct winsize size = { 0 };
	const char *columns = getenv("COLUMNS");
	uint64_t n;

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return columns && parse__u64(columns, &n) == 0 && n > 0 && n < 10000 ? n : WIDTH_DEFAULT;
}
