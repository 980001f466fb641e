// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/trampolines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/rule.h"

#define GAP_MAX	  65536 /* bytes of a gap that are looked through */
#define BYTES_MAX (1u << 20)

struct trampolines trampolines__in(const struct elf_file *f, elf_file_read_fn read, size_t gaps_max)
{
	return (struct trampolines){
		.file = f, .read = read, .gaps_left = gaps_max, .bytes_left = BYTES_MAX
	};
}

void trampolines__free(struct trampolines *t)
{
	free(t->bytes);
}

bool trampolines__find(void *arg, uint64_t off, uint64_t end, struct table_mark *found)
{
	struct trampolines *t = arg;
	const struct text_pattern *code = text__sigreturn_code(t->file->machine);
	size_t sz = end - off < GAP_MAX ? end - off : GAP_MAX;
	const uint8_t *at;

	if (sz < code->sz || t->gaps_left == 0 || t->bytes_left < sz)
		return false;
	if (!t->bytes)
		t->bytes = malloc(GAP_MAX);
	t->err = t->bytes ? t->read(t->file, off, t->bytes, sz) : -ENOMEM;
	if (t->err)
		return false;
	t->gaps_left--;
	t->bytes_left -= sz;
	at = memmem(t->bytes, sz, code->bytes, code->sz);
	if (!at)
		return false;
	*found = (struct table_mark){ .off = off + (uint64_t)(at - t->bytes),
				      .sz = code->sz,
				      .rule = rule__flat_signal_frame(t->file->machine) };
	return true;
}
