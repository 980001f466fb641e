// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/remote.h"

#include <string.h>
#include <unistd.h>

#define READ_COST 64 /* bytes that a read counts at least: that bounds their number, too */
#define TEXT_MAX  64
#define PAGE	  4096

bool remote__read(struct remote *r, uint64_t addr, void *to, size_t sz)
{
	size_t cost = sz < READ_COST ? READ_COST : sz;

	if (!r->err && (cost > r->left || addr > INT64_MAX ||
			pread(r->mem, to, sz, (off_t)addr) != (ssize_t)sz))
		r->err = true;
	if (r->err)
		memset(to, 0, sz);
	else
		r->left -= cost;
	return !r->err;
}

uint8_t remote__u8(struct remote *r, uint64_t addr)
{
	uint8_t v;

	remote__read(r, addr, &v, sizeof(v));
	return v;
}

uint32_t remote__u32(struct remote *r, uint64_t addr)
{
	uint32_t v;

	remote__read(r, addr, &v, sizeof(v));
	return v;
}

uint64_t remote__u64(struct remote *r, uint64_t addr)
{
	uint64_t v;

	remote__read(r, addr, &v, sizeof(v));
	return v;
}

bool remote__is_text(struct remote *r, uint64_t addr, const char *text)
{
	char there[TEXT_MAX] = "";
	size_t sz = strlen(text) + 1;

	return sz <= sizeof(there) && remote__read(r, addr, there, sz) && !memcmp(there, text, sz);
}

/* The page after the text may not be mapped. */
void remote__text(struct remote *r, uint64_t addr, char *text, size_t sz)
{
	size_t room = sz - 1, first = PAGE - addr % PAGE;

	first = first < room ? first : room;
	memset(text, 0, sz);
	if (remote__read(r, addr, text, first) && !memchr(text, 0, first) && first < room)
		remote__read(r, addr + first, text + first, room - first);
}
