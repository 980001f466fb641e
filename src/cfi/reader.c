// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/reader.h"

#include <dwarf.h>
#include <string.h>

#define AUGMENTATION_MAX 8

/* For functions that run for each FDE: keeps cursors in registers. A cursor in memory would be read
 * right after a store of another size, which costs more than the rest of the function. */
#define FOR_EACH static inline __attribute__((always_inline))

FOR_EACH uint64_t reader_address_of(const struct cfi_reader *r, const struct cursor *c)
{
	return r->section->vaddr + (uint64_t)(c->pos - r->section->data);
}

/* Reads a value without adding its base. */
FOR_EACH uint64_t reader_read_value(struct cursor *c, uint8_t encoding)
{
	if ((encoding & 0x0f) == DW_EH_PE_sdata4) /* nearly always */
		return (uint64_t)(int32_t)cursor__u32(c);
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: return cursor__u64(c);
	case DW_EH_PE_udata2: return cursor__u16(c);
	case DW_EH_PE_sdata2: return (uint64_t)(int16_t)cursor__u16(c);
	case DW_EH_PE_udata4: return cursor__u32(c);
	case DW_EH_PE_uleb128: return cursor__uleb(c);
	case DW_EH_PE_sleb128: return (uint64_t)cursor__sleb(c);
	}
	c->err = true;
	return 0;
}

/* Reads a location. A base that is a section with unknown start is an error. */
FOR_EACH uint64_t reader_read_pointer(const struct cfi_reader *r, struct cursor *c,
				      uint8_t encoding)
{
	uint64_t at = reader_address_of(r, c), value = reader_read_value(c, encoding);

	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		return value + at;
	if ((encoding & 0xf0) != 0)
		c->err = true;
	return value;
}

static void reader_skip_personality(struct cursor *c)
{
	uint8_t encoding = cursor__u8(c);

	if ((encoding & 0x70) == DW_EH_PE_aligned)
		c->err = true;
	reader_read_value(c, encoding);
}

/* Reads the data of one letter of the augmentation. */
static void reader_read_letter(struct cursor *data, char letter, struct cfi_cie *cie)
{
	switch (letter) {
	case 'R': cie->encoding = cursor__u8(data); break;
	case 'L': cursor__u8(data); break;
	case 'P': reader_skip_personality(data); break;
	case 'S': cie->is_signal = true; break;
	case 'B': break; /* AArch64: return addresses are signed with the B key */
	default: data->err = true; break;
	}
}

static void reader_read_augmentation(struct cursor *c, const char *letters, struct cfi_cie *cie)
{
	struct cursor data;
	uint64_t sz;

	if (*letters != 'z') { /* no augmentation data: a signal frame */
		cie->is_signal = *letters == 'S';
		c->err |= letters[cie->is_signal] != '\0';
		return;
	}
	cie->has_data = true;
	sz = cursor__uleb(c);
	data = cursor__on(c->pos, 0);
	if (cursor__bytes(c, sz))
		data.end = c->pos;
	while (*++letters && !data.err)
		reader_read_letter(&data, *letters, cie);
	c->err |= data.err;
}

