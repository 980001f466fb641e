// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if __has_include(<libiberty/demangle.h>) /* Debian */
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif

#include "base/utf8.h"

/* Bytes. libiberty's own limit on recursion rejects longer C++ names. */
#define MANGLED_MAX (SYMBOL_MANGLED_MAX - sizeof("@plt"))
/* A D name can repeat parts of itself: n references make at most 3^(n/3) copies. */
#define D_BACKREFS_MAX 24
#define ELLIPSIS       "\xe2\x80\xa6"

/*
 * Substitutions can make a name of 100 bytes expand to gigabytes. libiberty can only be stopped by
 * leaving its callback. It then keeps its state on the stack, except the decoded text of Rust's
 * non-ASCII identifiers, which is freed when the callback returns; ASCII text follows soon.
 */
struct demangle_output {
	char *data;
	size_t sz, cap;
	bool rust;
	jmp_buf full;
};

static bool demangle_is_ascii(const char *s, size_t sz)
{
	for (size_t i = 0; i < sz; i++)
		if (s[i] & 0x80)
			return false;
	return true;
}

static void demangle_append(const char *s, size_t sz, void *arg)
{
	struct demangle_output *o = arg;
	size_t room = o->cap - o->sz, n = sz < room ? sz : room;

	if (n) /* s may be NULL if it is empty */
		memcpy(o->data + o->sz, s, n);
	o->sz += n;
	if (n < sz && (!o->rust || demangle_is_ascii(s, sz)))
		longjmp(o->full, 1);
}

typedef int (*demangle_fn)(const char *mangled, int options, demangle_callbackref, void *opaque);

static bool demangle_run(demangle_fn fn, const char *mangled, struct demangle_output *o)
{
	o->sz = 0;
	o->rust = fn == rust_demangle_callback;
	if (setjmp(o->full) != 0)
		return true;
	return fn(mangled, DMGL_PARAMS | DMGL_ANSI, demangle_append, o) && o->sz > 0;
}

static int demangle_dlang(const char *mangled, int options, demangle_callbackref callback,
			  void *opaque)
{
	size_t backrefs = 0;
	char *s;

	for (const char *p = strchr(mangled, 'Q'); p; p = strchr(p + 1, 'Q'))
		backrefs++;
	if (backrefs > D_BACKREFS_MAX)
		return 0;
	s = dlang_demangle(mangled, options);
	if (s) /* passes only what fits: demangle_append() might not return, and `s` would leak */
		callback(s, strnlen(s, SYMBOL_NAME_MAX), opaque);
	free(s);
	return s != NULL;
}

/* Rust's old names are C++ names with a hash at the end, so Rust comes first. */
static const struct {
	const char *prefix;
	demangle_fn fn;
} languages[] = {
	{ "_R", rust_demangle_callback },
	{ "_ZN", rust_demangle_callback },
	{ "_Z", cplus_demangle_v3_callback },
	{ "_GLOBAL_", cplus_demangle_v3_callback },
	{ "_D", demangle_dlang },
};

#define LANGUAGE_CNT (sizeof(languages) / sizeof(*languages))

/* Returns the first language from `i` on that has such names, or LANGUAGE_CNT. */
static size_t demangle_language_of(const char *mangled, size_t i)
{
	while (i < LANGUAGE_CNT &&
	       strncmp(mangled, languages[i].prefix, strlen(languages[i].prefix)) != 0)
		i++;
	return i;
}

static bool demangle(const char *mangled, struct demangle_output *o)
{
	for (size_t i = 0; (i = demangle_language_of(mangled, i)) < LANGUAGE_CNT; i++)
		if (demangle_run(languages[i].fn, mangled, o))
			return true;
	return false;
}

/* Returns the number of leading bytes that are printable characters of ASCII: in most names, all.
 */
static size_t demangle_printable_prefix(const char *s, size_t sz)
{
	size_t n = 0;

	while (n < sz && s[n] >= ' ' && s[n] <= '~')
		n++;
	return n;
}

/* Copies the whole characters of s that fit; a cut name ends in "…". */
static size_t demangle_clean(const char *s, size_t sz, char out[SYMBOL_NAME_MAX])
{
	const size_t max = SYMBOL_NAME_MAX - 1;
	size_t at = demangle_printable_prefix(s, sz < max ? sz : max);
	size_t fits = at + strlen(ELLIPSIS) <= max ? at : max - strlen(ELLIPSIS);

	memcpy(out, s, at);
	for (size_t i = at; i < sz;) {
		bool whole;
		size_t n = utf8__character(s + i, sz - i, &whole);
		bool good = whole && !utf8__is_control(s + i, n);
		const char *from = good ? s + i : UTF8_REPLACEMENT;
		size_t len = good ? n : strlen(UTF8_REPLACEMENT);

		if (at + len > max) {
			memcpy(out + fits, ELLIPSIS, strlen(ELLIPSIS));
			at = fits + strlen(ELLIPSIS);
			break;
		}
		memcpy(out + at, from, len);
		at += len;
		if (at + strlen(ELLIPSIS) <= max)
			fits = at;
		i += n;
	}
	out[at] = '\0';
	return at;
}

static const char plt[] = "@plt";

/* Returns the bytes of "@plt" at the end of the name, or 0. */
static size_t demangle_plt_suffix(const char *raw, size_t sz)
{
	return sz > strlen(plt) && strcmp(raw + sz - strlen(plt), plt) == 0 ? strlen(plt) : 0;
}

bool symbol_name_is_mangled(const char *raw)
{
	size_t sz = strnlen(raw, SYMBOL_NAME_MAX);

	return sz - demangle_plt_suffix(raw, sz) <= MANGLED_MAX &&
	       demangle_language_of(raw, 0) < LANGUAGE_CNT;
}

size_t symbol_name_plain(const char *raw, char out[SYMBOL_NAME_MAX])
{
	return demangle_clean(raw, strnlen(raw, SYMBOL_NAME_MAX), out);
}

size_t symbol_name(const char *raw, char out[SYMBOL_NAME_MAX])
{
	char text[SYMBOL_NAME_MAX + 1], mangled[MANGLED_MAX + 1];
	struct demangle_output o = { .data = text, .cap = sizeof(text) };
	size_t sz = strnlen(raw, SYMBOL_NAME_MAX);
	size_t suffix = demangle_plt_suffix(raw, sz);

	if (!symbol_name_is_mangled(raw))
		return demangle_clean(raw, sz, out);
	memcpy(mangled, raw, sz - suffix);
	mangled[sz - suffix] = '\0';
	if (!demangle(mangled, &o))
		return demangle_clean(raw, sz, out);
	if (suffix && o.cap - o.sz >= suffix)
		demangle_append(plt, suffix, &o);
	return demangle_clean(text, o.sz, out);
}
