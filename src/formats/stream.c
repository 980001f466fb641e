// SPDX-License-Identifier: GPL-2.0-or-later
#include "formats/stream.h"

#include <stdarg.h>
#include <stdio.h>

void fault__set(struct fault *f, uint64_t off, const char *fmt, ...)
{
	va_list ap;
	int sz;

	if (f->set)
		return;
	f->set = true;
	sz = snprintf(f->text, sizeof(f->text), "at byte %llu: ", (unsigned long long)off);
	va_start(ap, fmt);
	vsnprintf(f->text + sz, sizeof(f->text) - (size_t)sz, fmt, ap);
	va_end(ap);
}

void stream_reader__free(struct stream_reader *r)
{
	if (r)
		r->ops->free(r);
}

void stream_writer__free(struct stream_writer *w)
{
	if (w)
		w->ops->free(w);
}

void stream_writer__pass(struct stream_writer *w, struct stream_reader *r, const struct raw *raw)
{
	struct item item;

	if (w->format == r->format) {
		w->ops->pass(w, raw);
		return;
	}
	stream_reader__parse(r, raw, &item);
	w->ops->convert(w, &item);
}

void stream_writer__unwound(struct stream_writer *w, struct stream_reader *r, const struct raw *raw,
			    const struct item *item)
{
	if (w->format == r->format)
		w->ops->unwound(w, raw, item);
	else
		w->ops->convert(w, item);
}
