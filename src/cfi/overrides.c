// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/overrides.h"

#include <stdlib.h>
#include <string.h>

#include "elf/gopclntab.h"
#include "cfi/codescan.h"
#include "cfi/gocode.h"
#include "elf/code.h"
#include "elf/section.h"

#define FUNCTION_MAX (1u << 20) /* bytes of an override */

static void overrides_add(struct overrides *m, uint64_t vaddr, uint64_t sz, struct packed_rule rule)
{
	if (m->cnt < OVERRIDE_MAX && sz && sz <= FUNCTION_MAX)
		m->marks[m->cnt++] = (struct override){ vaddr, sz, { .packed = rule } };
}

/* ---- Go -----------------------------------------------------------------------------------------
 */

#define ROOT                       \
	{                          \
		.how = PACKED_ROOT \
	}
#define SWITCH                       \
	{                            \
		.how = PACKED_SWITCH \
	}
#define SCANNED                    \
	{                          \
		.how = PACKED_NONE \
	}
#define TRAMPOLINE                   \
	{                            \
		.how = PACKED_SIGNAL \
	}
#define UNCHANGED SCANNED

/*
 * Functions of Go's runtime (asm_amd64.s, sys_linux_amd64.s), with the rule of x86-64, and what
 * determines that of AArch64. Go's linker marks the ends of stacks on other architectures only, and
 * its rows describe the stack pointer as if no function switched stacks.
 */
static const struct go_override {
	const char *name;
	struct packed_rule rule;
	enum gocode_kind coded; /* 0: `rule` */
} known[] = {
	{ "runtime.goexit", ROOT, 0 },
	{ "runtime.mstart", ROOT, 0 },
	{ "runtime.rt0_go", ROOT, 0 },
	{ "_rt0_amd64", ROOT, 0 },
	{ "_rt0_amd64_linux", ROOT, 0 },
	{ "runtime.mcall",
	  /* Never returns to its goroutine; Go's profiler ends the stack there, too. */
	  ROOT, 0 },
	/* called on a goroutine's stack, these call functions on the thread's stack */
	{ "runtime.systemstack", SWITCH, GOCODE_SWITCH },
	{ "runtime.morestack", SWITCH, GOCODE_SWITCH },
	{ "runtime.asmcgocall", SWITCH, GOCODE_SWITCH },
	/* call the vdso on the thread's stack and keep rbp: their rules are derived from
	 * instructions */
	{ "runtime.nanotime1", SCANNED, GOCODE_VDSO },
	{ "runtime.walltime", SCANNED, GOCODE_VDSO },
	/* a signal handler makes the interrupted code call this */
	{ "runtime.asyncPreempt", UNCHANGED, GOCODE_PREEMPT },
	{ "internal/chacha8rand.block", UNCHANGED, GOCODE_LEAF },
	/* signal trampolines, which CFI treats as functions */
	{ "runtime.sigreturn", TRAMPOLINE, 0 },
	{ "runtime.sigreturn__sigaction", TRAMPOLINE, 0 },
};

/* Assembly functions have the suffix .abi0 if the compiler made a wrapper with the plain name. */
static bool overrides_is_name(const char *symbol, const char *name)
{
	size_t len = strlen(name);

	return strncmp(symbol, name, len) == 0 &&
	       (symbol[len] == '\0' || strcmp(symbol + len, ".abi0") == 0);
}

/* The return address of a handler is the start of the trampoline, and the walk looks up the byte
 * before it. Inside the system call the pc is after the last instruction. */
static void overrides_add_trampoline(struct overrides *m, const struct elf_file *f, uint64_t vaddr)
{
	struct packed_rule rule = full_rule__packed_signal_frame(f->machine), before = rule;
	struct elf_code text = elf_code__at(f, vaddr);

	elf_code__copy(&text, f);
	if (!elf_code__sigreturn(&text))
		return;
	before.flags = PACKED_CALLERS_ONLY;
	overrides_add(m, vaddr - 1, 1, before);
	overrides_add(m, vaddr, elf_code__sigreturn_code(f->machine)->sz + 1u, rule);
}

#define SCANNED_MAX 4096 /* bytes of a function */

struct scanned {
	struct overrides *marks;
	struct cfi_row last; /* its end is not known yet */
};

/* A code_row_fn. */
static void overrides_take_row(const struct cfi_row *row, void *arg)
{
	struct scanned *s = arg;

	if (s->last.rule.how != PACKED_NONE)
		overrides_add(s->marks, s->last.at, row->at - s->last.at, s->last.rule);
	s->last = *row;
}

/* Returns false if the function is too large, or cannot be read. */
static bool overrides_read_function(const struct elf_file *f, const struct go_function *g,
				    uint8_t bytes[SCANNED_MAX])
{
	uint64_t off = elf_code__at(f, g->addr).at_off;

	return g->sz <= SCANNED_MAX && off != UINT64_MAX && !elf_file__read(f, off, bytes, g->sz);
}

