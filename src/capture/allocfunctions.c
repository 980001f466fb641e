// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/allocfunctions.h"

#include <errno.h>
#include <string.h>

#include "bpf/allocations.h"
#include "elf/section.h"
#include "elf/symlist.h"

#define SYMTAB_MAX (64u << 20) /* bytes of .symtab; the symbols of larger files are not read */

/* Whether a function calls no other allocation function of its allocator. */
enum allocfunctions_leaf {
	LEAF_NEVER,
	LEAF_LIBRARY, /* of an allocator that is known for it, or of glibc */
	LEAF_OWN,     /* of an allocator that is known for it */
	LEAF_ALWAYS,
};

struct alloc_name {
	const char *name;
	enum alloc_call call;
	enum allocfunctions_leaf leaf;
};

/* The names of C, which may have a prefix. */
static const struct alloc_name c_names[] = {
	{ "malloc", ALLOC_SIZE, LEAF_ALWAYS },
	{ "calloc", ALLOC_CALLOC, LEAF_LIBRARY },
	{ "realloc", ALLOC_REALLOC, LEAF_NEVER },
	{ "memalign", ALLOC_ALIGNED, LEAF_NEVER },
	{ "aligned_alloc", ALLOC_ALIGNED, LEAF_NEVER },
	{ "posix_memalign", ALLOC_POSIX_ALIGN, LEAF_NEVER },
	{ "valloc", ALLOC_SIZE, LEAF_NEVER },
	{ "pvalloc", ALLOC_SIZE, LEAF_NEVER },
	{ "free", ALLOC_FREE, LEAF_ALWAYS },
	{ "free_sized", ALLOC_FREE, LEAF_ALWAYS },
	{ "free_aligned_sized", ALLOC_FREE, LEAF_ALWAYS },
	/* jemalloc(3) */
	{ "mallocx", ALLOC_SIZE, LEAF_ALWAYS },
	{ "rallocx", ALLOC_REALLOC, LEAF_NEVER },
	{ "dallocx", ALLOC_FREE, LEAF_ALWAYS },
	{ "sdallocx", ALLOC_FREE, LEAF_ALWAYS },
};

/* operator new and delete: [], nothrow, aligned, sized. In jemalloc, new[] jumps to new. */
static const struct alloc_name cpp_names[] = {
	{ "_Znwm", ALLOC_SIZE, LEAF_OWN },
	{ "_Znam", ALLOC_SIZE, LEAF_NEVER },
	{ "_ZnwmRKSt9nothrow_t", ALLOC_SIZE, LEAF_OWN },
	{ "_ZnamRKSt9nothrow_t", ALLOC_SIZE, LEAF_NEVER },
	{ "_ZnwmSt11align_val_t", ALLOC_SIZE, LEAF_NEVER },
	{ "_ZnamSt11align_val_t", ALLOC_SIZE, LEAF_NEVER },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", ALLOC_SIZE, LEAF_NEVER },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", ALLOC_SIZE, LEAF_NEVER },
	{ "_ZdlPv", ALLOC_FREE, LEAF_ALWAYS },
	{ "_ZdaPv", ALLOC_FREE, LEAF_ALWAYS },
	{ "_ZdlPvm", ALLOC_FREE, LEAF_ALWAYS },
	{ "_ZdaPvm", ALLOC_FREE, LEAF_ALWAYS },
	{ "_ZdlPvRKSt9nothrow_t", ALLOC_FREE, LEAF_ALWAYS },
	{ "_ZdaPvRKSt9nothrow_t", ALLOC_FREE, LEAF_ALWAYS },
	{ "_ZdlPvSt11align_val_t", ALLOC_FREE, LEAF_ALWAYS },
	{ "_ZdaPvSt11align_val_t", ALLOC_FREE, LEAF_ALWAYS },
	{ "_ZdlPvmSt11align_val_t", ALLOC_FREE, LEAF_ALWAYS },
	{ "_ZdaPvmSt11align_val_t", ALLOC_FREE, LEAF_ALWAYS },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", ALLOC_FREE, LEAF_ALWAYS },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", ALLOC_FREE, LEAF_ALWAYS },
};

