// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/remotesymbol.h"

#include <stdlib.h>

#include "elf/remotefile.h"
#include "symbol/nametask.h"
#include "symbol/symtabtask.h"

/* Returns false if memory is short. */
static bool remote_read(struct workers *w, struct elf_file *f)
{
	int err;
	struct symtab *t = symtab_task__request(w, f, &err);

	if (!t)
		t = symtab__empty();
	if (t)
		elf_file__set_symtab(f, t);
	return t;
}

struct remote_name {
	struct elf_file *file;
	uint64_t vaddr;
};

static void remote_name_set(const char *readable, void *arg)
{
	const struct remote_name *n = arg;

	elf_file__set_name(n->file, n->vaddr, readable);
}

static void remote_demangle(struct workers *w, struct elf_file *f, uint64_t vaddr, const char *raw)
{
	struct name_batch *b = calloc(1, sizeof(*b));
	struct remote_name name = { f, vaddr };
	char plain[SYMBOL_NAME_MAX];

	if (!b || !name_batch__add(b, raw) ||
	    name_task__request(w, b, (struct name_owner){ remote_file__owner(f), f->path },
			       remote_name_set, &name)) {
		symbol_name_plain(raw, plain);
		elf_file__set_name(f, vaddr, plain);
	}
	free(b);
}

bool workers__symbol(struct workers *w, struct elf_file *f, uint64_t vaddr, struct symbol *s)
{
	const char *raw;

	if (!w || f->fd < 0)
		return elf_file__symbol(f, vaddr, s);
	if (!f->slots[ELF_SLOT_SYMBOLS].data && !remote_read(w, f))
		return false;
	raw = elf_file__mangled(f, vaddr);
	if (raw)
		remote_demangle(w, f, vaddr, raw);
	return elf_file__symbol(f, vaddr, s);
}