static void overrides_add_scanned(struct overrides *m, const struct elf_file *f,
				  const struct go_function *g)
{
	const struct cfi_row none = { g->addr + g->sz, { .how = PACKED_NONE } };
	struct scanned scanned = { .marks = m, .last = none };
	uint8_t bytes[SCANNED_MAX];

	if (!overrides_read_function(f, g, bytes))
		return;
	code_scan(
		&(struct code_gap){
			.bytes = bytes, .sz = g->sz, .vaddr = g->addr, .entry = UINT64_MAX },
		overrides_take_row, &scanned);
	overrides_take_row(&none, &scanned);
}

/* On AArch64. Returns false if the code is not the expected one. */
static bool overrides_add_coded(struct overrides *m, const struct elf_file *f,
				const struct go_function *g, enum gocode_kind kind)
{
	struct gocode_row rows[GOCODE_ROWS_MAX];
	uint8_t bytes[SCANNED_MAX];
	size_t cnt =
		overrides_read_function(f, g, bytes) ? gocode__rows(kind, bytes, g->sz, rows) : 0;

	for (size_t i = 0; i < cnt && m->cnt < OVERRIDE_MAX; i++)
		m->marks[m->cnt++] =
			(struct override){ g->addr + rows[i].at, rows[i].sz, rows[i].rule };
	return cnt;
}

static void overrides_mark_known(struct overrides *m, const struct elf_file *f,
				 const struct go_function *g, const struct go_override *o)
{
	bool is_coded = o->coded && f->machine == &machine_aarch64;

	if (is_coded && overrides_add_coded(m, f, g, o->coded))
		return;
	if (o->rule.how == PACKED_SIGNAL)
		overrides_add_trampoline(m, f, g->addr);
	else if (o->rule.how != PACKED_NONE)
		overrides_add(m, g->addr, g->sz, o->rule);
	else if (o->coded == GOCODE_VDSO && f->machine == &machine_x86_64)
		overrides_add_scanned(m, f, g);
}

static void overrides_mark_function(struct overrides *m, const struct elf_file *f,
				    const struct go_function *g)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (overrides_is_name(g->name, known[i].name))
			overrides_mark_known(m, f, g, &known[i]);
}

static void overrides_mark_symbols(struct overrides *m, const struct elf_file *f,
				   const GElf_Shdr *table)
{
	size_t sz, names_sz;
	uint8_t *syms = section__read(f, table, &sz), *names = NULL;
	GElf_Shdr strings;
	Elf64_Sym sym;

	if (section__at(f, table->sh_link, &strings))
		names = section__read(f, &strings, &names_sz); /* ends with a NUL */
	for (size_t at = 0; syms && names && sz - at >= sizeof(sym); at += sizeof(sym)) {
		struct go_function g;

		memcpy(&sym, syms + at, sizeof(sym));
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_name >= names_sz)
			continue;
		g = (struct go_function){ sym.st_value, sym.st_size,
					  (const char *)names + sym.st_name };
		overrides_mark_function(m, f, &g);
	}
	free(names);
	free(syms);
}

/* Uses the function table that the linker leaves in programs without symbols. */
static void overrides_mark_listed(struct overrides *m, const struct elf_file *f)
{
	struct gopclntab t;
	struct go_function g;

	if (gopclntab__read(&t, f) != 0)
		return;
	for (uint64_t i = 0; i < t.cnt; i++)
		if (gopclntab__at(&t, i, &g))
			overrides_mark_function(m, f, &g);
	gopclntab__free(&t);
}

static void overrides_find_go(struct overrides *m, const struct elf_file *f)
{
	GElf_Shdr table;

	if (!gopclntab__section(f, &table))
		return;
	m->has_pclntab = true;
	if (section__typed(f, SHT_SYMTAB, &table))
		overrides_mark_symbols(m, f, &table);
	else
		overrides_mark_listed(m, f);
	m->is_go = m->cnt;
}

/* ---- the PLT of AArch64 -------------------------------------------------------------------------
 */

/* The first entry begins with this instruction, possibly after a `bti c`. The other entries do not
 * change the stack. */
#define STP_X16_X30 0xa9bf7bf0 /* stp x16, x30, [sp, #-16]! */
#define FIRST_SZ    32

static void overrides_add_plt(struct overrides *m, const struct override_section *plt)
{
	const struct packed_rule bare = { .how = PACKED_SP,
					  .fp = PACKED_FP_KEPT,
					  .ra = PACKED_RA_LINKED };
	struct packed_rule pushed = bare;
	uint32_t first[2];
	uint64_t before;

	memcpy(first, plt->bytes, sizeof(first));
	if (plt->sz < FIRST_SZ)
		return;
	if (first[0] != STP_X16_X30 && first[1] != STP_X16_X30) {
		overrides_add(m, plt->vaddr, plt->sz, bare);
		return;
	}
	pushed.cfa = 2;
	before = first[0] == STP_X16_X30 ? 4 : 8;
	overrides_add(m, plt->vaddr, before, bare);
	overrides_add(m, plt->vaddr + before, FIRST_SZ - before, pushed);
	overrides_add(m, plt->vaddr + FIRST_SZ, plt->sz - FIRST_SZ, bare);
}

