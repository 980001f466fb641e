// SPDX-License-Identifier: GPL-2.0-or-later
#include "formats/mapped.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LET_GO_SZ (8u << 20) /* the least to release: each release is a system call */

/* The state of the signal handler, which has no argument. `end` is 0 if nothing is mapped. */
static struct {
	uintptr_t start, end, page_sz;
	volatile uintptr_t lost; /* from here on, zeros replace the file */
	struct sigaction before;
} guarded;

static uintptr_t mapped_page_of(uintptr_t at)
{
	return at & ~(guarded.page_sz - 1);
}

/* Handles SIGBUS for a page past the end of a truncated file: maps zeros from there on. For any
 * other page, restores the default action. */
static void mapped_on_lost_page(int sig, siginfo_t *info, void *context)
{
	uintptr_t page = mapped_page_of((uintptr_t)info->si_addr);
	int err = errno;

	(void)context;
	if (page < guarded.start || page >= guarded.end ||
	    mmap((void *)page, guarded.end - page, PROT_READ,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		signal(sig, SIG_DFL); /* repeating the access raises it again */
	else if (page < guarded.lost)
		guarded.lost = page;
	errno = err;
}

static void mapped_guard(const struct mapped *m)
{
	struct sigaction a = { .sa_sigaction = mapped_on_lost_page, .sa_flags = SA_SIGINFO };

	guarded.page_sz = (uintptr_t)sysconf(_SC_PAGESIZE);
	guarded.start = (uintptr_t)m->bytes;
	guarded.end = mapped_page_of(guarded.start + m->map_sz + guarded.page_sz - 1);
	guarded.lost = guarded.end;
	sigaction(SIGBUS, &a, &guarded.before);
}

bool mapped__open(struct mapped *m, int fd, uint64_t sz)
{
	void *at = MAP_FAILED;

	*m = (struct mapped){ .fd = fd };
	if (sz > 0 && sz <= PTRDIFF_MAX && guarded.end == 0)
		at = mmap(NULL, sz, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return false;
	madvise(at, sz, MADV_SEQUENTIAL);
	m->bytes = at;
	m->sz = m->map_sz = sz;
	mapped_guard(m);
	return true;
}

void mapped__close(struct mapped *m)
{
	if (!m->bytes)
		return;
	guarded.end = 0;
	sigaction(SIGBUS, &guarded.before, NULL);
	munmap((void *)(uintptr_t)m->bytes, m->map_sz);
	m->bytes = NULL;
}

void mapped__check(struct mapped *m)
{
	uint64_t lost = guarded.lost - guarded.start;
	struct stat st;

	if (fstat(m->fd, &st) == 0 && (uint64_t)st.st_size < m->sz)
		m->sz = (uint64_t)st.st_size;
	if (lost < m->sz)
		m->sz = lost;
}

void mapped__let_go(struct mapped *m, uint64_t off)
{
	if (off < m->let_go + LET_GO_SZ)
		return;
	off = mapped_page_of(off);
	madvise((void *)(uintptr_t)(m->bytes + m->let_go), off - m->let_go, MADV_DONTNEED);
	m->let_go = off;
}
