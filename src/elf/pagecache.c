// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/pagecache.h"

#include <sys/mman.h>

#define PAGE_BITS 12
#define PAGE_SZ	  (1u << PAGE_BITS)
#define SET_BITS  5
#define WAYS	  4		     /* pages per set */
#define CNT	  (WAYS << SET_BITS) /* 512 KB, as much as the rules (unwind/fastwalk.h) */
#define OFF_BITS  44

struct page_cache {
	uint8_t bytes[CNT][PAGE_SZ]; /* first, for the same alignment as in the file */
	uint64_t last_id;
	size_t last;	    /* index of the last page found */
	uint64_t keys[CNT]; /* id << (OFF_BITS - PAGE_BITS) | page; 0: none */
	uint8_t oldest[1 << SET_BITS];
};

/* Populates all memory: touching a new page costs more than reading one. */
struct page_cache *page_cache__new(void)
{
	void *at = mmap(NULL, sizeof(struct page_cache), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

void page_cache__free(struct page_cache *p)
{
	if (p)
		munmap(p, sizeof(*p));
}

struct paged_file page_cache__add(struct page_cache *p)
{
	return (struct paged_file){ p, p ? ++p->last_id : 0 };
}

/* Returns the index of the page, or of the oldest page in its set. */
static size_t pagecache_place_of(struct page_cache *p, uint64_t key)
{
	size_t set = (key * 0x9e3779b97f4a7c15u) >> (64 - SET_BITS);

	for (size_t at = set * WAYS; at < (set + 1) * WAYS; at++)
		if (p->keys[at] == key)
			return at;
	return set * WAYS + p->oldest[set]++ % WAYS;
}

/* Returns the size of a page; the last page of a file may be short. */
static size_t page_sz(const struct elf_file *f, uint64_t from)
{
	uint64_t left = from < f->sz ? f->sz - from : 0;

	return left < PAGE_SZ ? left : PAGE_SZ;
}

/* Returns the first of the requested bytes, and how many follow in its page. Returns NULL if the
 * file does not have them, or `read` failed. */
static const uint8_t *pagecache_find(const struct paged_file *f, const struct page_read *r,
				     size_t *left)
{
	uint64_t no = r->off >> PAGE_BITS, key = f->id << (OFF_BITS - PAGE_BITS) | no;
	size_t in = r->off % PAGE_SZ, sz, at;
	struct page_cache *p = f->pages;

	if (!p || r->off >> OFF_BITS)
		return NULL;
	sz = page_sz(r->file, r->off - in);
	if (sz <= in)
		return NULL;
	at = p->keys[p->last] == key ? p->last : pagecache_place_of(p, key);
	if (p->keys[at] != key) {
		p->keys[at] = 0;
		if (r->read(r->file, r->off - in, p->bytes[at], sz))
			return NULL;
		p->keys[at] = key;
	}
	p->last = at;
	*left = sz - in;
	return p->bytes[at] + in;
}

int paged_file__read(const struct paged_file *f, struct page_read r, void *to)
{
	uint8_t *at = to;

	while (r.sz) {
		size_t left, n;
		const uint8_t *in = pagecache_find(f, &r, &left);

		if (!in)
			return r.read(r.file, r.off, at, r.sz);
		n = left < r.sz ? left : r.sz;
		memcpy(at, in, n);
		at += n;
		r.off += n;
		r.sz -= n;
	}
	return 0;
}

int paged_file__see(const struct paged_file *f, struct page_read r, void *room, const void **at)
{
	size_t left;
	const uint8_t *in = pagecache_find(f, &r, &left);

	*at = in && r.sz <= left ? in : room;
	return *at == in ? 0 : paged_file__read(f, r, room);
}
