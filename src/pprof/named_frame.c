// SPDX-License-Identifier: GPL-2.0-or-later
#include "pprof/named_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *text;
	bool numbered; /* ".N" must follow; else it may */
} compiler_suffixes[] = {
	{ ".constprop", true },
	{ ".isra", true },
	{ ".part", true },
	{ ".cold", false },
};

/* Returns the length of the name without the ending, or its length if it ends otherwise. */
static size_t frame_text_cut(struct frame_text t, const char *ending)
{
	size_t sz = strlen(ending);

	return t.sz > sz && memcmp(t.s + t.sz - sz, ending, sz) == 0 ? t.sz - sz : t.sz;
}

static size_t frame_text_cut_number(struct frame_text t)
{
	size_t sz = t.sz;

	while (sz && t.s[sz - 1] >= '0' && t.s[sz - 1] <= '9')
		sz--;
	return sz < t.sz && sz && t.s[sz - 1] == '.' ? sz - 1 : t.sz;
}

/* Removes one ending. Returns false if there is none. */
static bool frame_text_cut_suffix(struct frame_text *t)
{
	const struct frame_text stem = { t->s, frame_text_cut_number(*t) };

	for (size_t i = 0; i < sizeof(compiler_suffixes) / sizeof(*compiler_suffixes); i++) {
		size_t sz = frame_text_cut(stem, compiler_suffixes[i].text);

		if (sz == stem.sz || (compiler_suffixes[i].numbered && stem.sz == t->sz))
			continue;
		t->sz = sz;
		return true;
	}
	return false;
}

static bool frame_text_cut_clone(struct frame_text *t)
{
	static const char clone[] = " [clone ";
	const char *open = t->sz && t->s[t->sz - 1] == ']' ? memrchr(t->s, '[', t->sz) : NULL;
	size_t at = open ? (size_t)(open - t->s) : 0;

	if (at < 2 || t->sz - at < sizeof(clone) - 1 ||
	    memcmp(open - 1, clone, sizeof(clone) - 1) != 0)
		return false;
	t->sz = at - 1;
	return true;
}

struct frame_text frame_text__function(struct frame_text name)
{
	while (frame_text_cut_clone(&name) || frame_text_cut_suffix(&name))
		;
	return name;
}

void named_frame__append(struct buf *out, const struct named_frame *f)
{
	const char *slash = f->module.sz ? memrchr(f->module.s, '/', f->module.sz) : NULL;
	size_t skip = slash ? (size_t)(slash + 1 - f->module.s) : 0;
	char place[32];

	if (f->name.sz) {
		struct frame_text name = frame_text__function(f->name);

		buf__append(out, name.s, name.sz);
		return;
	}
	if (f->module.sz > skip)
		buf__append(out, f->module.s + skip, f->module.sz - skip);
	else
		buf__append(out, "[unknown]", strlen("[unknown]"));
	snprintf(place, sizeof(place), "+0x%" PRIx64, f->address + (f->has_start ? 0 : f->offset));
	buf__append(out, place, strlen(place));
}
