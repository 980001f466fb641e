/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the notes of static probes, in a worker if there are workers (worker/workers.h). */
#ifndef ELF_SDTTASK_H
#define ELF_SDTTASK_H

#include "elf/sdt.h"
#include "worker/workers.h"

/*
 * Like sdt__each(), but a worker reads the file unless `workers` is NULL, and strings are valid as
 * long as the file. All notes are read before the first call: if one of them is malformed, there is
 * no call. Also returns an error for which workers__failed() is true.
 */
int sdt_task__each(struct workers *, const struct elf_file *, sdt_fn, void *arg);

/* Returns whether an answer is sound: `sz` bytes at a multiple of 8. */
bool sdt_block__is_sound(const void *block, size_t sz);
/* Calls fn for each note of a sound block until it returns a value other than 0. */
int sdt_block__each(const void *block, sdt_fn, void *arg);

/* The function for TASK_NOTES, in a worker. */
int sdt_task__run(struct task *);

#endif
