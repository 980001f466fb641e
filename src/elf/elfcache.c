// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elfcache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/openfiles.h"

#define IDLE_MAX   1024		/* files without references, each with an open fd */
#define INODES_MAX 16384	/* identities; forgetting one costs opening the file again */
#define HELD_MAX   (256u << 20) /* bytes of memory for untrusted files */
#define ACCOUNTS   32		/* each new account gets at most half of the remaining bytes */

/* Replaces nsec in a key made from the kernel's name of a file; .sec is then the generation. */
#define NAMED UINT64_MAX

struct inode_key {
	uint64_t dev, ino, sec, nsec; /* of the last change */
};

/* The file of an inode. Several inodes may be the same file, by build ID. */
struct inode {
	struct inode_key key;
	struct elfcache_entry *entry; /* NULL: not an ELF file */
	UT_hash_handle hh;	      /* in the order of insertion */
	struct inode *prev, *next;
};

struct elfcache_entry {
	struct elf_file *file;
	struct inode *inodes;
	UT_hash_handle hh_file, hh_build_id; /* by file; trusted files by build ID */
	struct elfcache_entry *prev, *next;  /* in the list of idle files */
	bool named;			     /* it is in by_build_id */
};

struct elf_cache {
	struct elf_holder holder;
	struct inode *by_inode;
	struct elfcache_entry *by_file, *by_build_id;
	struct elfcache_entry *idle; /* least recently used first */
	size_t idle_cnt, idle_max, held_max;
	struct account {
		uint32_t owner;
		size_t sz; /* 0: free */
	} accounts[ACCOUNTS];
	size_t held_sz; /* sum of all accounts */
};

static void elfcache_forget_inode(struct elf_cache *c, struct inode *i)
{
	if (i->entry)
		DL_DELETE(i->entry->inodes, i);
	HASH_DEL(c->by_inode, i);
	free(i);
}

/* Returns the account of the owner, a free one, or NULL if there are too many. */
static struct account *account_of(struct elf_cache *c, uint32_t owner)
{
	struct account *unused = NULL;

	for (size_t i = 0; i < ACCOUNTS; i++) {
		struct account *a = &c->accounts[i];

		if (a->sz && a->owner == owner)
			return a;
		if (!a->sz)
			unused = a;
	}
	if (unused)
		unused->owner = owner;
	return unused;
}

static void elfcache_uncharge(struct elf_cache *c, struct elf_file *f)
{
	if (!f->held_sz)
		return;
	account_of(c, f->owner)->sz -= f->held_sz;
	c->held_sz -= f->held_sz;
}

static void elfcache_unlink_entry(struct elf_cache *c, struct elfcache_entry *e)
{
	while (e->inodes)
		elfcache_forget_inode(c, e->inodes);
	if (e->named)
		HASH_DELETE(hh_build_id, c->by_build_id, e);
	HASH_DELETE(hh_file, c->by_file, e);
	elfcache_uncharge(c, e->file);
}

static void elfcache_free_entry(struct elf_cache *c, struct elfcache_entry *e)
{
	elfcache_unlink_entry(c, e);
	elf_file__free(e->file);
	free(e);
}

void elf_cache__free(struct elf_cache *c)
{
	if (!c)
		return;
	while (c->by_file)
		elfcache_free_entry(c, c->by_file);
	while (c->by_inode)
		elfcache_forget_inode(c, c->by_inode);
	free(c);
}

static struct inode_key elfcache_key_of(const struct stat *st)
{
	return (struct inode_key){ st->st_dev, st->st_ino, (uint64_t)st->st_ctim.tv_sec,
				   (uint64_t)st->st_ctim.tv_nsec };
}

static struct inode_key elfcache_name_of(const struct record_mmap *m)
{
	return (struct inode_key){ makedev(m->maj, m->min), m->ino, m->gen, NAMED };
}

static struct inode *elfcache_find_key(struct elf_cache *c, struct inode_key key)
{
	struct inode *i;

