// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/verify.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

#define REGISTER_MAX	 200	      /* x86-64 has 125, and some reserved ones */
#define STATES_MAX	 32	      /* remembered states; compilers use one */
#define BLOCK_MAX	 1024	      /* bytes of an expression */
#define INSTRUCTIONS_MAX (256u << 10) /* bytes of one entry */

/* Operands of DW_CFA_*: register, number, block, location, 1, 2 or 4 bytes. NULL: not used on
 * x86-64. */
static const char *const operands[64] = {
	[DW_CFA_nop] = "",
	[DW_CFA_set_loc] = "l",
	[DW_CFA_advance_loc1] = "1",
	[DW_CFA_advance_loc2] = "2",
	[DW_CFA_advance_loc4] = "4",
	[DW_CFA_offset_extended] = "rn",
	[DW_CFA_restore_extended] = "r",
	[DW_CFA_undefined] = "r",
	[DW_CFA_same_value] = "r",
	[DW_CFA_register] = "rr",
	[DW_CFA_remember_state] = "",
	[DW_CFA_restore_state] = "",
	[DW_CFA_def_cfa] = "rn",
	[DW_CFA_def_cfa_register] = "r",
	[DW_CFA_def_cfa_offset] = "n",
	[DW_CFA_def_cfa_expression] = "b",
	[DW_CFA_expression] = "rb",
	[DW_CFA_offset_extended_sf] = "rn",
	[DW_CFA_def_cfa_sf] = "rn",
	[DW_CFA_def_cfa_offset_sf] = "n",
	[DW_CFA_val_offset] = "rn",
	[DW_CFA_val_offset_sf] = "rn",
	[DW_CFA_val_expression] = "rb",
	[DW_CFA_GNU_args_size] = "n",
	[DW_CFA_GNU_negative_offset_extended] = "rn",
};

/* Bit sets: the offsets of a section at which CIEs and FDEs start. */
struct starts {
	uint8_t *cie, *fde;
};

struct checker {
	const struct cfi_section *section;
	uint8_t *rewrite; /* the section's bytes if signatures are to be replaced, else NULL */
	struct starts starts;
	struct cursor c; /* on the current entry */
};

/* The fields of a CIE that its FDEs need. */
struct cie {
	uint8_t encoding; /* of locations, DW_EH_PE_* */
	bool has_data;	  /* FDEs have augmentation data */
};

static void verify_set(uint8_t *bits, size_t i)
{
	bits[i / 8] |= (uint8_t)(1u << i % 8);
}

