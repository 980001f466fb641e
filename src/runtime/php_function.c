// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions of PHP: names, and lines of those that are not in C. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/php_layout.h"

#define NAME_SZ 512
#define PATH_SZ 4096
#define OPS_MAX 65536 /* instructions of a function; larger ones give no lines */

struct php_function {
	uint64_t type, name, class;
	uint64_t code; /* instructions, or the C function */
	uint64_t file;
	uint64_t module; /* of a function in C */
	uint32_t op_cnt, line;
	uint64_t name_text, file_hash; /* for the cookie, of the texts as they were read */
};

/* All words at once: the memory may be another function's by the next read. */
static void php_function_read_words(struct remote *r, const struct runtime_layout *l, uint64_t at,
				    struct php_function *p)
{
	uint64_t words[CAPTURE_PHP_FUNCTION_WORDS];
	const uint32_t *off = l->at;

	remote__read(r, at % 8 ? UINT64_MAX : at, words, sizeof(words));
	*p = (struct php_function){
		.type = words[0] & CAPTURE_PHP_TYPES,
		.name = words[CAPTURE_PHP_NAME],
		.class = words[CAPTURE_PHP_CLASS],
		.code = words[off[PHP_OPS] / 8],
		.file = words[off[PHP_FILE] / 8],
		.module = words[off[PHP_MODULE] / 8],
		.op_cnt = (uint32_t)(words[off[PHP_OPS_CNT] / 8] >> off[PHP_OPS_CNT] % 8 * 8),
		.line = (uint32_t)words[off[PHP_LINE] / 8],
	};
	if (p->type == CAPTURE_PHP_INTERNAL)
		p->code = words[off[PHP_HANDLER] / 8];
}

static void php_take_description(const struct function_wanted *w, struct php_function *p)
{
	const struct event_call *d = &w->description;

	*p = (struct php_function){ .type = w->cookie & CAPTURE_PHP_TYPES,
				    .name = d->at,
				    .class = d->code,
				    .code = d->instr,
				    .file = d->word,
				    .op_cnt = (uint32_t)d->cookie,
				    .line = (uint32_t)(d->cookie >> 32) };
}

/* ---- names --------------------------------------------------------------------------------------
 */

/* zend_inline_hash_func() */
static uint64_t php_function_hash_of(const char *text, size_t sz)
{
	uint64_t hash = 5381;

	for (size_t i = 0; i < sz; i++)
		hash = hash * 33 + (uint8_t)text[i];
	return hash | 1ull << 63;
}

/* A zend_string, as it was read. */
struct text {
	uint64_t words[CAPTURE_PHP_STRING_WORDS];
	char *at; /* cut to .sz - 1 bytes, with a NUL */
	size_t sz;
};

/* Returns false if the text is none, or has changed meanwhile: names of anonymous classes go on
 * after a NUL. The hash is 0 until PHP needs it. */
static bool php_function_read_text(struct remote *r, uint64_t string, struct text *t)
{
	const uint64_t *words = t->words, *len = &words[CAPTURE_PHP_LENGTH];
	size_t first = sizeof(t->words) - PHP_STRING_TEXT, sz;

	memset(t->at, 0, t->sz);
	if (!remote__read(r, string, t->words, sizeof(t->words)))
		return false;
	sz = *len < t->sz ? *len : t->sz - 1;
	if (!remote__read(r, string + PHP_STRING_TEXT, t->at, sz))
		return false;
	if (memcmp(t->at, &words[PHP_STRING_TEXT / 8], sz < first ? sz : first) != 0)
		return false;
	return *len >= t->sz || !words[CAPTURE_PHP_HASH] ||
	       php_function_hash_of(t->at, sz) == words[CAPTURE_PHP_HASH];
}

/* Up to 8.3 all closures have the same name. Later ones have their place in it: so have these. */
static void php_place_closure(char *name, const char *path, uint32_t line)
{
	const char *slash = strrchr(path, '/');

	if (strcmp(name, "{closure}") == 0)
		snprintf(name, NAME_SZ, "{closure:%.200s:%u}", slash ? slash + 1 : path, line);
}

