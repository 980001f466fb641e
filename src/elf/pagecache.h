/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of files that were read lately: who looks a few bytes up here and there asks for the same
 * pages again and again, and a system call costs as much as all the rest. They are never mapped: a
 * file cut short must not raise SIGBUS, nor a page that is not in memory let anybody wait.
 */
#ifndef ELF_PAGECACHE_H
#define ELF_PAGECACHE_H

#include "elf/code.h"

struct page_cache;

struct page_cache *page_cache__new(void);   /* NULL + errno */
void page_cache__free(struct page_cache *); /* accepts NULL */

/* A file that is read by pages. */
struct paged_file {
	struct page_cache *pages; /* borrowed; NULL: none are kept */
	uint64_t id;		  /* among those of `pages` */
};

struct paged_file page_cache__add(struct page_cache *); /* accepts NULL */

/* Bytes of the file, as `read` says them, now or when it was asked for their page. 0, or what it
 * says. */
struct page_read {
	const struct elf_file *file;
	elf_file_read_fn read;
	uint64_t off;
	size_t sz;
};
int paged_file__read(const struct paged_file *, struct page_read, void *to);

/* The same without a copy where all of it is in one page: until the next read of these pages, and
 * as aligned as in the file. Else they are read to `room`. */
int paged_file__see(const struct paged_file *, struct page_read, void *room, const void **at);

/* Who asks for bytes of a file again and again. */
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