static bool verify_is_set(const uint8_t *bits, size_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

/* Returns the bytes of a location, or 0 if compilers do not use the encoding. */
static size_t verify_location_sz(uint8_t encoding)
{
	static const uint8_t sizes[16] = {
		[DW_EH_PE_absptr] = 8, [DW_EH_PE_udata2] = 2, [DW_EH_PE_udata4] = 4,
		[DW_EH_PE_udata8] = 8, [DW_EH_PE_sdata2] = 2, [DW_EH_PE_sdata4] = 4,
		[DW_EH_PE_sdata8] = 8
	};

	return (encoding & 0x70) == DW_EH_PE_aligned ? 0 : sizes[encoding & 0x0f];
}

/* ---- instructions ---- */

static void verify_skip_block(struct cursor *c)
{
	uint64_t sz = cursor__uleb(c);

	if (sz > BLOCK_MAX)
		c->err = true;
	else
		cursor__bytes(c, sz);
}

static void verify_skip_operand(struct cursor *c, char kind, const struct cie *cie)
{
	switch (kind) {
	case 'r': c->err |= cursor__uleb(c) > REGISTER_MAX; break;
	case 'n': cursor__uleb(c); break;
	case 'b': verify_skip_block(c); break;
	case 'l': cursor__bytes(c, verify_location_sz(cie->encoding)); break;
	default: cursor__bytes(c, (size_t)(kind - '0')); break;
	}
}

/* Returns whether the instruction marks signed return addresses (AArch64). */
static bool verify_is_signature(uint8_t op)
{
	return op == DW_CFA_AARCH64_negate_ra_state || op == DW_CFA_AARCH64_negate_ra_state_with_pc;
}

static bool verify_check_instructions(const struct checker *k, const struct cie *cie)
{
	struct cursor c = k->c;
	int states = 0;

	if (cursor__left(&c) > INSTRUCTIONS_MAX)
		return false;
	while (!c.err && cursor__left(&c)) {
		uint8_t op = cursor__u8(&c);
		const char *kinds = op < 64 ? operands[op] : "";

		if ((op & 0xc0) == DW_CFA_offset)
			kinds = "n";
		if (verify_is_signature(op) && k->rewrite) {
			k->rewrite[c.pos - 1 - k->section->data] = DW_CFA_nop;
			continue;
		}
		if (!kinds)
			return false;
		for (; *kinds; kinds++)
			verify_skip_operand(&c, *kinds, cie);
		states += (op == DW_CFA_remember_state) - (op == DW_CFA_restore_state);
		if (states > STATES_MAX)
			return false;
	}
	return !c.err;
}

/* ---- entries ---- */

/* Reads the data of one letter of the augmentation. */
static bool verify_read_augmentation(struct cursor *data, char letter, struct cie *cie)
{
	uint8_t encoding;

	switch (letter) {
	case 'R': cie->encoding = cursor__u8(data); return verify_location_sz(cie->encoding) != 0;
	case 'L': cursor__u8(data); return true;
	case 'P':
		encoding = cursor__u8(data);
		cursor__bytes(data, verify_location_sz(encoding));
		return verify_location_sz(encoding) != 0;
	case 'S':
	case 'B': return true;
	default: return false;
	}
}

/* Reads a CIE from its version; leaves the cursor at its instructions. */
static bool verify_read_cie(struct cursor *c, struct cie *cie)
{
	uint8_t version = cursor__u8(c);
	const char *augmentation = cursor__str(c);
	struct cursor data;
	uint64_t sz;

	*cie = (struct cie){ .encoding = DW_EH_PE_absptr };
	if (!augmentation || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4 &&
	    (cursor__u8(c) != 8 || cursor__u8(c) != 0)) /* size of addresses, of segments */
		return false;
	cursor__uleb(c); /* alignment of code, of data, then the return address column */
	cursor__uleb(c);
	if ((version == 1 ? cursor__u8(c) : cursor__uleb(c)) > REGISTER_MAX)
		return false;
	if (*augmentation != 'z') /* no augmentation data, in .debug_frame: a signal frame */
		return strspn(augmentation, "S") == strlen(augmentation) && !c->err;
	cie->has_data = true;
	sz = cursor__uleb(c);
	data = cursor__on(c->pos, sz < cursor__left(c) ? sz : cursor__left(c));
	while (*++augmentation)
		if (!verify_read_augmentation(&data, *augmentation, cie))
			return false;
	cursor__bytes(c, sz);
	return !c->err && !data.err;
}

static bool verify_check_cie(struct checker *k, size_t start)
{
	struct cie cie;

	verify_set(k->starts.cie, start);
	return verify_read_cie(&k->c, &cie) && verify_check_instructions(k, &cie);
}

/* Reads the CIE, which must precede its FDEs and has been checked. */
static bool verify_find_cie(const struct checker *k, uint64_t start, struct cie *cie)
{
	struct cursor c = cursor__on(k->section->data, k->section->sz);

	if (start >= k->section->sz || !verify_is_set(k->starts.cie, start))
		return false;
	cursor__bytes(&c, start);
	cursor__bytes(&c, cursor__u32(&c) == UINT32_MAX ? 16 : 4); /* length, id */
	return verify_read_cie(&c, cie);
}

static bool verify_check_fde(struct checker *k, size_t start, uint64_t cie_start)
{
	struct cie cie;

	if (!verify_find_cie(k, cie_start, &cie))
		return false;
	verify_set(k->starts.fde, start);
	cursor__bytes(&k->c, 2 * verify_location_sz(cie.encoding));
	if (cie.has_data)
		cursor__bytes(&k->c, cursor__uleb(&k->c));
	return !k->c.err && verify_check_instructions(k, &cie);
}

/* Checks one entry and moves `*left` after it. At the end, which may be a length of 0 in .eh_frame,
 * `*left` is empty. */
static bool verify_check_entry(struct checker *k, struct cursor *left)
{
	size_t start = (size_t)(left->pos - k->section->data), id_at;
	uint64_t sz = cursor__u32(left), id;
	bool wide = sz == UINT32_MAX;
	const uint8_t *body;

	if (wide)
		sz = cursor__u64(left);
	if (sz == 0 && !left->err) {
		*left = cursor__on(left->pos, k->section->eh ? 0 : cursor__left(left));
		return true;
	}
	id_at = (size_t)(left->pos - k->section->data);
	body = cursor__bytes(left, sz);
	if (!body)
		return false;
	k->c = cursor__on(body, sz);
	id = wide ? cursor__u64(&k->c) : cursor__u32(&k->c);
	if (k->section->eh)
		return id == 0 ? verify_check_cie(k, start)
			       : verify_check_fde(k, start, id_at - id);
	return id == (wide ? UINT64_MAX : UINT32_MAX) ? verify_check_cie(k, start)
						      : verify_check_fde(k, start, id);
}

/* Checks for version 1, the usual encodings, and entries { location, FDE } relative to the table's
 * own address. */
static bool verify_check_table(const struct checker *k, const struct cfi_section *hdr)
{
	struct cursor c = cursor__on(hdr->data, hdr->sz);
	uint32_t usual = 1 | DW_EH_PE_pcrel << 8 | DW_EH_PE_sdata4 << 8 | DW_EH_PE_udata4 << 16 |
			 (uint32_t)(DW_EH_PE_datarel | DW_EH_PE_sdata4) << 24;
	uint64_t frames, cnt;

	if (cursor__u32(&c) != usual)
		return false;
	frames = hdr->vaddr + 4 + (uint64_t)(int32_t)cursor__u32(&c);
	cnt = cursor__u32(&c);
	if (c.err || frames != k->section->vaddr || cnt > cursor__left(&c) / 8)
		return false;
	while (cnt--) {
		uint64_t fde;

		cursor__u32(&c);
		fde = hdr->vaddr + (uint64_t)(int32_t)cursor__u32(&c) - frames;
		if (fde >= k->section->sz || !verify_is_set(k->starts.fde, fde))
			return false;
	}
	return true;
}

static bool verify_check_section(const struct cfi_section *s, const struct cfi_section *hdr,
				 uint8_t *rewrite)
{
	struct checker k = { .section = s, .rewrite = rewrite };
	struct cursor left = cursor__on(s->data, s->sz);
	bool sane;

	k.starts.cie = calloc(1, s->sz / 8 + 1);
	k.starts.fde = calloc(1, s->sz / 8 + 1);
	sane = k.starts.cie && k.starts.fde;
	while (sane && cursor__left(&left))
		sane = verify_check_entry(&k, &left);
	if (sane && hdr)
		sane = verify_check_table(&k, hdr);
	free(k.starts.cie);
	free(k.starts.fde);
	return sane;
}

bool cfi_section__is_sane(const struct cfi_section *s, const struct cfi_section *hdr)
{
	return verify_check_section(s, hdr, NULL);
}

void cfi_section__forget_signatures(const struct cfi_section *s, uint8_t *data)
{
	verify_check_section(s, NULL, data);
}
