// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/text.h"

#include <errno.h>
#include <unistd.h>

static int read_memory(Elf *elf, uint64_t off, void *to, size_t sz)
{
	size_t all;
	const char *raw = elf_rawfile(elf, &all);

	if (!raw || off > all || sz > all - off)
		return -EIO;
	memcpy(to, raw + off, sz);
	return 0;
}

int elf_file__read(const struct elf_file *f, uint64_t off, void *to, size_t sz)
{
	uint8_t *at = to;

	if (f->fd < 0)
		return read_memory(f->elf, off, to, sz);
	while (sz) {
		ssize_t n = pread(f->fd, at, sz, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
		off += (uint64_t)n;
		sz -= (size_t)n;
	}
	return 0;
}

static bool read_text(const struct elf_file *f, uint64_t vaddr, void *to, size_t sz)
{
	for (size_t i = 0; i < f->segment_cnt; i++) {
		const struct elf_segment *s = &f->segments[i];
		uint64_t in = vaddr - s->vaddr;

		if ((s->flags & PF_X) && in < s->sz && s->sz - in >= sz)
			return elf_file__read(f, s->off + in, to, sz) == 0;
	}
	return false;
}

/* Bytes of an indirect call (FF /2) from its opcode on, by its ModRM and SIB bytes; 0: it is none.
 */
static size_t indirect_call_sz(const uint8_t *op)
{
	unsigned mod = op[1] >> 6, rm = op[1] & 7;
	bool sib = mod != 3 && rm == 4;

	if (op[0] != 0xff || (op[1] >> 3 & 7) != 2)
		return 0;
	if (mod == 2 || (mod == 0 && (rm == 5 || (sib && (op[2] & 7) == 5))))
		return 6 + sib;
	return 2 + sib + (mod == 1);
}

bool text__after_call(const struct elf_file *f, uint64_t pc)
{
	uint8_t before[8] = { 0 }; /* the last is never read, but as a SIB byte that is not there */

	if (!read_text(f, pc - 7, before, 7))
		return false;
	if (before[2] == 0xe8) /* call rel32 */
		return true;
	for (size_t sz = 2; sz <= 7; sz++)
		if (indirect_call_sz(before + 7 - sz) == sz)
			return true;
	return false;
}

bool text__sigreturn(const struct elf_file *f, uint64_t pc)
{
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	uint8_t at[sizeof(code)];

	return read_text(f, pc, at, sizeof(at)) && memcmp(at, code, sizeof(code)) == 0;
}
