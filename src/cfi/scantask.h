/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules that come from the symbols and the instructions of a file, which a worker reads
 * (worker/workers.h). */
#ifndef CFI_SCANTASK_H
#define CFI_SCANTASK_H

#include "cfi/coderows.h"
#include "cfi/overrides.h"
#include "worker/workers.h"

/* Like code_rows__make(), but a worker reads the file unless `workers` is NULL. Returns 0, or
 * -errno without rows; workers__failed() says whether another try makes sense. */
int scan_task__rows(struct workers *, struct elf_file *, struct code_rows *);
/* Like overrides__find(). Files of other languages than Go have overrides by section headers and
 * the first bytes of two sections only, which the caller reads. Returns like scan_task__rows(). */
int scan_task__overrides(struct workers *, const struct elf_file *, struct overrides *);

/* Copies an answer. Return false if no working task gives it. Exported for fuzzing. */
bool scan_answer__rows(const void *answer, size_t sz, struct code_rows *);
bool scan_answer__overrides(const void *answer, size_t sz, const struct machine *,
			    struct overrides *);

/* The function for TASK_SCAN, in a worker. */
int scan_task__run(struct task *);

#endif
