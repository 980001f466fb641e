// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libdw's own searches walk all DIEs of a unit at every call. This module walks a unit once, at the
 * first look-up of one of its addresses. Later look-ups find functions by binary search.
 */
#include "symbol/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/strtab.h"
#include "elf/debugfile.h"
#include "elf/section.h"
#include "symbol/demangle.h"
#include "base/rangemap.h"

#define DEPTH_MAX 128	     /* nested DIEs */
#define SPANS_MAX (1U << 24) /* ranges of one unit, and units of one file */

struct span_list {
	struct addr_range *v;
	size_t cnt, cap;
	int err;
};

/* A function or an inlined copy of one. */
struct scope {
	Dwarf_Die die;
	uint32_t parent; /* the scope that it is inlined into; RANGE_NONE: not inlined */
	uint32_t name;	 /* in names; 0 before the first look-up */
};

struct lines_unit {
	Dwarf_Die cu;	/* has the lines */
	Dwarf_Die tree; /* has the functions: cu, or its .dwo file's unit */
	bool indexed;
	struct range_map map; /* address → index in scopes */
	struct scope *scopes;
	size_t cnt, cap;
};

struct lines {
	struct elf_file *file, *debug;
	Dwarf *dwarf;
	struct lines_unit *units;
	size_t cnt, cap;
	struct range_map map; /* address → index in units */
	struct strtab *names;
};

static void span_list__add(struct span_list *l, struct addr_range s)
{
	struct addr_range *v =
		l->cnt < SPANS_MAX ? array__room(l->v, l->cnt, &l->cap, sizeof(*v)) : NULL;

	if (!v) {
		l->err = -ENOMEM;
		return;
	}
	l->v = v;
	l->v[l->cnt++] = s;
}

/* Adds the code ranges of the DIE; linkers set the addresses of dropped code to 0 or 1. Returns
 * true if there is any. */
static bool lines_add_ranges(struct span_list *l, Dwarf_Die *die, uint32_t owner)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	bool any = false;

	while (!l->err && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (start > 1 && end > start) {
			span_list__add(l, (struct addr_range){ start, end, owner });
			any = true;
		}
	return any;
}

struct lines_slowwalk {
	struct lines_unit *unit;
	struct span_list spans;
};

static uint32_t lines_add_scope(struct lines_slowwalk *w, const Dwarf_Die *die, uint32_t parent)
{
	struct lines_unit *u = w->unit;
	struct scope *scopes = u->cnt < SPANS_MAX
				       ? array__room(u->scopes, u->cnt, &u->cap, sizeof(*scopes))
				       : NULL;

	if (!scopes) {
		w->spans.err = -ENOMEM;
		return RANGE_NONE;
	}
	u->scopes = scopes;
	u->scopes[u->cnt] = (struct scope){ .die = *die, .parent = parent };
	return (uint32_t)u->cnt++;
}

/* Returns whether such a DIE can contain functions. */
static bool lines_is_container(int tag)
{
	static const int tags[] = {
		DW_TAG_lexical_block,	 DW_TAG_namespace,   DW_TAG_structure_type,
		DW_TAG_class_type,	 DW_TAG_union_type,  DW_TAG_try_block,
		DW_TAG_enumeration_type, DW_TAG_catch_block, DW_TAG_module
	};

	for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++)
		if (tags[i] == tag)
			return true;
	return false;
}

/* Adds the functions among the children of `die`; `parent` is the function around them. */
static void lines_walk(struct lines_slowwalk *w, Dwarf_Die *die, uint32_t parent, int depth)
{
	Dwarf_Die child;
	int err = depth < DEPTH_MAX ? dwarf_child(die, &child) : 1;

	for (; err == 0 && !w->spans.err; err = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);
		uint32_t scope = parent;

		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
			uint32_t idx = (uint32_t)w->unit->cnt;

			if (!lines_add_ranges(&w->spans, &child, idx))
				continue;
			scope = lines_add_scope(w, &child,
						tag == DW_TAG_subprogram ? RANGE_NONE : parent);
		} else if (!lines_is_container(tag)) {
			continue;
		}
		lines_walk(w, &child, scope, depth + 1);
	}
}

static int unit__index(struct lines_unit *u)
{
	struct lines_slowwalk w = { .unit = u };
	int err;

	if (u->indexed)
		return 0;
	u->indexed = true;
	lines_walk(&w, &u->tree, RANGE_NONE, 0);
	err = w.spans.err ? w.spans.err : range_map__build(&u->map, w.spans.v, w.spans.cnt);
	if (err)
		range_map__free(&u->map);
	free(w.spans.v);
	return err;
}

static int lines_add_units(struct lines *l)
{
	struct span_list spans = { 0 };
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, sub;
	int err;

	while (!spans.err && dwarf_get_units(l->dwarf, cu, &cu, NULL, NULL, &die, &sub) == 0) {
		struct lines_unit *units;

		if (!lines_add_ranges(&spans, &die, (uint32_t)l->cnt))
			continue;
		units = array__room(l->units, l->cnt, &l->cap, sizeof(*units));
		if (!units) {
			spans.err = -ENOMEM;
			break;
		}
		l->units = units;
		l->units[l->cnt++] = (struct lines_unit){ .cu = die, .tree = sub.addr ? sub : die };
	}
	err = spans.err ? spans.err : range_map__build(&l->map, spans.v, spans.cnt);
	free(spans.v);
	return err ? err : l->cnt ? 0 : -ENOENT;
}

