// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/code.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "elf/insn.h"

#define BEFORE_SZ 7
#define AT_SZ	  9

static int code_read_memory(const struct elf_file *f, uint64_t off, void *to, size_t sz)
{
	if (!f->image || off > f->sz || sz > f->sz - off)
		return -EIO;
	memcpy(to, (const char *)f->image + off, sz);
	return 0;
}

static int code_read_fd(int fd, uint64_t off, void *to, size_t sz)
{
	uint8_t *at = to;

	while (sz) {
		ssize_t n = pread(fd, at, sz, (off_t)off);

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

int elf_file__read(const struct elf_file *f, uint64_t off, void *to, size_t sz)
{
	return f->fd < 0 ? code_read_memory(f, off, to, sz) : code_read_fd(f->fd, off, to, sz);
}

int elf_file__read_now(const struct elf_file *f, uint64_t off, void *to, size_t sz)
{
	struct iovec part = { to, sz };
	ssize_t n;

	if (f->fd < 0)
		return code_read_memory(f, off, to, sz);
	n = preadv2(f->fd, &part, 1, (off_t)off, RWF_NOWAIT);
	return n == (ssize_t)sz ? 0 : n < 0 ? -errno : -EAGAIN;
}

static uint64_t code_find(const struct elf_file *f, uint64_t vaddr, size_t sz)
{
	for (size_t i = 0; i < f->segment_cnt; i++) {
		const struct elf_segment *s = &f->segments[i];
		uint64_t in = vaddr - s->vaddr;

		if ((s->flags & PF_X) && in < s->sz && s->sz - in >= sz)
			return s->off + in;
	}
	return UINT64_MAX;
}

struct elf_code elf_code__at(const struct elf_file *f, uint64_t vaddr)
{
	return (struct elf_code){ .machine = f->machine,
				  .vaddr = vaddr,
				  .before_off = code_find(f, vaddr - BEFORE_SZ, BEFORE_SZ),
				  .at_off = code_find(f, vaddr, AT_SZ) };
}

void elf_code__read(struct elf_code *t, int fd)
{
	t->has_before = t->before_off != UINT64_MAX &&
			code_read_fd(fd, t->before_off, t->before, BEFORE_SZ) == 0;
	t->has_at = t->at_off != UINT64_MAX && code_read_fd(fd, t->at_off, t->at, AT_SZ) == 0;
}

void elf_code__copy(struct elf_code *t, const struct elf_file *f)
{
	t->has_before = t->before_off != UINT64_MAX &&
			elf_file__read(f, t->before_off, t->before, BEFORE_SZ) == 0;
	t->has_at = t->at_off != UINT64_MAX && elf_file__read(f, t->at_off, t->at, AT_SZ) == 0;
}

bool elf_code__read_now(struct elf_code *t, const struct elf_file *f)
{
	uint8_t both[BEFORE_SZ + AT_SZ];

	if (t->before_off + BEFORE_SZ == t->at_off &&
	    elf_file__read_now(f, t->before_off, both, sizeof(both)) == 0) {
		memcpy(t->before, both, BEFORE_SZ);
		memcpy(t->at, both + BEFORE_SZ, AT_SZ);
		return t->has_before = t->has_at = true;
	}
	t->has_before = t->before_off != UINT64_MAX;
	t->has_at = t->at_off != UINT64_MAX;
	return (!t->has_before ||
		elf_file__read_now(f, t->before_off, t->before, BEFORE_SZ) == 0) &&
	       (!t->has_at || elf_file__read_now(f, t->at_off, t->at, AT_SZ) == 0);
}

/* Returns the size in bytes of the indirect call (FF /2) at `op`, from its ModRM and SIB bytes, or
 * 0 if it is another instruction. */
static size_t code_indirect_call_sz(const uint8_t *op)
{
	unsigned mod = op[1] >> 6, rm = op[1] & 7;
	bool sib = mod != 3 && rm == 4;

	if (op[0] != 0xff || (op[1] >> 3 & 7) != 2)
		return 0;
	if (mod == 2 || (mod == 0 && (rm == 5 || (sib && (op[2] & 7) == 5))))
		return 6 + sib;
	return 2 + sib + (mod == 1);
}

static bool code_after_call_x86_64(const struct elf_code *t)
{
	if (!t->has_before)
		return false;
	if (t->before[2] == 0xe8) /* call rel32 */
		return true;
	for (size_t sz = 2; sz <= BEFORE_SZ; sz++)
		if (code_indirect_call_sz(t->before + BEFORE_SZ - sz) == sz)
			return true;
	return false;
}

bool elf_code__after_nop(const struct elf_code *t)
{
	static const uint8_t nop[] = { 0x0f, 0x1f, 0x44, 0, 0 };

	return t->has_before && memcmp(t->before + BEFORE_SZ - sizeof(nop), nop, sizeof(nop)) == 0;
}

/* mov $NUMBER, %eax; syscall. Or mov x8, #NUMBER; svc #0, without the first byte, which has the
 * register. */
bool elf_code__after_clone(const struct elf_code *t)
{
	static const uint8_t codes[][BEFORE_SZ] = {
		{ 0xb8, 56, 0, 0, 0, 0x0f, 0x05 },	/* clone */
		{ 0xb8, 0xb3, 0x01, 0, 0, 0x0f, 0x05 }, /* clone3 */
		{ 0x1b, 0x80, 0xd2, 0x01, 0, 0, 0xd4 }, /* 220 … 223: clone */
		{ 0x36, 0x80, 0xd2, 0x01, 0, 0, 0xd4 }, /* 432 … 439: clone3 */
	};
	size_t first = t->machine == &machine_aarch64 ? 2 : 0;

	return t->has_before && (memcmp(t->before, codes[first], BEFORE_SZ) == 0 ||
				 memcmp(t->before, codes[first + 1], BEFORE_SZ) == 0);
}

/* BL, BLR, and BLRAA … BLRABZ, which check a signature. */
static bool code_after_call_aarch64(const struct elf_code *t)
{
	uint32_t insn;

	memcpy(&insn, t->before + BEFORE_SZ - sizeof(insn), sizeof(insn));
	return t->has_before && t->vaddr % 4 == 0 &&
	       ((insn & 0xfc000000) == 0x94000000 || (insn & 0xfefff000) == 0xd63f0000);
}

bool elf_code__after_call(const struct elf_code *t)
{
	return t->machine == &machine_x86_64	? code_after_call_x86_64(t)
	       : t->machine == &machine_aarch64 ? code_after_call_aarch64(t)
						: false;
}

static const struct code_pattern sigreturn_x86_64 = {
	.bytes = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 },
	.sz = 9,
	.first_sz = 7,
};
static const struct code_pattern sigreturn_aarch64 = {
	.bytes = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 },
	.sz = 8,
	.first_sz = 4,
};

