// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/libdwrules.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/search.h"
#include "base/seed.h"
#include "cfi/libdwsource.h"
#include "cfi/rulepool.h"

/*
 * Limits per file; reaching one drops the whole cache. The hot code of the largest programs (clang,
 * node) has 10,000 places that samples reach.
 */
#define PCS_MIN	 64
#define PCS_MAX	 65536 /* slots of 8 bytes, at most three quarters used */
#define ROWS_MAX 16384 /* of 16 bytes; inserting one moves others: at most 10 us */

#define PC_BITS 47 /* of link-time addresses */

struct libdwrules_row {
	uint64_t start;
	uint32_t sz, rule;
};

struct libdw_rules {
	struct libdw_source data;

	/* Open addressing: pc << 17 | caller << 16 | rule; 0: free. Slow walks look up each frame
	 * here. A slot has key and rule in 8 bytes; with base/hashindex.h a pc takes 32 or more. */
	uint64_t *pcs;
	size_t pc_slots, pc_cnt;
	struct libdwrules_row *rows; /* ascending, no overlaps */
	size_t row_cnt, row_cap;
	struct rule_pool rules;
	uint64_t rows_compiled, flushes;
};

/* ---- pc → rule ---- */

/* Returns the slot of the key, or the free slot for it. */
static uint64_t *libdwrules_slot(const struct libdw_rules *c, uint64_t key)
{
	size_t i = seed__mix(key);

	while (c->pcs[i & (c->pc_slots - 1)] && c->pcs[i & (c->pc_slots - 1)] >> 16 != key)
		i++;
	return &c->pcs[i & (c->pc_slots - 1)];
}

static void libdwrules_flush(struct libdw_rules *c)
{
	memset(c->pcs, 0, c->pc_slots * sizeof(*c->pcs));
	c->pc_cnt = 0;
	c->row_cnt = 0;
	rule_pool__clear(&c->rules);
	c->flushes++;
}

static void libdwrules_rehash(struct libdw_rules *c, size_t slots)
{
	uint64_t *old = c->pcs, *pcs = calloc(slots, sizeof(*pcs));
	size_t old_slots = c->pc_slots;

	if (!pcs)
		return;
	c->pcs = pcs;
	c->pc_slots = slots;
	for (size_t i = 0; i < old_slots; i++)
		if (old[i])
			*libdwrules_slot(c, old[i] >> 16) = old[i];
	free(old);
}

/* Makes room for one more pc, row and rule. */
static void libdwrules_make_room(struct libdw_rules *c)
{
	if (c->pc_cnt >= c->pc_slots / 4 * 3 && c->pc_slots < PCS_MAX)
		libdwrules_rehash(c, c->pc_slots * 2);
	if (c->pc_cnt >= c->pc_slots / 4 * 3 || c->row_cnt == ROWS_MAX ||
	    rule_pool__full(&c->rules))
		libdwrules_flush(c);
}

/* ---- row → rule ---- */

/* Counts the rows that start at or before the address. */
static size_t libdwrules_row_upper(const struct libdw_rules *c, uint64_t vaddr)
{
	return SEARCH_COUNT(c->rows, c->row_cnt, r, r->start <= vaddr);
}

static const struct libdwrules_row *libdwrules_row_find(const struct libdw_rules *c, uint64_t vaddr)
{
	size_t i = libdwrules_row_upper(c, vaddr);
	const struct libdwrules_row *r = i ? &c->rows[i - 1] : NULL;

	return r && vaddr - r->start < r->sz ? r : NULL;
}

static bool libdwrules_row_room(struct libdw_rules *c)
{
	struct libdwrules_row *rows = array__room(c->rows, c->row_cnt, &c->row_cap, sizeof(*rows));

	if (!rows)
		return false;
	c->rows = rows;
	return true;
}

/*
 * Stores the rule from vaddr to the end of its row. libdw (0.188) returns a wrong start of the row
 * after DW_CFA_restore_state: that of the remembered row. Rows of a forged file may overlap: only
 * the part that no other row covers is stored.
 */