/* jemalloc with its default prefix on other systems and in Rust, gperftools, mimalloc */
static const char *const prefixes[] = { "je_", "_rjem_", "tc_", "mi_" };

/* Functions that only these libraries have, and up to which kind their functions are leaves. */
static const struct {
	const char *name;
	enum allocfunctions_leaf leaf;
} libraries[] = {
	{ "gnu_get_libc_version", LEAF_LIBRARY },
	{ "mallocx", LEAF_OWN },
	{ "je_mallocx", LEAF_OWN },
	{ "_rjem_mallocx", LEAF_OWN },
	{ "tc_malloc", LEAF_OWN },
	{ "TCMallocInternalMalloc", LEAF_OWN },
};

#define CNT(a) (sizeof(a) / sizeof(*(a)))

/* What the symbols of a file are, beside allocation functions. */
enum symbol_set { SYMBOLS_C, SYMBOLS_PREFIXED, SYMBOLS_CPP, SYMBOLS_CNT };

struct allocator_scan {
	const struct elf_file *file;
	struct alloc_functions found[SYMBOLS_CNT];
	bool leaves[LEAF_ALWAYS]; /* there are functions that only such a library has */
	bool imports_malloc, defines_malloc;
};

static const struct alloc_name *allocfunctions_find_name(const struct alloc_name *names, size_t cnt,
							 const char *name)
{
	for (size_t i = 0; i < cnt; i++) {
		if (!strcmp(names[i].name, name))
			return &names[i];
	}
	return NULL;
}

static const struct alloc_name *allocfunctions_find_prefixed(const char *name)
{
	for (size_t i = 0; i < CNT(prefixes); i++) {
		size_t len = strlen(prefixes[i]);

		if (!strncmp(name, prefixes[i], len))
			return allocfunctions_find_name(c_names, CNT(c_names), name + len);
	}
	return NULL;
}

/* Returns false if the address is not in code. */
static bool allocfunctions_file_offset(const struct elf_file *f, uint64_t addr, uint64_t *off)
{
	for (size_t i = 0; i < f->segment_cnt; i++) {
		const struct elf_segment *s = &f->segments[i];

		if ((s->flags & PF_X) && addr - s->vaddr < s->sz) {
			*off = addr - s->vaddr + s->off;
			return true;
		}
	}
	return false;
}

/* Returns the index of the function at that address; `cnt` if there is none. */
static size_t allocfunctions_find_address(const struct alloc_functions *l, uint64_t addr)
{
	size_t i = 0;

	while (i < l->cnt && l->at[i].addr != addr)
		i++;
	return i;
}

/* The kind of leaf is in the cookie until the library is known. A function with several names
 * counts as what the best known of them does. */
static void allocfunctions_add(const struct elf_file *f, struct alloc_functions *l,
			       const struct alloc_name *n, uint64_t addr)
{
	struct alloc_function fn = { .addr = addr, .cookie = n->call | (uint64_t)n->leaf << 4 };
	size_t i = allocfunctions_find_address(l, addr);

	if (i < l->cnt && fn.cookie >> 4 > l->at[i].cookie >> 4)
		l->at[i].cookie = fn.cookie;
	if (i == l->cnt && l->cnt < ALLOC_FUNCTION_MAX &&
	    allocfunctions_file_offset(f, addr, &fn.off))
		l->at[l->cnt++] = fn;
}

static void allocfunctions_see_defined(struct allocator_scan *s, const char *name,
				       const GElf_Sym *sym)
{
	bool local = GELF_ST_BIND(sym->st_info) == STB_LOCAL;
	const struct alloc_name *n;

	for (size_t i = 0; i < CNT(libraries); i++) {
		if (!strcmp(name, libraries[i].name))
			s->leaves[libraries[i].leaf] = true;
	}
	if (!local && (n = allocfunctions_find_name(c_names, CNT(c_names), name)) != NULL) {
		s->defines_malloc |= !strcmp(name, "malloc");
		allocfunctions_add(s->file, &s->found[SYMBOLS_C], n, sym->st_value);
	} else if (!local &&
		   (n = allocfunctions_find_name(cpp_names, CNT(cpp_names), name)) != NULL) {
		allocfunctions_add(s->file, &s->found[SYMBOLS_CPP], n, sym->st_value);
	} else if ((n = allocfunctions_find_prefixed(name)) != NULL) {
		allocfunctions_add(s->file, &s->found[SYMBOLS_PREFIXED], n, sym->st_value);
	}
}

