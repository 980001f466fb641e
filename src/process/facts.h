/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc shows of a process besides its mappings. The environment is never read. */
#ifndef PROCESS_FACTS_H
#define PROCESS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process_table;

#define PROCESS_TEXT_MAX 4096

struct process_facts {
	bool known;	   /* else the process is gone, and nothing below is set */
	uint64_t start_ns; /* CLOCK_BOOTTIME, a multiple of the kernel's tick */
	uint32_t parent;   /* its process */
	uint32_t uid;	   /* effective */
	size_t executable_sz;
	size_t command_line_sz; /* 0: a thread of the kernel, or it could not be read in time */
	char text[]; /* the path of the executable, then the arguments with blanks between */
};

/*
 * Reads /proc. Any process may have chosen the bytes of the texts. Reading the arguments needs the
 * lock of the process's address space; the wait is limited (base/errand.h). Cuts each text at
 * `text_max`, at most PROCESS_TEXT_MAX bytes. Returns NULL if out of memory; the caller frees the
 * result.
 */
struct process_facts *process_table__facts(const struct process_table *, uint32_t tgid,
					   size_t text_max);

static inline const char *process_facts__executable(const struct process_facts *f)
{
	return f->text;
}

static inline const char *process_facts__command_line(const struct process_facts *f)
{
	return f->text + f->executable_sz;
}

#endif