/* Reads the name of the function, without its class. */
static bool php_function_read_own_name(struct remote *r, struct php_function *p, char *name)
{
	struct text t = { .at = name, .sz = NAME_SZ };

	if (!p->name) {
		if (p->type != CAPTURE_PHP_INTERNAL)
			snprintf(name, NAME_SZ, "%s", p->type == PHP_EVAL ? "{eval}" : "{main}");
		return true;
	}
	if (!php_function_read_text(r, p->name, &t))
		return false;
	p->name_text = CAPTURE_PHP_TEXT(t.words);
	return true;
}

static bool php_read_class(struct remote *r, uint64_t class, char *name)
{
	struct text t = { .at = name, .sz = NAME_SZ };

	return php_function_read_text(r, remote__u64(r, class + PHP_CLASS_NAME), &t);
}

static int php_function_set_name(struct remote *r, struct php_function *p,
				 struct script_function *f, const char *module)
{
	char own[NAME_SZ] = "", class[NAME_SZ] = "", name[2 * NAME_SZ + 2];

	if (!php_function_read_own_name(r, p, own))
		return -ESTALE;
	php_place_closure(own, module, f->first_line);
	if (p->class && *own && *own != '{' && !php_read_class(r, p->class, class))
		return -ESTALE;
	snprintf(name, sizeof(name), "%s%s%s", class, *class ? "::" : "", own);
	return r->err ? -EFAULT : script_function__name(f, php.name, module, name);
}

/* The module is the extension: `<standard>`. */
static int php_read_internal(struct remote *r, struct php_function *p, struct script_function *f)
{
	char name[64] = "php", module[sizeof(name) + 2];

	if (p->module)
		remote__text(r, remote__u64(r, p->module + PHP_MODULE_NAME), name, sizeof(name));
	snprintf(module, sizeof(module), "<%s>", name);
	f->start = p->code;
	return php_function_set_name(r, p, f, module);
}

/* ---- lines --------------------------------------------------------------------------------------
 */

#define CHUNK 128 /* instructions */

static int php_function_read_lines(struct remote *r, struct script_function *f, size_t cnt)
{
	uint32_t words[CHUNK][PHP_OP_SZ / 4];
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i += CHUNK) {
		size_t n = cnt - i < CHUNK ? cnt - i : CHUNK;

		if (!remote__read(r, f->start + i * PHP_OP_SZ, words, n * PHP_OP_SZ))
			return -EFAULT;
		for (size_t op = 0; op < n && !err; op++)
			err = script_function__add(f, (uint32_t)(i + op) * PHP_OP_SZ,
						   words[op][PHP_OP_LINE / 4]);
	}
	return err;
}

static int php_read_user(struct remote *r, struct php_function *p, struct script_function *f)
{
	char path[PATH_SZ];
	struct text t = { .at = path, .sz = sizeof(path) };
	int err;

	f->start = p->code;
	f->sz = (uint64_t)p->op_cnt * PHP_OP_SZ;
	f->first_line = p->line;
	if (!php_function_read_text(r, p->file, &t))
		return -ESTALE;
	p->file_hash = t.words[CAPTURE_PHP_HASH];
	err = php_function_set_name(r, p, f, path);
	return err || p->op_cnt > OPS_MAX ? err : php_function_read_lines(r, f, p->op_cnt);
}

/* ---- functions ----------------------------------------------------------------------------------
 */

static uint64_t php_cookie_of(const struct php_function *p)
{
	if (p->type == CAPTURE_PHP_INTERNAL)
		return CAPTURE_PHP_COOKIE(p->type, p->name, p->class, p->code);
	return CAPTURE_PHP_COOKIE(p->type, p->name_text, p->code, p->file_hash);
}

/* What was read is the function of the event if its texts are those of that time. */
static int php_function_read_parts(struct remote *r, const struct function_wanted *w,
				   struct php_function *p, struct script_function *f)
{
	int err = -EINVAL;

	if (p->type == CAPTURE_PHP_INTERNAL)
		err = php_read_internal(r, p, f);
	else if (p->type == PHP_USER || p->type == PHP_EVAL)
		err = php_read_user(r, p, f);
	return err ? err : php_cookie_of(p) == w->cookie ? 0 : -ESTALE;
}

int php__read(struct remote *r, const struct runtime_layout *l, const struct function_wanted *w,
	      struct script_function *f)
{
	struct php_function p;

	if (w->description.word)
		php_take_description(w, &p);
	else
		php_function_read_words(r, l, w->code, &p);
	return php_function_read_parts(r, w, &p, f);
}
