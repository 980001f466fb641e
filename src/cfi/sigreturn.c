// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/sigreturn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/fullrule.h"

/* Bytes searched at a time. Touching new memory costs more than reading into it. */
#define PIECE_SZ  8192
#define BYTES_MAX (1u << 20)

struct sigreturns sigreturn__in(const struct elf_file *f, elf_file_read_fn read, size_t gaps_max)
{
	return (struct sigreturns){
		.file = f, .read = read, .gaps_left = gaps_max, .bytes_left = BYTES_MAX
	};
}

void sigreturn__free(struct sigreturns *t)
{
	free(t->bytes);
}

/* Returns the offset of the code in [off, end), or UINT64_MAX if it is absent or unreadable. */
static uint64_t sigreturn_search(struct sigreturns *t, const struct code_pattern *code,
				 uint64_t off, uint64_t end)
{
	for (; end - off >= code->sz; off += PIECE_SZ - (code->sz - 1)) {
		size_t sz = end - off < PIECE_SZ ? end - off : PIECE_SZ;
		const uint8_t *at;

		t->err = t->read(t->file, off, t->bytes, sz);
		at = t->err ? NULL : memmem(t->bytes, sz, code->bytes, code->sz);
		if (at)
			return off + (uint64_t)(at - t->bytes);
		if (t->err || sz < PIECE_SZ)
			break;
	}
	return UINT64_MAX;
}

struct table_override sigreturn__mark(const struct machine *machine, uint64_t off)
{
	return (struct table_override){ .off = off,
					.sz = elf_code__sigreturn_code(machine)->sz,
					.rule = full_rule__packed_signal_frame(machine) };
}

bool sigreturn__find(void *arg, uint64_t off, uint64_t end, struct table_override *found)
{
	struct sigreturns *t = arg;
	const struct code_pattern *code = elf_code__sigreturn_code(t->file->machine);
	size_t sz = end - off < SIGRETURN_GAP_MAX ? end - off : SIGRETURN_GAP_MAX;

	if (sz < code->sz || t->gaps_left == 0 || t->bytes_left < sz)
		return false;
	if (!t->bytes)
		t->bytes = malloc(PIECE_SZ);
	if (!t->bytes) {
		t->err = -ENOMEM;
		return false;
	}
	t->gaps_left--;
	t->bytes_left -= sz;
	off = sigreturn_search(t, code, off, off + sz);
	if (off == UINT64_MAX)
		return false;
	*found = sigreturn__mark(t->file->machine, off);
	return true;
}
