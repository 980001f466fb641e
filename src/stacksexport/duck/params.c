// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/params.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

const char *const param_names[PARAM_CNT] = { "command", "buildid" };

struct params_scanner {
	const char *pos;
	struct buf out;	 /* the statement being read */
	bool empty;	 /* no more than spaces and comments so far */
	enum param last; /* the parameter that was just read; PARAM_CNT: something else */
	struct statements *statements;
};

/* A string literal in one of DuckDB's notations. */
struct literal {
	const char *open; /* quote, E' or $tag$ */
	size_t open_sz;
	const char *close;
	size_t close_sz;
	bool doubling, escapes; /* '' stands for ', \' for ' */
};

static bool params_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

/* Returns the parameter that has its name at `s`, after the question mark; PARAM_CNT: none. */
static enum param param__at(const char *s)
{
	enum param p = 0;

	while (p < PARAM_CNT &&
	       (*s != '?' || strncmp(s + 1, param_names[p], strlen(param_names[p])) != 0))
		p++;
	return p;
}

static size_t param__sz(enum param p)
{
	return 1 + strlen(param_names[p]);
}

static void params_emit(struct params_scanner *s, const char *text)
{
	buf__append(&s->out, text, strlen(text));
}

static void params_emit_param(struct params_scanner *s, enum param p)
{
	params_emit(s, "CAST($");
	params_emit(s, param_names[p]);
	params_emit(s, " AS VARCHAR)");
	s->statements->uses[p] = true;
	s->last = p;
}

static void params_copy(struct params_scanner *s, size_t sz)
{
	buf__append(&s->out, s->pos, sz);
	s->pos += sz;
}

/* Skips to the end of the line; the comment is dropped. */
static int params_line_comment(struct params_scanner *s)
{
	s->pos += strcspn(s->pos, "\n");
	params_emit(s, " ");
	return 0;
}

/* Skips a comment with the comments that are nested in it. */
static int params_block_comment(struct params_scanner *s)
{
	size_t depth = 0;

	do {
		bool opens = strncmp(s->pos, "/*", 2) == 0, closes = strncmp(s->pos, "*/", 2) == 0;

		if (*s->pos == '\0')
			return -EINVAL;
		depth = depth + opens - closes;
		s->pos += opens || closes ? 2 : 1;
	} while (depth);
	params_emit(s, " ");
	return 0;
}

static int params_identifier(struct params_scanner *s)
{
	const char *end = s->pos + 1;

	while (*end && *end != '"')
		end++;
	if (!*end)
		return -EINVAL;
	params_copy(s, (size_t)(end + 1 - s->pos)); /* "" counts as two identifiers: same text */
	return 0;
}

/* Returns the end of the literal that begins at `body`; NULL if it does not end. */
static const char *literal__end(const struct literal *l, const char *body)
{
	for (; *body; body++) {
		bool closes = strncmp(body, l->close, l->close_sz) == 0;

		if (closes && l->doubling && body[1] == '\'')
			body++;
		else if (closes)
			return body;
		else if (l->escapes && *body == '\\' && body[1])
			body++;
	}
	return NULL;
}

static void params_emit_piece(struct params_scanner *s, const struct literal *l, const char *from,
			      const char *to)
{
	buf__append(&s->out, l->open, l->open_sz);
	buf__append(&s->out, from, (size_t)(to - from));
	buf__append(&s->out, l->close, l->close_sz);
}

/* Emits the literal, or an expression of its parts. Leaves out empty parts unless there is nothing
 * else. */
static void params_emit_literal(struct params_scanner *s, const struct literal *l, const char *body,
				const char *end)
{
	const char *from = body, *at = body;
	bool cut = false;

	while (at < end) {
		enum param p = param__at(at);

		if (p == PARAM_CNT) {
			at++;
			continue;
		}
		params_emit(s, cut ? " || " : "(");
		if (at > from) {
			params_emit_piece(s, l, from, at);
			params_emit(s, " || ");
		}
		params_emit_param(s, p);
		cut = true;
		from = at += param__sz(p);
	}
	if (!cut || from < end) {
		params_emit(s, cut ? " || " : "");
		params_emit_piece(s, l, from, end);
	}
	params_emit(s, cut ? ")" : "");
}