	HASH_FIND(hh, c->by_inode, &key, sizeof(key), i);
	return i;
}

static struct inode *elfcache_find_inode(struct elf_cache *c, const struct stat *st)
{
	return elfcache_find_key(c, elfcache_key_of(st));
}

/* Failure is harmless: the file is then opened again next time. */
static void elfcache_remember_key(struct elf_cache *c, struct inode_key key,
				  struct elfcache_entry *e)
{
	struct inode *i = calloc(1, sizeof(*i));

	if (!i)
		return;
	i->key = key;
	HASH_ADD(hh, c->by_inode, key, sizeof(i->key), i);
	if (!HASH_ADDED(i)) {
		free(i);
		return;
	}
	i->entry = e;
	if (e)
		DL_APPEND(e->inodes, i);
	if (HASH_COUNT(c->by_inode) > INODES_MAX)
		elfcache_forget_inode(c, c->by_inode);
}

static void elfcache_remember_inode(struct elf_cache *c, const struct stat *st,
				    struct elfcache_entry *e)
{
	elfcache_remember_key(c, elfcache_key_of(st), e);
}

static struct elfcache_entry *elfcache_find_build_id(struct elf_cache *c, const struct build_id *id)
{
	struct elfcache_entry *e = NULL;

	if (id->sz > 0 && id->sz <= BUILD_ID_MAX)
		HASH_FIND(hh_build_id, c->by_build_id, id->bytes, id->sz, e);
	return e;
}

static struct elf_file *elfcache_hand_out(struct elf_cache *c, struct elfcache_entry *e)
{
	if (e->file->refs++ == 0) {
		DL_DELETE(c->idle, e);
		c->idle_cnt--;
	}
	return e->file;
}

struct elf_file *elf_cache__by_build_id(struct elf_cache *c, const struct build_id *id)
{
	struct elfcache_entry *e = elfcache_find_build_id(c, id);

	return e ? elfcache_hand_out(c, e) : NULL;
}

void elf_cache__name(struct elf_cache *c, struct elf_file *f, const struct record_mmap *m)
{
	struct inode *i = elfcache_find_key(c, elfcache_name_of(m));
	struct elfcache_entry *e;

	if (m->ino == 0 || (i && i->entry->file == f))
		return;
	if (i)
		elfcache_forget_inode(c, i);
	if (!f->trusted)
		return;
	HASH_FIND(hh_file, c->by_file, &f, sizeof(f), e);
	elfcache_remember_key(c, elfcache_name_of(m), e);
}

struct elf_file *elf_cache__by_name(struct elf_cache *c, const struct record_mmap *m)
{
	struct inode *i = elfcache_find_key(c, elfcache_name_of(m));

	return i ? elfcache_hand_out(c, i->entry) : NULL;
}

struct elf_file *elf_cache__find(struct elf_cache *c, const struct stat *st,
				 const struct build_id *expected)
{
	struct inode *i = elfcache_find_inode(c, st);

	if (!i)
		return errno = ENOENT, NULL;
	if (!i->entry)
		return errno = ENOEXEC, NULL;
	if (expected && !build_id__equal(expected, &i->entry->file->build_id))
		return errno = ESTALE, NULL;
	return elfcache_hand_out(c, i->entry);
}

/* Adds a file that the cache does not have. The caller has its only reference. */
static struct elfcache_entry *elfcache_add(struct elf_cache *c, struct elf_file *f)
{
	struct elfcache_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->file = f;
	HASH_ADD(hh_file, c->by_file, file, sizeof(e->file), e);
	if (!e->hh_file.tbl) {
		free(e);
		return NULL;
	}
	f->holder = &c->holder;
	f->held_sz = 0;
	if (f->trusted && f->build_id.sz > 0) {
		HASH_ADD_KEYPTR(hh_build_id, c->by_build_id, f->build_id.bytes, f->build_id.sz, e);
		e->named = e->hh_build_id.tbl != NULL;
	}
	return e;
}