static void allocfunctions_see_symbol(struct allocator_scan *s, const char *name,
				      const GElf_Sym *sym)
{
	if (sym->st_shndx == SHN_UNDEF)
		s->imports_malloc |= !strcmp(name, "malloc");
	else if (GELF_ST_TYPE(sym->st_info) == STT_FUNC)
		allocfunctions_see_defined(s, name, sym);
}

static int allocfunctions_scan_table(struct allocator_scan *s, struct symlist *l, uint32_t type)
{
	struct symbol_section table;
	GElf_Shdr shdr;
	int err;

	if (!section__typed(s->file, type, &shdr) || shdr.sh_size > SYMTAB_MAX)
		return 0;
	err = symbol_section__read(&table, l, s->file, type);
	for (size_t i = 0; i < table.cnt && !err; i++) {
		GElf_Sym sym = symbol_section__at(&table, i);

		allocfunctions_see_symbol(s, symbol_section__name(&table, &sym), &sym);
	}
	symbol_section__free(&table);
	return err == -ENOENT ? 0 : err;
}

static bool allocfunctions_is_leaf(const struct allocator_scan *s, uint64_t leaf)
{
	if (leaf == LEAF_LIBRARY)
		return s->leaves[LEAF_LIBRARY] || s->leaves[LEAF_OWN];
	return leaf == LEAF_ALWAYS || s->leaves[leaf];
}

static void allocfunctions_take(const struct allocator_scan *s, enum symbol_set set,
				struct alloc_functions *out)
{
	const struct alloc_functions *l = &s->found[set];

	for (size_t i = 0; i < l->cnt && out->cnt < ALLOC_FUNCTION_MAX; i++) {
		struct alloc_function fn = l->at[i];
		uint64_t call = fn.cookie & ALLOC_COOKIE_CALL;

		if (allocfunctions_find_address(out, fn.addr) < out->cnt)
			continue;
		fn.cookie = call |
			    (allocfunctions_is_leaf(s, fn.cookie >> 4) ? ALLOC_COOKIE_LEAF : 0) |
			    (fn.addr & ALLOC_PAGE_MASK) << ALLOC_COOKIE_PAGE;
		out->at[out->cnt++] = fn;
	}
}

int alloc_functions__find(const struct elf_file *f, struct alloc_functions *out)
{
	struct allocator_scan s = { .file = f };
	struct symlist l;
	int err = symlist__init(&l, f);

	out->cnt = 0;
	if (!err)
		err = allocfunctions_scan_table(&s, &l, SHT_DYNSYM);
	if (!err)
		err = allocfunctions_scan_table(&s, &l, SHT_SYMTAB);
	symlist__free(&l);
	if (err)
		return err;
	allocfunctions_take(&s, s.defines_malloc ? SYMBOLS_C : SYMBOLS_PREFIXED, out);
	if (s.defines_malloc || !s.imports_malloc)
		allocfunctions_take(&s, SYMBOLS_CPP, out);
	return 0;
}

static bool allocfunctions_is_sound(const struct elf_file *f, const struct alloc_function *fn)
{
	uint64_t page = (fn->addr & ALLOC_PAGE_MASK) << ALLOC_COOKIE_PAGE,
		 call = fn->cookie & ALLOC_COOKIE_CALL, off;

	return call <= ALLOC_FREE && (fn->cookie & ~ALLOC_COOKIE_LEAF) == (page | call) &&
	       allocfunctions_file_offset(f, fn->addr, &off) && off == fn->off;
}

bool alloc_functions__are_sound(const struct elf_file *f, const struct alloc_functions *l)
{
	if (l->cnt > ALLOC_FUNCTION_MAX)
		return false;
	for (size_t i = 0; i < l->cnt; i++)
		if (!allocfunctions_is_sound(f, &l->at[i]) ||
		    allocfunctions_find_address(l, l->at[i].addr) != i)
			return false;
	return true;
}
