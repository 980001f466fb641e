// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/jsonscan.h"

#include <string.h>

/* Level 0 is around the document. */
struct jsonscan_state {
	const char *at, *end;
	unsigned depth;
	bool is_object[JSONSCAN_DEPTH_MAX + 1];
	struct jsonscan_text keys[JSONSCAN_DEPTH_MAX + 1];
};

/* Reads a text, of which the first quote is passed. Returns false if it does not end. */
static bool jsonscan_take_text(struct jsonscan_state *s, struct jsonscan_text *out)
{
	out->at = s->at;
	for (; s->at < s->end; s->at++) {
		if (*s->at == '\\')
			s->at++;
		else if (*s->at == '"')
			break;
	}
	if (s->at >= s->end)
		return false;
	out->sz = (size_t)(s->at++ - out->at);
	return true;
}

static void jsonscan_skip_blanks(struct jsonscan_state *s)
{
	while (s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at)
		s->at++;
}

/* Returns false at too many levels. */
static bool jsonscan_open_level(struct jsonscan_state *s, bool is_object)
{
	if (s->depth == JSONSCAN_DEPTH_MAX)
		return false;
	s->depth++;
	s->is_object[s->depth] = is_object;
	s->keys[s->depth] = is_object ? (struct jsonscan_text){ "", 0 } : s->keys[s->depth - 1];
	return true;
}

bool jsonscan_text__is(const struct jsonscan_text *t, const char *s)
{
	return t->sz == strlen(s) && memcmp(t->at, s, t->sz) == 0;
}

/* Returns true if it was a value, and sets it. */
static bool jsonscan_take_value(struct jsonscan_state *s, const struct jsonscan_text *text,
				struct jsonscan_value *v)
{
	jsonscan_skip_blanks(s);
	if (s->is_object[s->depth] && s->at < s->end && *s->at == ':') {
		s->keys[s->depth] = *text;
		return false;
	}
	*v = (struct jsonscan_value){ .depth = s->depth,
				      .outer = s->keys[s->depth ? s->depth - 1 : 0],
				      .key = s->keys[s->depth],
				      .value = *text };
	return true;
}

void jsonscan__each(const char *document, size_t sz, jsonscan_fn fn, void *arg)
{
	struct jsonscan_state s = { .at = document, .end = document + sz, .keys = { { "", 0 } } };
	struct jsonscan_text text;
	struct jsonscan_value v;

	while (s.at < s.end) {
		char c = *s.at++;

		if (c == '{' || c == '[') {
			if (!jsonscan_open_level(&s, c == '{'))
				return;
		} else if (c == '}' || c == ']') {
			s.depth -= s.depth > 0;
		} else if (c == '"') {
			if (!jsonscan_take_text(&s, &text) ||
			    (jsonscan_take_value(&s, &text, &v) && fn(&v, arg)))
				return;
		}
	}
}
