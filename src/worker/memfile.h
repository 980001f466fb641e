/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files in memory that carry large answers of workers. The maker seals them; the reader checks the
 * seals and copies the bytes. */
#ifndef WORKER_MEMFILE_H
#define WORKER_MEMFILE_H

#include <stddef.h>
#include <sys/mman.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* since Linux 6.3 */
#endif
#define MEMFILE_FLAGS (MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL)

/* Bytes in memory. */
struct memfile_part {
	const void *data;
	size_t sz;
};

/* Returns the descriptor of a sealed copy of all parts, or -errno. */
int memfile__make(const struct memfile_part *, size_t cnt);

/*
 * Returns a malloc()ed copy of the bytes, of which there is at least one, and sets `*sz`. Returns
 * NULL and sets errno: EPROTO if `fd` is no sealed file in memory, EFBIG if it has more than
 * `max_sz` bytes. Does not close `fd`.
 */
void *memfile__read(int fd, size_t max_sz, size_t *sz);

#endif