static int params_literal(struct params_scanner *s, const struct literal *l)
{
	const char *body = s->pos + l->open_sz, *end = literal__end(l, body);

	if (!end)
		return -EINVAL;
	params_emit_literal(s, l, body, end);
	s->pos = end + l->close_sz;
	return 0;
}

static int params_quoted(struct params_scanner *s)
{
	struct literal l = { s->pos, 1, "'", 1, true, false };

	return params_literal(s, &l);
}

static int params_escaped(struct params_scanner *s)
{
	struct literal l = { s->pos, 2, "'", 1, true, true };

	return params_literal(s, &l);
}

/* Copies $tag$ … $tag$. Anything else that begins with $ is a parameter and copied. */
static int params_dollar(struct params_scanner *s)
{
	size_t sz = 1;

	while (params_is_word(s->pos[sz]))
		sz++;
	if (s->pos[sz] != '$' || isdigit((unsigned char)s->pos[1])) {
		params_copy(s, sz);
		return 0;
	}
	return params_literal(s, &(struct literal){ s->pos, sz + 1, s->pos, sz + 1, false, false });
}

static int params_bare(struct params_scanner *s)
{
	enum param p = param__at(s->pos);

	if (p == PARAM_CNT || params_is_word(s->pos[param__sz(p)])) {
		params_copy(s, 1);
		return 0;
	}
	params_emit_param(s, p);
	s->pos += param__sz(p);
	return 0;
}

static int params_word(struct params_scanner *s)
{
	size_t sz = 1;

	while (params_is_word(s->pos[sz]) || s->pos[sz] == '$')
		sz++;
	params_copy(s, sz);
	return 0;
}

static int params_other(struct params_scanner *s)
{
	params_copy(s, 1);
	return 0;
}

/* Ends a statement, and drops it if it has no text. */
static int params_finish(struct params_scanner *s)
{
	char **sql;

	if (s->empty) {
		buf__reset(&s->out);
		return 0;
	}
	buf__u8(&s->out, 0);
	sql = reallocarray(s->statements->sql, s->statements->cnt + 1, sizeof(*sql));
	if (sql)
		s->statements->sql = sql;
	if (!sql || buf__err(&s->out))
		return -ENOMEM;
	sql[s->statements->cnt++] = (char *)s->out.data;
	s->out = (struct buf){ 0 };
	s->empty = true;
	return 0;
}

static int params_semicolon(struct params_scanner *s)
{
	s->pos++;
	return params_finish(s);
}

/* The tokens by their first characters; the first match counts. `text` is false if the token is not
 * part of a statement. */
static const struct token {
	const char *begins;
	int (*read)(struct params_scanner *);
	bool text;
} tokens[] = {
	{ "--", params_line_comment, false }, { "/*", params_block_comment, false },
	{ ";", params_semicolon, false },     { "\"", params_identifier, true },
	{ "'", params_quoted, true },	      { "e'", params_escaped, true },
	{ "E'", params_escaped, true },	      { "$", params_dollar, true },
	{ "?", params_bare, true },	      { " ", params_other, false },
	{ "\t", params_other, false },	      { "\n", params_other, false },
	{ "\r", params_other, false },
};

static int params_step(struct params_scanner *s)
{
	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		const struct token *t = &tokens[i];

		if (strncmp(s->pos, t->begins, strlen(t->begins)) != 0)
			continue;
		s->empty = s->empty && !t->text;
		if (t->text)
			s->last = PARAM_CNT;
		return t->read(s);
	}
	s->empty = false;
	if (s->last != PARAM_CNT && strncasecmp(s->pos, "is null", strlen("is null")) == 0)
		s->statements->optional[s->last] = true;
	s->last = PARAM_CNT;
	return params_is_word(*s->pos) ? params_word(s) : params_other(s);
}

int statements__parse(struct statements *st, const char *text)
{
	struct params_scanner s = {
		.pos = text, .empty = true, .last = PARAM_CNT, .statements = st
	};
	int err = 0;

	*st = (struct statements){ 0 };
	while (!err && *s.pos)
		err = params_step(&s);
	if (!err)
		err = params_finish(&s);
	buf__free(&s.out);
	if (err)
		statements__free(st);
	return err;
}

void statements__free(struct statements *st)
{
	for (size_t i = 0; i < st->cnt; i++)
		free(st->sql[i]);
	free(st->sql);
	*st = (struct statements){ 0 };
}
