// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacks/carry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/strtab.h"

struct saved {
	uint64_t stack_id;
	size_t cnt; /* frames; they follow it in carry.stacks, their strings are ids of
		       carry.strings */
};

struct carry {
	struct strtab *strings;
	struct buf stacks;
};

struct carry *carry__new(void)
{
	struct carry *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->strings = strtab__new();
	if (!c->strings) {
		carry__free(c);
		return errno = ENOMEM, NULL;
	}
	return c;
}

void carry__free(struct carry *c)
{
	if (!c)
		return;
	strtab__free(c->strings);
	buf__free(&c->stacks);
	free(c);
}

static uint32_t carry_save_string(struct carry *c, const struct recording *r, uint32_t id)
{
	size_t sz;
	const char *s = recording__str(r, id, &sz);

	return strtab__id(c->strings, s, sz);
}

bool carry__save(struct carry *c, const struct recording *r, uint64_t stack_id)
{
	struct saved saved = { .stack_id = stack_id };
	size_t at = c->stacks.sz;
	struct row_frame *frames;
	ssize_t cnt;

	if (!stack_id)
		return true;
	buf__append(&c->stacks, &saved, sizeof(saved));
	cnt = recording__stack(r, stack_id, &c->stacks);
	if (cnt < 0 || buf__err(&c->stacks)) {
		c->stacks.sz = at;
		return false;
	}
	saved.cnt = (size_t)cnt;
	memcpy(c->stacks.data + at, &saved, sizeof(saved));
	frames = (struct row_frame *)(void *)(c->stacks.data + at + sizeof(saved));
	for (size_t i = 0; i < saved.cnt; i++) {
		frames[i].name = carry_save_string(c, r, frames[i].name);
		frames[i].module = carry_save_string(c, r, frames[i].module);
		frames[i].build_id = carry_save_string(c, r, frames[i].build_id);
		frames[i].mark = carry_save_string(c, r, frames[i].mark);
		frames[i].file = carry_save_string(c, r, frames[i].file);
	}
	return true;
}

static uint32_t carry_restore_string(struct carry *c, struct recording *r, uint32_t id)
{
	size_t sz;
	const char *s = strtab__str(c->strings, id, &sz);

	return recording__string(r, s, sz);
}

void carry__restore(struct carry *c, struct recording *r)
{
	uint8_t *at = c->stacks.data, *end = at + c->stacks.sz;

	while (at < end) {
		struct saved saved;
		struct row_frame *frames = (struct row_frame *)(void *)(at + sizeof(saved));

		memcpy(&saved, at, sizeof(saved));
		for (size_t i = 0; i < saved.cnt; i++) {
			frames[i].name = carry_restore_string(c, r, frames[i].name);
			frames[i].module = carry_restore_string(c, r, frames[i].module);
			frames[i].build_id = carry_restore_string(c, r, frames[i].build_id);
			frames[i].mark = carry_restore_string(c, r, frames[i].mark);
			frames[i].file = carry_restore_string(c, r, frames[i].file);
		}
		if (!recording__has_stack(r, saved.stack_id))
			recording__add_stack(r, saved.stack_id, frames, saved.cnt);
		at += sizeof(saved) + saved.cnt * sizeof(*frames);
	}
	buf__reset(&c->stacks);
	strtab__reset(c->strings);
}