/* ---- _init and _fini ----------------------------------------------------------------------------
 */

/* These sections are joined from pieces of the C library that have no CFI; between the first and
 * the last piece, 8 more bytes of stack are in use. */
static void overrides_add_init(struct overrides *m, const struct override_section *s)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t push[] = { 0x48, 0x83, 0xec, 0x08 };      /* sub $8,%rsp */
	static const uint8_t pop[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 }; /* add $8,%rsp; ret */
	const struct packed_rule bare = {
		.how = PACKED_SP, .cfa = 1, .fp = PACKED_FP_KEPT, .ra = -1
	};
	struct packed_rule pushed = bare;
	uint64_t from, to;

	if (s->sz > sizeof(s->bytes) || s->sz < sizeof(endbr) + sizeof(push))
		return;
	from = (memcmp(s->bytes, endbr, sizeof(endbr)) == 0 ? sizeof(endbr) : 0) + sizeof(push);
	to = s->sz - 1;
	if (to < from + sizeof(push) ||
	    memcmp(s->bytes + from - sizeof(push), push, sizeof(push)) ||
	    memcmp(s->bytes + to - sizeof(push), pop, sizeof(pop)))
		return;
	pushed.cfa = 2;
	overrides_add(m, s->vaddr, from, bare);
	overrides_add(m, s->vaddr + from, to - from, pushed);
	overrides_add(m, s->vaddr + to, 1, bare);
}

/* ---- any file ---- */

static int overrides_by_vaddr(const void *a, const void *b)
{
	const struct override *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/* If symbols overlap, the first one counts. */
static void overrides_put_in_order(struct overrides *m)
{
	uint64_t end = 0;
	size_t kept = 0;

	qsort(m->marks, m->cnt, sizeof(m->marks[0]), overrides_by_vaddr);
	for (size_t i = 0; i < m->cnt; i++) {
		if (m->marks[i].vaddr < end || m->marks[i].vaddr > UINT64_MAX - FUNCTION_MAX)
			continue;
		end = m->marks[i].vaddr + m->marks[i].sz;
		m->marks[kept++] = m->marks[i];
	}
	m->cnt = kept;
}

static const struct {
	const struct machine *machine;
	const char *names[OVERRIDES_SECTIONS];
	void (*add)(struct overrides *, const struct override_section *);
} sections[] = {
	{ &machine_x86_64, { ".init", ".fini" }, overrides_add_init },
	{ &machine_aarch64, { ".plt" }, overrides_add_plt },
};

#define MACHINES (sizeof(sections) / sizeof(sections[0]))

const char *overrides__section(const struct machine *machine, size_t nth)
{
	for (size_t i = 0; i < MACHINES && nth < OVERRIDES_SECTIONS; i++)
		if (sections[i].machine == machine)
			return sections[i].names[nth];
	return NULL;
}

void overrides__of_sections(struct overrides *m, const struct machine *machine,
			    const struct override_section all[OVERRIDES_SECTIONS])
{
	for (size_t i = 0; i < MACHINES; i++)
		for (size_t n = 0; n < OVERRIDES_SECTIONS; n++)
			if (sections[i].machine == machine && all[n].sz)
				sections[i].add(m, &all[n]);
	overrides_put_in_order(m);
}

/* A section that cannot be read counts as absent. */
static void overrides_find_section(const struct elf_file *f, const char *name,
				   struct override_section *s)
{
	GElf_Shdr shdr;

	if (!section__named(f, name, &shdr) ||
	    elf_file__read(f, shdr.sh_offset, s->bytes,
			   shdr.sh_size < sizeof(s->bytes) ? shdr.sh_size : sizeof(s->bytes)))
		return;
	s->vaddr = shdr.sh_addr;
	s->sz = shdr.sh_size;
}

void overrides__find(struct overrides *m, const struct elf_file *f)
{
	struct override_section found[OVERRIDES_SECTIONS] = { 0 };
	const char *name;

	*m = (struct overrides){ 0 };
	overrides_find_go(m, f);
	for (size_t n = 0; (name = overrides__section(f->machine, n)); n++)
		overrides_find_section(f, name, &found[n]);
	overrides__of_sections(m, f->machine, found);
}

const struct wide_rule *overrides__at(const struct overrides *m, uint64_t vaddr)
{
	for (size_t i = 0; i < m->cnt; i++)
		if (vaddr - m->marks[i].vaddr < m->marks[i].sz)
			return &m->marks[i].rule;
	return NULL;
}
