/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An ELF file that a worker reads (worker/workers.h): what the program tells about it, and how the
 * worker gets its separate debug file. */
#ifndef ELF_REMOTEFILE_H
#define ELF_REMOTEFILE_H

#include "elf/debugfile.h"
#include "elf/elffile.h"
#include "worker/workers.h"

/* Sent with the descriptor of the file. */
struct remote_file {
	struct build_id build_id;
	uint8_t trusted;
};

struct remote_file remote_file__of(const struct elf_file *);

/* Returns .owner of requests about the file. */
uint64_t remote_file__owner(const struct elf_file *);

/* ---- in a worker --------------------------------------------------------------------------------
 */

struct remote_opener {
	struct debug_opener base;
	struct task *task;
};

/* Opens the file of the task. Uses `opener` for its debug file; it must outlive the file. The
 * caller puts the result. Returns NULL and sets errno. */
struct elf_file *remote_file__open(struct task *, const struct remote_file *,
				   struct remote_opener *);

#endif
