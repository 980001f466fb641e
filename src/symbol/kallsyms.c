// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/ksyms.h"
#include "base/monotonic.h"
#include "base/search.h"
#include "base/strtab.h"
#include "symbol/demangle.h"

#define MODULES_MAX  65536
#define FUNCTION_MAX (1U << 20) /* bytes; a symbol does not cover addresses farther away */
#define WAIT_MIN_NS  1000000000ULL
#define WAIT_MAX_NS  (64 * WAIT_MIN_NS)

struct kallsyms_entry {
	uint64_t addr;
	uint32_t name;	 /* offset in names; 0: data, which only ends the previous function */
	uint16_t module; /* index in modules; 0: the kernel */
	/* of several names for one address, the one with the lowest rank is shown */
	uint16_t rank;
};

struct module {
	uint32_t name; /* in the names of struct kallsyms, with brackets */
	uint64_t base; /* lowest function */
};

/* The result of reading the file once. */
struct kallsyms_table {
	struct buf names; /* of functions, each with a NUL; the first is empty */
	struct kallsyms_entry *entries;
	size_t cnt, cap;
	struct module *modules;
	size_t module_cnt;
};

struct kallsyms {
	char *path;
	struct kallsyms_table table;
	struct strtab *names; /* returned names and modules: they outlive the table */
	uint64_t read_ns, wait_ns;
};

static void table__free(struct kallsyms_table *t)
{
	buf__free(&t->names);
	free(t->entries);
	free(t->modules);
	*t = (struct kallsyms_table){ 0 };
}

/* Lines of a module are consecutive, so its last one is nearly always found first. */
static int kallsyms_find_module(struct kallsyms *k, struct kallsyms_table *t, const char *name,
				uint16_t *idx)
{
	uint32_t id = strtab__id(k->names, name, strlen(name));
	struct module *modules;

	for (size_t i = t->module_cnt; i-- > 0;)
		if (t->modules[i].name == id)
			return *idx = (uint16_t)i, 0;
	if (t->module_cnt == MODULES_MAX)
		return -E2BIG;
	modules = realloc(t->modules, (t->module_cnt + 1) * sizeof(*modules));
	if (!modules)
		return -ENOMEM;
	t->modules = modules;
	t->modules[t->module_cnt] = (struct module){ id, UINT64_MAX };
	*idx = (uint16_t)t->module_cnt++;
	return 0;
}

