// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/search.h"
#include "base/utf8.h"

/* A NUL-terminated copy without control characters, or NULL. */
static char *script_cleaned(const char *text)
{
	struct buf b = { 0 };

	utf8__sanitize_printable(&b, text, strlen(text));
	buf__u8(&b, 0);
	if (!buf__err(&b))
		return (char *)b.data;
	buf__free(&b);
	return NULL;
}

static uint64_t script_key_of(const char *runtime, const char *text)
{
	struct buf b = { 0 };
	uint64_t key;

	buf__str(&b, runtime);
	buf__u8(&b, 0);
	buf__str(&b, text);
	key = buf__err(&b) ? 0 : digest__of(b.data, b.sz);
	buf__free(&b);
	return key;
}

void script__free(struct script *s)
{
	free((char *)s->module);
	free((char *)s->name);
}

size_t script__memory(const struct script *s)
{
	return sizeof(*s) + (s->name ? strlen(s->name) + strlen(s->module) : 0);
}

int script_function__name(struct script_function *f, const char *runtime, const char *module,
			  const char *name)
{
	char *own_module = script_cleaned(module), *own_name = script_cleaned(name);

	if (!own_module || !own_name) {
		free(own_module);
		free(own_name);
		return -ENOMEM;
	}
	f->script = (struct script){ .module = own_module,
				     .name = own_name,
				     .module_key = script_key_of(runtime, own_module),
				     .name_key = script_key_of(runtime, own_name) };
	return 0;
}

int script_function__add(struct script_function *f, uint32_t off, uint32_t line)
{
	struct script_place *places;

	if (f->cnt && f->places[f->cnt - 1].line == line)
		return 0;
	if (f->cnt == SCRIPT_PLACES_MAX)
		return -E2BIG;
	places = array__room(f->places, f->cnt, &f->cap, sizeof(*places));
	if (!places)
		return -ENOMEM;
	f->places = places;
	places[f->cnt++] = (struct script_place){ off, line };
	return 0;
}

/* Returns where the code begins that has `instr`, if any has it. */
static uint64_t script_function__start_of(const struct script_function *f, uint64_t instr)
{
	size_t lo;

	if (instr - f->start < f->sz)
		return f->start;
	lo = SEARCH_COUNT(f->copies, f->copy_cnt, c, *c <= instr);
	return lo ? f->copies[lo - 1] : f->start;
}

bool script_function__has(const struct script_function *f, uint64_t instr)
{
	return instr - script_function__start_of(f, instr) < f->sz;
}

bool script_function__line(const struct script_function *f, uint64_t instr, uint32_t *line)
{
	uint64_t off = instr - script_function__start_of(f, instr);
	size_t lo;

	*line = 0;
	if (off >= f->sz)
		return false;
	lo = SEARCH_COUNT(f->places, f->cnt, p, p->off <= off);
	if (lo)
		*line = f->places[lo - 1].line;
	return true;
}

size_t script_function__memory(const struct script_function *f)
{
	return sizeof(*f) - sizeof(f->script) + script__memory(&f->script) +
	       f->cap * sizeof(*f->places) + f->copy_cnt * sizeof(*f->copies);
}

void script_function__free(struct script_function *f)
{
	script__free(&f->script);
	free(f->places);
	free(f->copies);
	*f = (struct script_function){ 0 };
}
