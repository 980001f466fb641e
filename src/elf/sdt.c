// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads notes as SystemTap's <sys/sdt.h>, version 3, writes them. */
#include "elf/sdt.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cursor.h"
#include "elf/section.h"

#define NOTES_SECTION	  ".note.stapsdt"
#define BASE_SECTION	  ".stapsdt.base"
#define SEMAPHORE_SECTION ".probes"
#define NOTE_NAME	  "stapsdt"
#define NOTE_TYPE	  3
#define NOTES_MAX_SZ	  (16u << 20)

/* ---- notes --------------------------------------------------------------------------------------
 */

/* Reads a name or description, which is padded to 4 bytes; the last one's padding may be missing.
 */
static const void *sdt_padded(struct cursor *c, uint32_t sz)
{
	const void *bytes = cursor__bytes(c, sz);
	size_t pad = -sz & 3;

	if (bytes)
		cursor__bytes(c, pad < cursor__left(c) ? pad : cursor__left(c));
	return bytes;
}

static struct sdt_note sdt_note_of(struct cursor *c, uint64_t base_address)
{
	struct sdt_note n = { .pc = cursor__u64(c) };
	uint64_t base = cursor__u64(c);
	/* Prelink moves the file but does not update its notes. */
	uint64_t moved = base && base_address ? base_address - base : 0;

	n.pc += moved;
	n.semaphore = cursor__u64(c);
	n.semaphore += n.semaphore ? moved : 0;
	n.provider = cursor__str(c);
	n.name = cursor__str(c);
	n.args = cursor__str(c);
	return n;
}

/* Reads the next note, and skips notes of other types. */
static int sdt_read_note(struct cursor *c, uint64_t base_address, sdt_fn fn, void *arg)
{
	uint32_t name_sz = cursor__u32(c), desc_sz = cursor__u32(c), type = cursor__u32(c);
	const void *name = sdt_padded(c, name_sz), *desc = sdt_padded(c, desc_sz);
	struct sdt_note note;
	struct cursor text;

	if (c->err)
		return -EBADMSG;
	if (type != NOTE_TYPE || name_sz != sizeof(NOTE_NAME) ||
	    memcmp(name, NOTE_NAME, sizeof(NOTE_NAME)) != 0)
		return 0;
	text = cursor__on(desc, desc_sz);
	note = sdt_note_of(&text, base_address);
	return text.err ? -EBADMSG : fn(&note, arg);
}

int sdt__each(const struct elf_file *f, sdt_fn fn, void *arg)
{
	GElf_Shdr notes, base;
	struct cursor c;
	uint8_t *bytes;
	size_t sz;
	int err = 0;

	if (!section__named(f, NOTES_SECTION, &notes) || notes.sh_type != SHT_NOTE ||
	    !notes.sh_size)
		return -ENOENT;
	if (notes.sh_size > NOTES_MAX_SZ)
		return -EFBIG;
	bytes = section__read(f, &notes, &sz);
	if (!bytes)
		return -EBADMSG;
	section__named(f, BASE_SECTION, &base);
	c = cursor__on(bytes, sz);
	while (!err && cursor__left(&c))
		err = sdt_read_note(&c, base.sh_addr, fn, arg);
	free(bytes);
	return err;
}

/* ---- places -------------------------------------------------------------------------------------
 */

static bool sdt_offset_of(const struct elf_file *f, uint64_t vaddr, uint32_t flag, uint64_t *off)
{
	for (size_t i = 0; i < f->segment_cnt; i++) {
		const struct elf_segment *s = &f->segments[i];

		if ((s->flags & flag) && vaddr >= s->vaddr && vaddr - s->vaddr < s->sz) {
			*off = vaddr - s->vaddr + s->off;
			return true;
		}
	}
	return false;
}

/* A nop with the length of a call. */
static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

static bool sdt_is_nop_aarch64(const struct elf_file *f, const struct sdt_place *p)
{
	static const uint8_t nop[] = { 0x1f, 0x20, 0x03, 0xd5 };
	uint8_t code[sizeof(nop)];

	return p->pc_off <= INT64_MAX &&
	       pread(f->fd, code, sizeof(code), (off_t)p->pc_off) == sizeof(code) &&
	       memcmp(code, nop, sizeof(nop)) == 0;
}

/* Accepts a nop of one byte, possibly followed by one of five, or a nop of several bytes. */
static bool sdt_is_nop_x86_64(const struct elf_file *f, struct sdt_place *p)
{
	uint8_t code[1 + sizeof(nop5)] = { 0 };

	if (p->pc_off > INT64_MAX || pread(f->fd, code, sizeof(code), (off_t)p->pc_off) < 1)
		return false;
	if (code[0] != 0x90)
		return code[0] == 0x0f && code[1] == 0x1f;
	if (memcmp(code + 1, nop5, sizeof(nop5)) == 0)
		p->call_off = p->pc_off + 1;
	return true;
}

static bool sdt_is_nop(const struct elf_file *f, struct sdt_place *p)
{
	if (f->machine == &machine_aarch64)
		return sdt_is_nop_aarch64(f, p);
	return sdt_is_nop_x86_64(f, p);
}

int sdt__place(const struct elf_file *f, const struct sdt_note *n, struct sdt_place *p,
	       const char **why)
{
	GElf_Shdr s;

	*p = (struct sdt_place){ 0 };
	if (!sdt_offset_of(f, n->pc, PF_X, &p->pc_off)) {
		*why = "its address is not in the code";
		return -EBADMSG;
	}
	if (!sdt_is_nop(f, p)) {
		*why = "there is no nop at its address";
		return -EBADMSG;
	}
	if (!n->semaphore)
		return 0;
	if (!section__named(f, SEMAPHORE_SECTION, &s) || n->semaphore < s.sh_addr ||
	    n->semaphore - s.sh_addr >= s.sh_size || n->semaphore % sizeof(uint16_t) ||
	    !sdt_offset_of(f, n->semaphore, PF_W, &p->semaphore_off)) {
		*why = "its semaphore is not in the section " SEMAPHORE_SECTION;
		return -EBADMSG;
	}
	return 0;
}
