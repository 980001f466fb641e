// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/golines.h"

#include <string.h>

#include "base/cursor.h"
#include "base/search.h"
#include "symbol/demangle.h"

/* Returns whether the sizes in the header add up to `sz`. */
static bool go_lines_has_size(const struct go_lines_head *h, size_t sz)
{
	return sizeof(*h) + ((uint64_t)h->range_cnt + 1) * sizeof(struct go_lines_range) +
		       (uint64_t)h->string_cnt * sizeof(uint32_t) + h->code_sz + h->strings_sz ==
	       sz;
}

static bool go_lines_has_sound_ranges(const struct go_lines *l)
{
	for (size_t i = 0; i < l->head->range_cnt; i++)
		if (l->ranges[i].start > l->ranges[i + 1].start ||
		    l->ranges[i].at > l->ranges[i + 1].at ||
		    l->ranges[i + 1].at - l->ranges[i].at > GO_PART_MAX)
			return false;
	return l->ranges[l->head->range_cnt].at <= l->head->code_sz;
}

/* A readable text is one that symbol_name_plain() leaves as it is. */
static bool go_lines_has_sound_strings(const struct go_lines *l)
{
	char plain[SYMBOL_NAME_MAX];

	if (l->head->strings_sz && l->strings[l->head->strings_sz - 1])
		return false;
	for (size_t i = 0; i < l->head->string_cnt; i++) {
		if (l->strings_at[i] >= l->head->strings_sz)
			return false;
		symbol_name_plain(l->strings + l->strings_at[i], plain);
		if (strcmp(l->strings + l->strings_at[i], plain) != 0)
			return false;
	}
	return true;
}

bool go_lines__open(struct go_lines *l, const void *block, size_t sz)
{
	*l = (struct go_lines){ .head = block };
	if (sz < sizeof(*l->head) || !go_lines_has_size(l->head, sz))
		return false;
	l->ranges = (const struct go_lines_range *)(l->head + 1);
	l->strings_at = (const uint32_t *)(l->ranges + l->head->range_cnt + 1);
	l->code = (const uint8_t *)(l->strings_at + l->head->string_cnt);
	l->strings = (const char *)(l->code + l->head->code_sz);
	return go_lines_has_sound_ranges(l) && go_lines_has_sound_strings(l);
}

static const char *go_lines_string(const struct go_lines *l, uint64_t id)
{
	return id && id < l->head->string_cnt ? l->strings + l->strings_at[id] : NULL;
}

/* The place that is being looked up. */
struct go_place {
	uint64_t file, inlined;
	uint32_t line;
};

/* Moves to the place that `off`, in the function's code, belongs to. Returns false if there is
 * none. */
static bool go_place_find(struct cursor *c, uint64_t off, struct go_place *p)
{
	uint64_t end = 0;

	*p = (struct go_place){ 0 };
	while (cursor__left(c) && end <= off) {
		uint64_t head = cursor__uleb(c);

		if (head & 1) {
			p->file = cursor__uleb(c);
			p->inlined = cursor__uleb(c);
		}
		p->line += (uint32_t)cursor__sleb(c);
		end += head >> 1;
		if (c->err || head >> 1 > UINT32_MAX)
			return false;
	}
	return end > off;
}

static void golines_add_line(struct code_lines *out, const char *function, const char *file,
			     uint32_t line)
{
	out->v[out->cnt++] = (struct code_line){ function, file, line };
}

bool go_lines__at(const struct go_lines *l, uint64_t vaddr, struct code_lines *out)
{
	uint64_t off = vaddr - l->head->text;
	size_t idx = SEARCH_COUNT(l->ranges, l->head->range_cnt, r, r->start <= off);
	const struct go_lines_range *range = idx ? &l->ranges[idx - 1] : NULL;
	const uint8_t *inlined;
	struct go_place place;
	uint64_t inlined_cnt;
	struct cursor c;

	out->cnt = 0;
	if (!range || off >= range[1].start)
		return false;
	c = cursor__on(l->code + range->at, range[1].at - range->at);
	inlined_cnt = cursor__u32(&c);
	inlined = cursor__bytes(&c, inlined_cnt * sizeof(struct go_inlined));
	if (c.err || !go_place_find(&c, off - range->start, &place) || !place.file)
		return false;
	while (place.inlined && place.inlined <= inlined_cnt && out->cnt < CODE_LINES_MAX - 1) {
		struct go_inlined call;

		memcpy(&call, inlined + (place.inlined - 1) * sizeof(call), sizeof(call));
		golines_add_line(out, go_lines_string(l, call.function),
				 go_lines_string(l, place.file), place.line);
		place = (struct go_place){ call.file, call.caller, call.line };
	}
	golines_add_line(out, NULL, go_lines_string(l, place.file), place.line);
	return true;
}
