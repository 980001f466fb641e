/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gets call-frame information that is compressed or in a separate debug file, in a worker
 * (worker/workers.h). */
#ifndef CFI_FRAMESTASK_H
#define CFI_FRAMESTASK_H

#include "elf/elffile.h"
#include "worker/workers.h"

enum frames_source { FRAMES_OWN, FRAMES_SEPARATE };

/*
 * Returns an ELF file in memory that has only uncompressed call-frame information: that of the
 * file, or of its separate debug file. The contents are unchecked. The caller puts it. Returns NULL
 * and sets errno: ENOENT if there is none, or an error for which workers__failed() is true.
 */
struct elf_file *frames_task__request(struct workers *, const struct elf_file *,
				      enum frames_source);

/* Returns whether the file has call-frame information that must be decompressed. */
bool frames_task__is_compressed(const struct elf_file *);

/* The function for TASK_FRAMES, in a worker. */
int frames_task__run(struct task *);

#endif