static bool lines_has_dwarf(const struct elf_file *f)
{
	GElf_Shdr shdr;

	return section__named(f, ".debug_info", &shdr) && shdr.sh_type != SHT_NOBITS;
}

static int lines_open_dwarf(struct lines *l)
{
	const struct elf_file *f = l->file;

	if (!lines_has_dwarf(f))
		f = l->debug = debug_file__open(f, DEBUG_DIR);
	if (!f || !lines_has_dwarf(f))
		return -ENOENT;
	l->dwarf = dwarf_begin_elf(elf_file__elf(f), DWARF_C_READ, NULL);
	return l->dwarf ? lines_add_units(l) : -ENOENT;
}

struct lines *lines__new(const char *path)
{
	struct lines *l = calloc(1, sizeof(*l));
	int err = -ENOMEM;

	if (!l)
		return NULL;
	l->names = strtab__new();
	if (l->names) {
		l->file = elf_file__open(path);
		err = l->file ? lines_open_dwarf(l) : -errno;
	}
	if (err) {
		lines__free(l);
		return errno = -err, NULL;
	}
	return l;
}

void lines__free(struct lines *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->cnt; i++) {
		range_map__free(&l->units[i].map);
		free(l->units[i].scopes);
	}
	free(l->units);
	range_map__free(&l->map);
	dwarf_end(l->dwarf);
	elf_file__put(l->debug);
	elf_file__put(l->file);
	strtab__free(l->names);
	free(l);
}

static const char *lines_string_attr(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, name, &attr) ? dwarf_formstring(&attr) : NULL;
}

static int lines_int_attr(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &v) != 0 || v > INT_MAX)
		return 0;
	return (int)v;
}

/* Returns NULL if there is no name. */
static const char *lines_keep(struct lines *l, const char *raw, uint32_t *id)
{
	char readable[SYMBOL_NAME_MAX];

	*id = raw ? strtab__id(l->names, readable, symbol_name(raw, readable)) : 0;
	return *id ? strtab__str(l->names, *id, NULL) : NULL;
}

static const char *lines_function_name(struct lines *l, struct scope *s)
{
	const char *raw;

	if (s->name)
		return strtab__str(l->names, s->name, NULL);
	raw = lines_string_attr(&s->die, DW_AT_linkage_name);
	if (!raw)
		raw = lines_string_attr(&s->die, DW_AT_MIPS_linkage_name);
	if (!raw)
		raw = lines_string_attr(&s->die, DW_AT_name);
	return lines_keep(l, raw, &s->name);
}

static bool lines_is_below(const char *file, const char *dir)
{
	size_t sz = strlen(dir);

	return strncmp(file, dir, sz) == 0 && file[sz] == '/';
}

/* Prepends the folder of the compilation to a relative name. Before DWARF 5, libdw has done that
 * already; in DWARF 5, only for files in that folder, if -ffile-prefix-map made it relative. */
static const char *lines_file_name(struct lines *l, struct lines_unit *u, const char *file)
{
	Dwarf_Half version = 5;
	const char *dir = NULL;
	char path[PATH_MAX];
	uint32_t id;

	dwarf_cu_info(u->cu.cu, &version, NULL, NULL, NULL, NULL, NULL, NULL);
	if (file && file[0] != '/' && version >= 5)
		dir = lines_string_attr(&u->cu, DW_AT_comp_dir);
	if (dir && !lines_is_below(file, dir) &&
	    snprintf(path, sizeof(path), "%s/%s", dir, file) < (int)sizeof(path))
		return lines_keep(l, path, &id);
	return lines_keep(l, file, &id);
}

static struct line lines_find(struct lines *l, struct lines_unit *u, uint64_t vaddr)
{
	Dwarf_Line *src = dwarf_getsrc_die(&u->cu, vaddr);
	struct line line = { 0 };

	if (!src)
		return line;
	line.file = lines_file_name(l, u, dwarf_linesrc(src, NULL, NULL));
	if (dwarf_lineno(src, &line.line) != 0 || dwarf_linecol(src, &line.column) != 0)
		line.line = line.column = 0;
	return line;
}

/* Returns the place from which `s`, an inlined function, was called. */
static struct line lines_call_site(struct lines *l, struct lines_unit *u, struct scope *s)
{
	struct line line = { .line = lines_int_attr(&s->die, DW_AT_call_line),
			     .column = lines_int_attr(&s->die, DW_AT_call_column) };
	int file = lines_int_attr(&s->die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t cnt;

	if (dwarf_getsrcfiles(&u->cu, &files, &cnt) == 0 && (size_t)file < cnt)
		line.file = lines_file_name(l, u, dwarf_filesrc(files, (size_t)file, NULL, NULL));
	return line;
}

int lines__at(struct lines *l, struct line_query q, line_fn fn, void *arg)
{
	uint32_t at = range_map__find(&l->map, q.vaddr);
	struct lines_unit *u = at == RANGE_NONE ? NULL : &l->units[at];
	struct line line;

	if (!u)
		return -ENOENT;
	if (unit__index(u) != 0)
		return -ENOMEM;
	line = lines_find(l, u, q.vaddr);
	at = range_map__find(&u->map, q.vaddr);
	if (at == RANGE_NONE && !line.file)
		return -ENOENT;
	if (at == RANGE_NONE)
		fn(&line, arg);
	while (at != RANGE_NONE) {
		struct scope *s = &u->scopes[at];

		line.function = lines_function_name(l, s);
		if (q.inlines || s->parent == RANGE_NONE)
			fn(&line, arg);
		if (s->parent != RANGE_NONE)
			line = lines_call_site(l, u, s);
		at = s->parent;
	}
	return 0;
}