static void libdwrules_row_insert(struct libdw_rules *c, uint64_t vaddr, uint64_t end,
				  uint16_t rule)
{
	size_t i = libdwrules_row_upper(c, vaddr);
	struct libdwrules_row *next = i < c->row_cnt ? &c->rows[i] : NULL;

	if (next && end > next->start)
		end = next->start;
	if (end <= vaddr || end - vaddr > UINT32_MAX / 2)
		return;
	if (next && end == next->start && rule == next->rule && next->sz < UINT32_MAX / 2) {
		next->sz += (uint32_t)(end - vaddr);
		next->start = vaddr;
		return;
	}
	if (!libdwrules_row_room(c))
		return;
	memmove(c->rows + i + 1, c->rows + i, (c->row_cnt - i) * sizeof(*c->rows));
	c->rows[i] = (struct libdwrules_row){ vaddr, (uint32_t)(end - vaddr), rule };
	c->row_cnt++;
}

/* ---- sources of rules ---- */

static Dwarf_Frame *libdwrules_find_own(struct libdw_rules *c, uint64_t vaddr)
{
	return libdw_image__frame(&c->data.own, vaddr);
}

static Dwarf_Frame *libdwrules_find_separate(struct libdw_rules *c, uint64_t vaddr)
{
	return libdw_source__has(&c->data, LIBDW_SEPARATE)
		       ? libdw_image__frame(&c->data.separate, vaddr)
		       : NULL;
}

static uint16_t libdwrules_from_libdw(struct libdw_rules *c, uint64_t vaddr, Dwarf_Frame *frame)
{
	union rule_room room;
	Dwarf_Addr end;
	uint16_t rule = 0;

	if (!frame)
		return 0;
	c->rows_compiled++;
	if (full_rule__compile(frame, c->data.file->machine, &room) == 0)
		rule = rule_pool__add(&c->rules, &room.rule);
	if (rule && dwarf_frame_info(frame, NULL, &end, NULL) >= 0)
		libdwrules_row_insert(c, vaddr, end, rule);
	free(frame);
	return rule;
}

static uint16_t libdwrules_signal_frame(struct libdw_rules *c, uint64_t pc)
{
	const struct elf_code *text = libdw_source__code(&c->data, pc);
	union rule_room room;

	if (!text || !elf_code__sigreturn(text))
		return 0;
	full_rule__signal_frame(c->data.file->machine, &room);
	return rule_pool__add(&c->rules, &room.rule);
}

static uint16_t libdwrules_from_marks(struct libdw_rules *c, uint64_t vaddr)
{
	const struct wide_rule *mark = overrides__at(&c->data.marks, vaddr);
	union rule_room room;

	if (!mark || mark->packed.how == PACKED_SIGNAL) /* it is recognized by its code */
		return 0;
	full_rule__widen(mark, c->data.file->machine, &room);
	return rule_pool__add(&c->rules, &room.rule);
}

/* A coroutine's function returns to the start of __start_context. */
static uint16_t libdwrules_planted_root(struct libdw_rules *c, uint64_t pc)
{
	static const struct wide_rule root = { .packed.how = PACKED_ROOT };
	const struct elf_code *text = libdw_source__code(&c->data, pc);
	union rule_room room;

	if (!text || !elf_code__starts_context(text))
		return 0;
	full_rule__widen(&root, c->data.file->machine, &room);
	room.rule.flags |= RULE_PLANTED;
	return rule_pool__add(&c->rules, &room.rule);
}

/*
 * A trampoline that CFI does not mark is recognized by its code: in libraries without CFI for it,
 * and in Go: its CFI treats the trampoline as a function (starting at the return address, not
 * before it). On AArch64 few trampolines have CFI, and the CFI of old vdsos gives the interrupted
 * link register as the program counter.
 */
static uint16_t libdwrules_find_rule(struct libdw_rules *c, uint64_t pc, bool caller)
{
	bool marked = c->data.own.eh_frame && !c->data.marks.is_go &&
		      !machine__links(c->data.file->machine);
	uint16_t rule = marked ? 0 : libdwrules_signal_frame(c, pc);
	Dwarf_Frame *frame;
	const struct libdwrules_row *row;

	if (!rule)
		rule = libdwrules_from_marks(c, pc - caller);
	if (rule)
		return rule;
	row = libdwrules_row_find(c, pc - caller);
	if (row)
		return (uint16_t)row->rule;
	frame = libdwrules_find_own(c, pc - caller);
	rule = libdwrules_from_libdw(c, pc - caller,
				     frame ? frame : libdwrules_find_separate(c, pc - caller));
	if (!rule && marked)
		rule = libdwrules_signal_frame(c, pc);
	return rule || !caller ? rule : libdwrules_planted_root(c, pc);
}