/* Returns the file's new entry, or the existing entry for its build ID. */
static struct elfcache_entry *elfcache_unify(struct elf_cache *c, struct elf_file *f)
{
	struct elfcache_entry *known = f->trusted ? elfcache_find_build_id(c, &f->build_id) : NULL;

	if (known) {
		elf_file__free(f);
		elfcache_hand_out(c, known);
		return known;
	}
	known = elfcache_add(c, f);
	if (!known)
		elf_file__free(f);
	return known;
}

/* Adds a file under its own identity. */
static struct elfcache_entry *elfcache_take(struct elf_cache *c, struct elf_file *f)
{
	const struct stat own = { .st_dev = f->dev, .st_ino = f->ino, .st_ctim = f->ctime };
	struct inode *i = elfcache_find_inode(c, &own);
	struct elfcache_entry *e;

	if (i && i->entry) { /* another open of this file finished first */
		elf_file__free(f);
		elfcache_hand_out(c, i->entry);
		return i->entry;
	}
	e = elfcache_unify(c, f);
	if (e && !i)
		elfcache_remember_inode(c, &own, e);
	return e;
}

struct elf_file *elf_cache__open(struct elf_cache *c, int fd, const char *path,
				 const struct build_id *expected)
{
	return elf_cache__take(c, elf_file__new(fd, path), expected);
}

struct elf_file *elf_cache__take(struct elf_cache *c, struct elf_file *f,
				 const struct build_id *expected)
{
	struct elfcache_entry *e;

	if (!f)
		return NULL;
	e = elfcache_take(c, f);
	if (!e)
		return errno = ENOMEM, NULL;
	if (!expected || build_id__equal(expected, &e->file->build_id))
		return e->file;
	elf_file__put(e->file);
	return errno = ESTALE, NULL;
}

void elf_cache__give(struct elf_cache *c, struct elf_file *f)
{
	struct elfcache_entry *e;

	HASH_FIND(hh_file, c->by_file, &f, sizeof(f), e);
	elfcache_unlink_entry(c, e);
	f->holder = NULL;
	free(e);
}

struct elf_file *elf_cache__adopt(struct elf_cache *c, struct elf_file *f, const struct stat *st)
{
	struct elfcache_entry *e = f ? elfcache_take(c, f) : NULL;

	if (st && (e || !f) && !elfcache_find_inode(c, st))
		elfcache_remember_inode(c, st, e);
	return e ? e->file : NULL;
}

/* ---- memory of attachments ---------------------------------------------------------------------
 */

static void elfcache_give_back(struct elf_cache *c, struct elf_file *f, size_t sz)
{
	size_t part = sz < f->held_sz ? sz : f->held_sz;

	if (f->trusted || !part)
		return;
	account_of(c, f->owner)->sz -= part;
	c->held_sz -= part;
	f->held_sz -= part;
}

static size_t elfcache_drop_attachment(struct elf_cache *c, struct elf_file *f, enum elf_slot slot)
{
	struct elf_attachment *a = &f->slots[slot];
	size_t sz = a->sz;

	a->free(a->data);
	elfcache_give_back(c, f, a->held);
	*a = (struct elf_attachment){ 0 };
	return sz;
}

/* Both slots of the symbols belong together: a table that was read moves from one to the other. */
static bool elfcache_is_in_use(const struct elf_file *f, enum elf_slot slot)
{
	if (slot == ELF_SLOT_TABLE && f->refs)
		return true;
	return f->slots[slot].pins ||
	       (slot == ELF_SLOT_SYMTAB_READ && f->slots[ELF_SLOT_SYMBOLS].pins);
}