const struct code_pattern *elf_code__sigreturn_code(const struct machine *m)
{
	return m == &machine_aarch64 ? &sigreturn_aarch64 : &sigreturn_x86_64;
}

/* Go has an int $3 after the system call. In other code, another function may begin there. */
static bool code_in_sigreturn(const struct elf_code *t)
{
	static const uint8_t behind[] = { 0xcd, 0x03 };
	const uint8_t *code = sigreturn_x86_64.bytes + sigreturn_x86_64.sz - BEFORE_SZ;

	return t->machine == &machine_x86_64 && t->has_before &&
	       memcmp(t->before, code, BEFORE_SZ) == 0 &&
	       memcmp(t->at, behind, sizeof(behind)) == 0;
}

bool elf_code__sigreturn(const struct elf_code *t)
{
	const struct code_pattern *code = elf_code__sigreturn_code(t->machine);
	size_t first = code->first_sz;

	if (!t->has_at)
		return false;
	if (memcmp(t->at, code->bytes, code->sz) == 0 || code_in_sigreturn(t))
		return true;
	return t->has_before && memcmp(t->before + BEFORE_SZ - first, code->bytes, first) == 0 &&
	       memcmp(t->at, code->bytes + first, code->sz - first) == 0;
}

static bool code_is_zero(const uint8_t *bytes, size_t sz)
{
	for (size_t i = 0; i < sz; i++)
		if (bytes[i])
			return false;
	return true;
}

static bool code_is_padding_x86_64(const uint8_t *bytes, size_t sz)
{
	struct insn insn;
	size_t at = 0, n;

	for (; at < sz; at += n) {
		n = insn__decode(&insn, bytes + at, sz - at);
		if (!n || insn.kind != INSN_NOP)
			break;
	}
	return code_is_zero(bytes + at, sz - at);
}

static bool code_is_padding_aarch64(const uint8_t *bytes, size_t sz)
{
	static const uint8_t nop[] = { 0x1f, 0x20, 0x03, 0xd5 };

	for (; sz >= sizeof(nop); bytes += sizeof(nop), sz -= sizeof(nop))
		if (memcmp(bytes, nop, sizeof(nop)) && !code_is_zero(bytes, sizeof(nop)))
			return false;
	return code_is_zero(bytes, sz);
}

bool elf_code__is_padding(const struct machine *m, const uint8_t *bytes, size_t sz)
{
	return m == &machine_aarch64 ? code_is_padding_aarch64(bytes, sz)
				     : code_is_padding_x86_64(bytes, sz);
}

bool elf_code__is_start_context(const struct machine *m, const uint8_t bytes[CODE_START_CONTEXT_SZ])
{
	static const uint8_t code[CODE_START_CONTEXT_SZ] = { 0x48, 0x89, 0xdc, 0x48,
							     0x8b, 0x3c, 0x24 };

	return m == &machine_x86_64 && memcmp(bytes, code, sizeof(code)) == 0;
}

bool elf_code__starts_context(const struct elf_code *t)
{
	return t->has_at && elf_code__is_start_context(t->machine, t->at);
}

bool elf_code__in_goexit(const struct elf_code *t)
{
	return t->machine == &machine_x86_64 && t->has_before && t->has_at &&
	       t->before[BEFORE_SZ - 1] == 0x90 && t->at[0] == 0xe8 && t->at[5] == 0x90 &&
	       (t->vaddr - 1) % 16 == 0;
}
