/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An ELF file that a worker reads (worker/workers.h): what the program passes to it, and how the
 * worker gets the file's separate debug file. */
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

/* Answers a question about an open file, which is borrowed. Returns 0 or -errno. */
typedef int (*remote_answer_fn)(struct task *, const struct remote_file *question,
				struct elf_file *);

/* Copies the request to `question`, a struct of `sz` bytes with a struct
 * remote_file as its first member. Opens the file of the task, and calls the function. The program
 * opens the separate debug file. Returns the function's result. Returns -EINVAL if the request has
 * another size. Returns -errno if the file cannot be opened. */
int remote_file__answer(struct task *, struct remote_file *question, size_t sz, remote_answer_fn);

#endif
