// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/cfidata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/debugfile.h"
#include "unwind/headers.h"

/* One file's, of one of its parts. */
struct reading {
	struct job job;
	char *path;
	int fd;
	enum cfi_part part; /* CFI_PART_CNT: the text */
	bool trusted;
	struct framedata frames;
	struct marks marks;
	struct text text;
	size_t sz; /* bytes in memory: files that anybody may have made share what they may hold */
	/* of who asks: */
	struct cfi_data *data;
	struct elf_file *file; /* a reference: it keeps `data` alive */
};

/* ---- in a thread of the jobs' -------------------------------------------------------------------
 */

static void read_own(struct reading *r, struct elf_file *own)
{
	framedata__make(&r->frames, own, own);
	marks__find(&r->marks, own);
}

static bool read_separate(struct reading *r, struct elf_file *own, struct elf_file *debug)
{
	if (debug && framedata__make(&r->frames, debug, own) != 0)
		framedata__free(&r->frames);
	elf_file__put(debug); /* the bytes were copied */
	return r->frames.elf;
}

static void read_part(struct reading *r, struct elf_file *own)
{
	if (r->part == CFI_OWN)
		read_own(r, own);
	else if (!read_separate(r, own, debug_data__open(own)))
		read_separate(r, own, debug_file__open(own, DEBUG_DIR));
	r->sz = own->held_sz;
}

/* With a handle of its own: libelf's must not be shared. */
static void work(struct job *job)
{
	struct reading *r = (struct reading *)job;
	struct elf_file *own;

	if (r->part == CFI_PART_CNT) {
		text__read(&r->text, r->fd);
		return;
	}
	own = elf_file__new(r->fd, r->path);
	r->fd = -1;
	if (own) {
		own->trusted &= r->trusted;
		read_part(r, own);
	}
	elf_file__put(own);
}

/* ---- who asks -----------------------------------------------------------------------------------
 */

static void reading__free(struct reading *r)
{
	if (r->fd >= 0)
		close(r->fd);
	elf_file__put(r->file);
	free(r->path);
	free(r);
}

static struct text *text_slot(const struct cfi_data *d, uint64_t vaddr)
{
	return &d->texts[vaddr * 0x9e3779b97f4a7c15u >> 32 & (CFI_TEXTS - 1)];
}

static void adopt(struct cfi_data *d, struct reading *r)
{
	struct framedata *to = r->part == CFI_OWN ? &d->own : &d->separate;

	if (r->part == CFI_PART_CNT) {
		*text_slot(d, r->text.vaddr) = r->text;
		d->text_asked = false;
		return;
	}
	d->read[r->part] = true;
	if (r->part == CFI_OWN)
		d->marks = r->marks;
	if (elf_file__hold(d->file, r->sz))
		*to = r->frames;
	else
		framedata__free(&r->frames);
}

static void done(struct job *job)
{
	struct reading *r = (struct reading *)job;

	adopt(r->data, r);
	reading__free(r);
}

static struct reading *reading__new(struct cfi_data *d, enum cfi_part part)
{
	struct reading *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->job =
		(struct job){ .rank = JOB_FIRST, .lane = d->file->dev, .work = work, .done = done };
	r->part = part;
	r->trusted = d->file->trusted;
	r->data = d;
	r->file = elf_file__get(d->file);
	r->path = strdup(d->file->path);
	r->fd = fcntl(d->file->fd, F_DUPFD_CLOEXEC, 3);
	if (r->path && r->fd >= 0)
		return r;
	reading__free(r);
	return NULL;
}

/* Known at once of a file that has no packed debug data, names no debug file, and has none by its
 * build ID; a job finds out about all others. */
static bool has_no_separate(const struct cfi_data *d)
{
	struct headers h;

	return headers__read(&h, d->file, elf_file__read_now) == 0 &&
	       !headers__find(&h, ".gnu_debugdata") && !headers__find(&h, ".gnu_debuglink") &&
	       debug_file__is_absent(d->file, DEBUG_DIR);
}

/* Without memory or descriptors nothing is read: as if the file had nothing. */
static void ask(struct cfi_data *d, enum cfi_part part)
{
	bool none = part == CFI_SEPARATE && has_no_separate(d);
	struct reading *r = none ? NULL : reading__new(d, part);

	d->asked[part] = true;
	if (r)
		jobs__submit(d->jobs, &r->job);
	else
		d->read[part] = true;
}

/* The vdso is in memory, and nowhere to be opened again. */
static void take_from_memory(struct cfi_data *d)
{
	if (!d->read[CFI_OWN])
		framedata__make(&d->own, d->file, d->file);
	d->read[CFI_OWN] = d->read[CFI_SEPARATE] = true;
}

bool cfi_data__has(struct cfi_data *d, enum cfi_part part)
{
	if (d->file->fd < 0)
		take_from_memory(d);
	else if (!d->asked[part])
		ask(d, part);
	d->awaits |= !d->read[part];
	return d->read[part];
}

static const struct text *read_at_once(struct cfi_data *d, struct text *t, uint64_t vaddr)
{
	*t = text__at(d->file, vaddr);
	text__copy(t, d->file);
	return t;
}

static void ask_text(struct cfi_data *d, uint64_t vaddr)
{
	struct reading *r = reading__new(d, CFI_PART_CNT);

	if (!r)
		return;
	r->text = text__at(d->file, vaddr);
	d->text_asked = true;
	jobs__submit(d->jobs, &r->job);
}

const struct text *cfi_data__text(struct cfi_data *d, uint64_t vaddr)
{
	struct text *t, now;

	if (!d->texts)
		d->texts = calloc(CFI_TEXTS, sizeof(*d->texts));
	if (!d->texts)
		return NULL;
	t = text_slot(d, vaddr);
	if (t->vaddr == vaddr && vaddr)
		return t;
	if (d->file->fd < 0)
		return read_at_once(d, t, vaddr);
	now = text__at(d->file, vaddr);
	if (text__read_now(&now, d->file)) {
		*t = now;
		return t;
	}
	if (!d->text_asked)
		ask_text(d, vaddr);
	if (t->vaddr == vaddr) /* it was read at once */
		return t;
	d->awaits = true;
	return NULL;
}

void cfi_data__init(struct cfi_data *d, struct elf_file *file, struct jobs *jobs)
{
	*d = (struct cfi_data){ .file = file, .jobs = jobs };
}

void cfi_data__clear(struct cfi_data *d)
{
	framedata__free(&d->own);
	framedata__free(&d->separate);
	free(d->texts);
}
