// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads symbol tables by jobs. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jobs.h"
#include "base/monotonic.h"
#include "symbol/symtabtask.h"

#define READS_MAX 256 /* at a time: each holds a file descriptor */
#define RETRY_NS                                                                         \
	30000000000 /* after a job was given back undone, or the table could not be read \
		     */

/* Attached to the file. The job has a reference, too, and outlives the file where it hangs. */
struct symtab_read {
	struct job job;
	atomic_uint refs;
	struct elf_file copy;	 /* what symtab__new() uses of the file */
	struct workers *workers; /* a reference; NULL: the job's thread reads the file */
	struct symtab *table;	 /* the result; NULL: none, or taken */
	bool done;
	uint64_t retry_ns; /* once done */
};

static struct symtab_read *symtab_read_of(struct job *j)
{
	return (struct symtab_read *)((char *)j - offsetof(struct symtab_read, job));
}

static void symtab_read_put(void *data)
{
	struct symtab_read *r = data;

	if (atomic_fetch_sub(&r->refs, 1) > 1)
		return;
	if (r->copy.fd >= 0)
		close(r->copy.fd);
	free(r->copy.segments);
	free(r->copy.path);
	symtab__free(r->table);
	workers__put(r->workers);
	free(r);
}

/* Copies what the job needs. Returns false on failure. */
static bool symtab_read_copy(struct symtab_read *r, const struct elf_file *f)
{
	size_t segments_sz = f->segment_cnt * sizeof(*f->segments);

	r->copy = (struct elf_file){ .build_id = f->build_id,
				     .trusted = f->trusted,
				     .machine = f->machine,
				     .section_table = f->section_table,
				     .sz = f->sz,
				     .owner = f->owner,
				     .dev = f->dev,
				     .path = strdup(f->path),
				     .fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 3),
				     .segments = malloc(segments_sz + 1),
				     .segment_cnt = f->segment_cnt };
	if (r->copy.segments)
		memcpy(r->copy.segments, f->segments, segments_sz);
	return r->copy.path && r->copy.fd >= 0 && r->copy.segments;
}

static void symtab_read_work(struct job *j)
{
	struct symtab_read *r = symtab_read_of(j);
	int err = 0;

	if (r->workers)
		r->table = symtab_task__request(r->workers, &r->copy, &err);
	else
		r->table = symtab__new(&r->copy);
	j->late = err == -ETIMEDOUT;
}

static void symtab_read_done(struct job *j)
{
	struct symtab_read *r = symtab_read_of(j);

	r->done = true;
	r->retry_ns = monotonic__ns() + RETRY_NS;
	if (r->copy.fd >= 0)
		close(r->copy.fd);
	r->copy.fd = -1;
	symtab_read_put(r);
}

static struct symtab_read *symtab_read_start(struct elf_file *f, struct jobs *jobs)
{
	struct symtab_read *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->refs = 1;
	if (!symtab_read_copy(r, f)) {
		symtab_read_put(r);
		return NULL;
	}
	r->job = (struct job){ .rank = JOB_FIRST,
			       .lane = f->dev,
			       .crowd = f->crowd,
			       .work = symtab_read_work,
			       .done = symtab_read_done };
	r->refs = 2;
	r->workers = workers__get(jobs__workers(jobs));
	jobs__submit(jobs, &r->job);
	return r;
}

/* Detaches a read that is done. Returns false if it is to be tried again. */
static bool symtab_read_take(struct elf_file *f, struct symtab_read *r)
{
	bool read = r->table != NULL;

	if (read)
		elf_file__set_symtab(f, r->table);
	else if (monotonic__ns() < r->retry_ns)
		return true;
	r->table = NULL;
	f->slots[ELF_SLOT_SYMTAB_READ] = (struct elf_attachment){ 0 };
	symtab_read_put(r);
	return read;
}

/* Returns false while the symbols are being read. */
static bool symtab_read_is_settled(struct elf_file *f, struct jobs *jobs)
{
	struct elf_attachment *slot = &f->slots[ELF_SLOT_SYMTAB_READ];
	struct symtab_read *r = slot->data;

	if (f->slots[ELF_SLOT_SYMBOLS].data || f->fd < 0)
		return true;
	if (r && !r->done)
		return false;
	if (r && symtab_read_take(f, r))
		return true;
	if (jobs__pending(jobs) >= READS_MAX)
		return false;
	r = symtab_read_start(f, jobs);
	if (r)
		*slot = (struct elf_attachment){ .data = r, .free = symtab_read_put };
	return !r; /* without memory the file has no names for now */
}

enum symbol_answer elf_file__symbol_now(struct elf_file *f, uint64_t vaddr, struct jobs *jobs,
					struct symbol *symbol)
{
	bool readable;

	if (!symtab_read_is_settled(f, jobs))
		return SYMBOL_READS;
	if (jobs__workers(jobs) && elf_file__mangled(f, vaddr))
		return SYMBOL_MANGLED;
	readable = f->slots[ELF_SLOT_SYMBOLS].data || f->fd < 0;
	return readable && elf_file__symbol(f, vaddr, symbol) ? SYMBOL_NAMED : SYMBOL_NONE;
}