static int kallsyms_push(struct kallsyms_table *t, struct kallsyms_entry e)
{
	struct kallsyms_entry *entries = array__room(t->entries, t->cnt, &t->cap, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	t->entries = entries;
	t->entries[t->cnt++] = e;
	return 0;
}

/* Ranks global before weak before local, plain before underscored, short before long; data last. */
static uint16_t kallsyms_rank(char type, const char *name)
{
	uint16_t binding = type == 'T' ? 0 : type == 'W' || type == 'w' ? 1 : type == 't' ? 2 : 3;
	size_t underscores = strspn(name, "_"), sz = strnlen(name, 1023);

	return (uint16_t)(binding << 14 | (underscores < 15 ? underscores : 15) << 10 | sz);
}

struct filling {
	struct kallsyms *k;
	struct kallsyms_table *t;
};

static int kallsyms_add_line(const struct ksym_line *l, void *arg)
{
	const struct filling *f = arg;
	struct kallsyms_table *t = f->t;
	struct kallsyms_entry e = { .addr = l->addr, .rank = kallsyms_rank(l->type, l->name) };
	int err = 0;

	if (l->type == 'a' || l->type == 'A')
		return 0;
	if (e.rank < 3 << 14) {
		e.name = (uint32_t)t->names.sz;
		buf__append(&t->names, l->name, strlen(l->name) + 1);
		err = buf__err(&t->names);
	}
	if (l->module && e.name && !err)
		err = kallsyms_find_module(f->k, t, l->module, &e.module);
	return err ? err : kallsyms_push(t, e);
}

static int kallsyms_compare(const void *pa, const void *pb)
{
	const struct kallsyms_entry *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* Returns whether this is _text: the kernel's base, although its boot code may be below it. */
static bool kallsyms_is_text(const struct kallsyms_table *t, const struct kallsyms_entry *e)
{
	return e->module == 0 && strcmp((const char *)t->names.data + e->name, "_text") == 0;
}

/* Keeps one entry per address, and finds the start of each module. */
static void kallsyms_settle(struct kallsyms_table *t)
{
	size_t cnt = 0;

	qsort(t->entries, t->cnt, sizeof(*t->entries), kallsyms_compare);
	for (size_t i = 0; i < t->cnt; i++) {
		const struct kallsyms_entry *e = &t->entries[i];
		struct module *m = &t->modules[e->module];

		if (e->name && (e->addr < m->base || kallsyms_is_text(t, e)))
			m->base = e->addr;
		if (cnt && t->entries[cnt - 1].addr == e->addr)
			continue;
		t->entries[cnt++] = *e;
	}
	t->cnt = cnt;
}

static int kallsyms_read_table(struct kallsyms *k, struct kallsyms_table *t)
{
	uint16_t kernel;
	int err = kallsyms_find_module(k, t, "[kernel]", &kernel);

	buf__u8(&t->names, 0);
	if (!err)
		err = ksyms__each(k->path, kallsyms_add_line, &(struct filling){ k, t });
	if (!err && !t->cnt) /* nothing but absolute symbols */
		err = -EPERM;
	if (!err)
		kallsyms_settle(t);
	return err;
}

static int kallsyms_load(struct kallsyms *k)
{
	struct kallsyms_table t = { 0 };
	int err = kallsyms_read_table(k, &t);

	k->read_ns = monotonic__ns();
	if (err) {
		table__free(&t);
		return err;
	}
	table__free(&k->table);
	k->table = t;
	return 0;
}

struct kallsyms *kallsyms__new(const char *path)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	int err = -ENOMEM;

	if (!k)
		return NULL;
	k->path = strdup(path);
	k->names = strtab__new();
	k->wait_ns = WAIT_MIN_NS;
	if (k->path && k->names)
		err = kallsyms_load(k);
	if (err) {
		kallsyms__free(k);
		return errno = -err, NULL;
	}
	return k;
}

void kallsyms__free(struct kallsyms *k)
{
	if (!k)
		return;
	table__free(&k->table);
	strtab__free(k->names);
	free(k->path);
	free(k);
}

size_t kallsyms__sz(const struct kallsyms *k)
{
	const struct kallsyms_table *t = &k->table;

	return t->names.sz + t->cnt * sizeof(*t->entries) + t->module_cnt * sizeof(*t->modules) +
	       strtab__sz(k->names);
}

static const struct kallsyms_entry *kallsyms_find(const struct kallsyms_table *t, uint64_t addr)
{
	size_t lo = SEARCH_COUNT(t->entries, t->cnt, e, e->addr <= addr);

	if (lo == 0 || !t->entries[lo - 1].name || addr - t->entries[lo - 1].addr >= FUNCTION_MAX)
		return NULL;
	return &t->entries[lo - 1];
}

/* Reads the file again: a module or BPF program may be new. Reading takes the kernel 50 ms, so the
 * wait doubles each time that it does not help. */
static const struct kallsyms_entry *kallsyms_find_again(struct kallsyms *k, uint64_t addr)
{
	const struct kallsyms_entry *e;

	if (monotonic__ns() - k->read_ns < k->wait_ns || kallsyms_load(k) != 0)
		return NULL;
	e = kallsyms_find(&k->table, addr);
	k->wait_ns = e ? WAIT_MIN_NS : k->wait_ns < WAIT_MAX_NS ? 2 * k->wait_ns : WAIT_MAX_NS;
	return e;
}

bool kallsyms__symbol(struct kallsyms *k, uint64_t addr, struct symbol *sym)
{
	const struct kallsyms_entry *e = kallsyms_find(&k->table, addr);
	char readable[SYMBOL_NAME_MAX];
	const struct module *m;
	size_t sz;

	if (!e)
		e = kallsyms_find_again(k, addr);
	if (!e)
		return false;
	m = &k->table.modules[e->module];
	sz = symbol_name((const char *)k->table.names.data + e->name, readable);
	*sym = (struct symbol){
		.name = strtab__str(k->names, strtab__id(k->names, readable, sz), NULL),
		.address = e->addr,
		.module = strtab__str(k->names, m->name, NULL),
		.base = m->base,
	};
	return sym->name[0] != '\0';
}