/* Reads a CIE from its version to the end of the cursor. */
static bool reader_read_cie(struct cursor c, struct cfi_cie *cie)
{
	const char *augmentation;
	uint8_t version;

	*cie = (struct cfi_cie){ .encoding = DW_EH_PE_absptr };
	if (cursor__left(&c) > CFI_CIE_MAX)
		return false;
	version = cursor__u8(&c);
	augmentation = cursor__str(&c);
	if (!augmentation || strlen(augmentation) > AUGMENTATION_MAX ||
	    (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4 &&
	    (cursor__u8(&c) != 8 || cursor__u8(&c) != 0)) /* size of addresses, of segments */
		return false;
	cie->code_align = cursor__uleb(&c);
	if (cie->code_align > UINT32_MAX) /* farther than any code: no product overflows */
		cie->code_align = UINT32_MAX;
	cie->data_align = cursor__sleb(&c);
	cie->ra = version == 1 ? cursor__u8(&c) : cursor__uleb(&c);
	reader_read_augmentation(&c, augmentation, cie);
	cie->instructions = c;
	return !c.err;
}

/* One entry of the section. */
struct reader_entry {
	struct cursor body; /* after the id */
	uint64_t id;
	uint64_t id_at; /* offset of the id in the section */
	bool wide;	/* 64-bit DWARF */
};

FOR_EACH bool reader_next_entry(const struct cfi_section *s, struct cursor *left,
				struct reader_entry *e)
{
	uint64_t sz = cursor__u32(left);
	const uint8_t *body;

	e->wide = sz == UINT32_MAX;
	if (e->wide)
		sz = cursor__u64(left);
	e->id_at = (uint64_t)(left->pos - s->data);
	body = cursor__bytes(left, sz);
	if (!body || (sz == 0 && s->eh)) /* .eh_frame ends with a length of 0 */
		return false;
	e->body = cursor__on(body, sz);
	e->id = e->wide && !s->eh ? cursor__u64(&e->body) : cursor__u32(&e->body);
	return true;
}

FOR_EACH bool is_cie(const struct cfi_section *s, const struct reader_entry *e)
{
	if (s->eh)
		return e->id == 0;
	return e->id == (e->wide ? UINT64_MAX : UINT32_MAX);
}

bool cfi_reader__cie(const struct cfi_section *s, uint64_t at, struct cfi_cie *cie)
{
	struct cursor left = cursor__on(s->data, s->sz);
	struct reader_entry e;

	return cursor__bytes(&left, at) && reader_next_entry(s, &left, &e) && is_cie(s, &e) &&
	       reader_read_cie(e.body, cie);
}

FOR_EACH bool reader_find_cie(struct cfi_reader *r, const struct reader_entry *fde)
{
	uint64_t at = r->section->eh ? fde->id_at - fde->id : fde->id;

	if (r->has_cie && r->cie_at == at)
		return true;
	r->has_cie = cfi_reader__cie(r->section, at, &r->cie);
	r->cie_at = at;
	return r->has_cie;
}

FOR_EACH bool read_fde(struct cfi_reader *r, const struct reader_entry *e, struct cfi_fde *fde)
{
	struct cursor c = e->body;

	if (!reader_find_cie(r, e))
		return false;
	fde->cie = &r->cie;
	fde->enough = UINT64_MAX;
	fde->start = reader_read_pointer(r, &c, r->cie.encoding);
	fde->sz = reader_read_value(&c, r->cie.encoding & 0x0f);
	if (r->cie.has_data)
		cursor__bytes(&c, cursor__uleb(&c));
	fde->instructions = c;
	return !c.err && fde->sz && fde->sz <= UINT64_MAX - fde->start;
}

void cfi_reader__each(struct cfi_reader *r, cfi_fde_fn fn, void *arg)
{
	const struct cfi_section *s = r->section;
	struct cursor left = cursor__on(s->data, s->sz);
	struct cfi_fde fde;
	struct reader_entry e;

	while (cursor__left(&left)) {
		fde.at = (uint64_t)(left.pos - s->data);
		if (!reader_next_entry(s, &left, &e))
			break;
		if (!is_cie(s, &e) && read_fde(r, &e, &fde))
			fn(&fde, arg);
	}
}

bool cfi_reader__fde(struct cfi_reader *r, uint64_t at, struct cfi_fde *fde)
{
	const struct cfi_section *s = r->section;
	struct cursor left = cursor__on(s->data, s->sz);
	struct reader_entry e;

	fde->at = at;
	return cursor__bytes(&left, at) && reader_next_entry(s, &left, &e) && !is_cie(s, &e) &&
	       read_fde(r, &e, fde);
}
