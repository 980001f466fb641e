/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recently read pages of files. Code that looks up a few bytes at a time needs the same pages again
 * and again, and a system call costs as much as the rest of a look-up. Pages are never mapped: a
 * truncated file must not raise SIGBUS, and a page that is not in memory must not block.
 */
#ifndef ELF_PAGECACHE_H
#define ELF_PAGECACHE_H

#include "elf/code.h"

struct page_cache;

struct page_cache *page_cache__new(void);   /* returns NULL and sets errno on failure */
void page_cache__free(struct page_cache *); /* accepts NULL */

/* A file that is read by pages. */
struct paged_file {
	struct page_cache *pages; /* borrowed; NULL: no caching */
	uint64_t id;		  /* unique within `pages` */
};

struct paged_file page_cache__add(struct page_cache *); /* accepts NULL */

/* Reads bytes of the file, from the cache if possible. Returns 0 or the error of `read`. */
struct page_read {
	const struct elf_file *file;
	elf_file_read_fn read;
	uint64_t off;
	size_t sz;
};
int paged_file__read(const struct paged_file *, struct page_read, void *to);

/* Like paged_file__read(), but does not copy if all bytes are in one page: `*at` then points into
 * that page, with the alignment in the file, until the next read. Otherwise they are read into
 * `room`. */
int paged_file__see(const struct paged_file *, struct page_read, void *room, const void **at);

/* The arguments of a series of reads from one file. */
struct page_reader {
	const struct paged_file *paged;
	const struct elf_file *file;
	elf_file_read_fn read;
};

static inline int page_reader__read(const struct page_reader *r, uint64_t off, void *to, size_t sz)
{
	return paged_file__read(r->paged, (struct page_read){ r->file, r->read, off, sz }, to);
}

static inline int page_reader__see(const struct page_reader *r, uint64_t off, size_t sz, void *room,
				   const void **at)
{
	return paged_file__see(r->paged, (struct page_read){ r->file, r->read, off, sz }, room, at);
}

#endif