static size_t elfcache_sweep_file(struct elf_cache *c, struct elf_file *f, unsigned age)
{
	size_t freed = 0;

	for (int slot = 0; slot < ELF_SLOT_CNT; slot++) {
		struct elf_attachment *a = &f->slots[slot];

		if (!elfcache_is_in_use(f, slot) && a->data && ++a->age > age)
			freed += elfcache_drop_attachment(c, f, slot);
	}
	if (!f->refs && f->fd >= 0) { /* elf_file__elf() makes another */
		elf_end(f->elf);
		f->elf = NULL;
	}
	return freed;
}

size_t elf_cache__sweep(struct elf_cache *c, unsigned age)
{
	size_t freed = 0;

	for (struct elfcache_entry *e = c->by_file; e; e = e->hh_file.next)
		freed += elfcache_sweep_file(c, e->file, age);
	return freed;
}

/* Returns the highest age of what can be freed; -1: nothing can. */
static long elfcache_oldest_age(const struct elf_cache *c)
{
	long oldest = -1;

	for (const struct elfcache_entry *e = c->by_file; e; e = e->hh_file.next)
		for (int slot = 0; slot < ELF_SLOT_CNT; slot++) {
			const struct elf_attachment *a = &e->file->slots[slot];

			if (!elfcache_is_in_use(e->file, slot) && a->data && (long)a->age > oldest)
				oldest = a->age;
		}
	return oldest;
}

size_t elf_cache__shrink(struct elf_cache *c, size_t sz)
{
	size_t freed = 0;

	for (long age = elfcache_oldest_age(c); age >= 0 && freed < sz; age--)
		for (struct elfcache_entry *e = c->by_file; e && freed < sz; e = e->hh_file.next)
			for (int slot = 0; slot < ELF_SLOT_CNT; slot++) {
				const struct elf_attachment *a = &e->file->slots[slot];

				if (!elfcache_is_in_use(e->file, slot) && a->data && a->age >= age)
					freed += elfcache_drop_attachment(c, e->file, slot);
			}
	return freed;
}

void elf_cache__sizes(const struct elf_cache *c, size_t sz[ELF_SLOT_CNT])
{
	memset(sz, 0, ELF_SLOT_CNT * sizeof(*sz));
	for (const struct elfcache_entry *e = c->by_file; e; e = e->hh_file.next)
		for (int slot = 0; slot < ELF_SLOT_SYMTAB_READ; slot++)
			sz[slot] += e->file->slots[slot].sz;
}

size_t elf_cache__cnt(const struct elf_cache *c)
{
	return HASH_CNT(hh_file, c->by_file);
}

/* ---- for files ----------------------------------------------------------------------------------
 */

static bool elfcache_hold(struct elf_holder *holder, struct elf_file *f, size_t sz)
{
	struct elf_cache *c = (struct elf_cache *)holder;
	struct account *a = account_of(c, f->owner);
	size_t share = a ? (c->held_max - (c->held_sz - a->sz)) / 2 : 0;

	if (!a || a->sz > share || sz > share - a->sz)
		return false;
	a->sz += sz;
	c->held_sz += sz;
	f->held_sz += sz;
	return true;
}

static void elfcache_release(struct elf_holder *holder, struct elf_file *f)
{
	struct elf_cache *c = (struct elf_cache *)holder;
	struct elfcache_entry *e;

	HASH_FIND(hh_file, c->by_file, &f, sizeof(f), e);
	f->slots[ELF_SLOT_TABLE].age = 0;
	DL_APPEND(c->idle, e);
	if (++c->idle_cnt <= c->idle_max)
		return;
	e = c->idle;
	DL_DELETE(c->idle, e);
	c->idle_cnt--;
	elfcache_free_entry(c, e);
}

struct elf_cache *elf_cache__new(size_t idle_max, size_t held_max)
{
	struct elf_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->holder = (struct elf_holder){ elfcache_release, elfcache_hold };
	c->idle_max = idle_max ? idle_max : openfiles__share(IDLE_MAX);
	c->held_max = held_max ? held_max : HELD_MAX;
	return c;
}