static uint16_t libdwrules_find_beside(struct libdw_rules *c, uint64_t pc, bool caller)
{
	uint16_t rule = libdwrules_signal_frame(c, pc);
	const struct libdwrules_row *row = rule ? NULL : libdwrules_row_find(c, pc - caller);

	if (rule || row)
		return row ? (uint16_t)row->rule : rule;
	rule = libdwrules_from_libdw(c, pc - caller, libdwrules_find_separate(c, pc - caller));
	return rule || !caller ? rule : libdwrules_planted_root(c, pc);
}

typedef uint16_t (*find_fn)(struct libdw_rules *, uint64_t pc, bool caller);

static bool libdwrules_may_keep(struct libdw_rules *c, bool whole)
{
	return whole && libdw_source__is_whole(&c->data) && !c->data.awaits &&
	       c->pc_cnt < c->pc_slots / 4 * 3;
}

static const struct full_rule *libdwrules_remember(struct libdw_rules *c, uint64_t pc, bool caller,
						   find_fn find)
{
	uint64_t key = pc << 1 | caller, *s;
	uint16_t rule;
	bool awaited, whole;

	if (pc < caller || pc >> PC_BITS)
		return NULL;
	s = libdwrules_slot(c, key);
	if (__builtin_expect(*s != 0, 1))
		return rule_pool__get(&c->rules, (uint16_t)*s);
	if (find == libdwrules_find_rule && !libdw_source__has(&c->data, LIBDW_OWN))
		return NULL;
	libdwrules_make_room(c);
	awaited = c->data.awaits;
	c->data.awaits = false;
	whole = libdw_source__is_whole(&c->data);
	rule = find(c, pc, caller);
	if (libdwrules_may_keep(c, whole)) {
		*libdwrules_slot(c, key) = key << 16 | rule;
		c->pc_cnt++;
	}
	c->data.awaits |= awaited;
	return rule_pool__get(&c->rules, rule);
}

const struct full_rule *libdw_rules__rule(struct libdw_rules *c, uint64_t pc, bool caller)
{
	return libdwrules_remember(c, pc, caller, libdwrules_find_rule);
}

const struct full_rule *libdw_rules__rule_beside(struct libdw_rules *c, uint64_t pc, bool caller)
{
	return libdwrules_remember(c, pc, caller, libdwrules_find_beside);
}

const struct packed_rule *libdw_rules__code_rule(struct libdw_rules *c, uint64_t place)
{
	return libdw_source__has(&c->data, LIBDW_CODE) ? code_rows__at(&c->data.code, place) : NULL;
}

bool libdw_rules__is_go(const struct libdw_rules *c)
{
	return c->data.marks.has_pclntab;
}

bool libdw_rules__code(struct libdw_rules *c, uint64_t pc, cfi_text_fn is)
{
	const struct elf_code *text = libdw_source__code(&c->data, pc);

	return text && is(text);
}

bool libdw_rules__awaits(struct libdw_rules *c)
{
	bool awaits = c->data.awaits;

	c->data.awaits = false;
	return awaits;
}

/* ---- creation ---- */

static void libdw_rules__free(void *data)
{
	struct libdw_rules *c = data;

	if (!c)
		return;
	libdw_source__clear(&c->data);
	rule_pool__free(&c->rules);
	free(c->pcs);
	free(c->rows);
	free(c);
}

static struct libdw_rules *libdw_rules__new(struct elf_file *file, struct jobs *jobs)
{
	struct libdw_rules *c = file->machine ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	libdw_source__init(&c->data, file, jobs);
	c->pc_slots = PCS_MIN;
	c->pcs = calloc(c->pc_slots, sizeof(*c->pcs));
	if (c->pcs)
		return c;
	libdw_rules__free(c);
	return NULL;
}

struct libdw_rules *libdw_rules__of(struct elf_file *file, struct jobs *jobs)
{
	struct elf_attachment *a = &file->slots[ELF_SLOT_UNWIND];

	if (__builtin_expect(!a->data, 0)) {
		a->data = libdw_rules__new(file, jobs);
		a->free = libdw_rules__free;
	}
	a->age = 0;
	return a->data;
}

void libdw_rules__stats(const struct libdw_rules *c, struct libdw_rules_stats *s)
{
	*s = (struct libdw_rules_stats){ .rows_compiled = c->rows_compiled,
					 .flushes = c->flushes,
					 .rows = c->row_cnt,
					 .pcs = c->pc_cnt };
	s->rules = c->rules.cnt;
	s->bytes = sizeof(*c) + c->pc_slots * sizeof(*c->pcs) + c->row_cap * sizeof(*c->rows) +
		   c->rules.bytes;
}
