// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/libdwsource.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/seed.h"
#include "cfi/framestask.h"
#include "cfi/scantask.h"
#include "elf/debugfile.h"
#include "elf/sectionheaders.h"

#define RETRY_NS 30000000000 /* after workers failed */

/* The job that reads one part of a file. */
struct libdwsource_reading {
	struct job job;
	char *path;
	int fd;
	enum libdw_part part; /* LIBDW_PART_CNT: code around an address */
	bool trusted;
	struct libdw_image frames;
	struct overrides marks;
	struct code_rows code;
	struct elf_code text;
	struct workers *workers; /* a reference; NULL: the job's thread does their work */
	bool failed;		 /* workers failed */
	size_t sz; /* bytes in memory, counted against the limit of the file's owner */
	/* fields of the requesting thread: */
	struct libdw_source *data;
	struct elf_file *file; /* a reference, which keeps `data` alive */
};

/* ---- on a job's thread
 * --------------------------------------------------------------------------- */

static int libdwsource_reading_note(struct libdwsource_reading *r, int err)
{
	r->failed |= workers__failed(err);
	r->job.late |= err == -ETIMEDOUT;
	return err;
}

/* A worker decompresses frames, and opens separate debug data. */
static int libdwsource_request_frames(struct libdwsource_reading *r, struct elf_file *own,
				      enum frames_source source)
{
	struct elf_file *from = frames_task__request(r->workers, own, source);
	int err = from ? libdw_image__make(&r->frames, from, own) : -errno;

	elf_file__put(from);
	return libdwsource_reading_note(r, err);
}

static int libdwsource_read_frames(struct libdwsource_reading *r, struct elf_file *own)
{
	bool separate = r->part == LIBDW_SEPARATE;

	if (r->workers && (separate || frames_task__is_compressed(own)))
		return libdwsource_request_frames(r, own, separate ? FRAMES_SEPARATE : FRAMES_OWN);
	if (separate)
		return libdw_image__make_separate(&r->frames, own);
	return libdw_image__make(&r->frames, own, own);
}

static void libdwsource_read_part(struct libdwsource_reading *r, struct elf_file *own)
{
	if (r->part == LIBDW_CODE)
		libdwsource_reading_note(r, scan_task__rows(r->workers, own, &r->code));
	else if (libdwsource_read_frames(r, own) != 0)
		libdw_image__free(&r->frames);
	if (r->part == LIBDW_OWN)
		libdwsource_reading_note(r, scan_task__overrides(r->workers, own, &r->marks));
	r->sz = r->frames.sz + code_rows__sz(&r->code);
}

/* Opens the file again: libelf handles must not be shared by threads. */
static void libdwsource_work(struct job *job)
{
	struct libdwsource_reading *r = (struct libdwsource_reading *)job;
	struct elf_file *own;

	if (r->part == LIBDW_PART_CNT) {
		elf_code__read(&r->text, r->fd);
		return;
	}
	own = elf_file__new(r->fd, r->path);
	r->fd = -1;
	if (own) {
		own->trusted &= r->trusted;
		libdwsource_read_part(r, own);
	}
	elf_file__put(own);
}

/* ---- on the requesting thread
 * -------------------------------------------------------------------- */

static void reading__free(struct libdwsource_reading *r)
{
	if (r->fd >= 0)
		close(r->fd);
	elf_file__unpin(r->file, ELF_SLOT_UNWIND);
	elf_file__put(r->file);
	workers__put(r->workers);
	free(r->path);
	free(r);
}

/* Returns the slot of the code at that address, or the free slot for it. */
static struct elf_code *libdwsource_text_slot(const struct libdw_source *d, uint64_t vaddr)
{
	size_t i = seed__mix(vaddr);

	while (d->texts[i % LIBDW_TEXTS].vaddr && d->texts[i % LIBDW_TEXTS].vaddr != vaddr)
		i++;
	return &d->texts[i % LIBDW_TEXTS];
}

static const struct elf_code *libdwsource_text_put(struct libdw_source *d,
						   const struct elf_code *text)
{
	struct elf_code *slot;

	if (d->text_cnt >= LIBDW_TEXTS / 4 * 3) {
		memset(d->texts, 0, LIBDW_TEXTS * sizeof(*d->texts));
		d->text_cnt = 0;
	}
	slot = libdwsource_text_slot(d, text->vaddr);
	d->text_cnt += slot->vaddr == 0;
	*slot = *text;
	return slot;
}

static bool libdwsource_hold(struct elf_file *f, size_t sz)
{
	struct elf_attachment *a = &f->slots[ELF_SLOT_UNWIND];

	if (!elf_file__hold(f, sz))
		return false;
	a->sz += sz;
	a->held += sz;
	return true;
}

static void libdwsource_adopt_code(struct libdw_source *d, struct libdwsource_reading *r)
{
	if (libdwsource_hold(d->file, r->sz))
		d->code = r->code;
	else
		code_rows__free(&r->code);
}

/* Frames that were read before a retry make room for the new ones. */
static void libdwsource_adopt_frames(struct libdw_source *d, struct libdwsource_reading *r)
{
	struct libdw_image *to = r->part == LIBDW_OWN ? &d->own : &d->separate;
	size_t held = to->sz;

	libdw_image__free(to);
	if (r->sz <= held || libdwsource_hold(d->file, r->sz - held))
		*to = r->frames;
	else
		libdw_image__free(&r->frames);
}

static void libdwsource_adopt(struct libdw_source *d, struct libdwsource_reading *r)
{
	if (r->part == LIBDW_PART_CNT) {
		libdwsource_text_put(d, &r->text);
		d->text_asked = false;
		return;
	}
	d->read[r->part] = true;
	d->retry_ns[r->part] = r->failed ? monotonic__ns() + RETRY_NS : 0;
	if (r->part == LIBDW_CODE) {
		libdwsource_adopt_code(d, r);
		return;
	}
	if (r->part == LIBDW_OWN)
		d->marks = r->marks;
	libdwsource_adopt_frames(d, r);
}

static void libdwsource_done(struct job *job)
{
	struct libdwsource_reading *r = (struct libdwsource_reading *)job;

	libdwsource_adopt(r->data, r);
	reading__free(r);
}

static struct libdwsource_reading *reading__new(struct libdw_source *d, enum libdw_part part)
{
	struct libdwsource_reading *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->job = (struct job){ .rank = JOB_FIRST,
			       .lane = d->file->dev,
			       .crowd = d->file->crowd,
			       .work = libdwsource_work,
			       .done = libdwsource_done };
	r->part = part;
	r->trusted = d->file->trusted;
	r->data = d;
	r->file = elf_file__get(d->file);
	elf_file__pin(r->file, ELF_SLOT_UNWIND);
	r->path = strdup(d->file->path);
	r->fd = fcntl(d->file->fd, F_DUPFD_CLOEXEC, 3);
	r->workers = workers__get(jobs__workers(d->jobs));
	if (r->path && r->fd >= 0)
		return r;
	reading__free(r);
	return NULL;
}

/* Returns true if the file has no packed debug data, names no debug file, and has none by its build
 * ID. A job finds out about other files. */
static bool libdwsource_has_no_separate(const struct libdw_source *d)
{
	struct section_headers h;

	return section_headers__read(&h, d->file, elf_file__read_now) == 0 &&
	       !section_headers__find(&h, ".gnu_debugdata") &&
	       !section_headers__find(&h, ".gnu_debuglink") &&
	       debug_file__is_absent(d->file, DEBUG_DIR);
}

/* Without memory or descriptors the part counts as read and empty. */
static void libdwsource_request(struct libdw_source *d, enum libdw_part part)
{
	bool none = (part == LIBDW_SEPARATE && libdwsource_has_no_separate(d)) ||
		    (part == LIBDW_CODE && !code_rows__may_be(d->file));
	struct libdwsource_reading *r = none ? NULL : reading__new(d, part);

	d->asked[part] = true;
	if (r)
		jobs__submit(d->jobs, &r->job);
	else
		d->read[part] = true;
}

/* The vdso is in memory and cannot be opened again. */
static void libdwsource_take_from_memory(struct libdw_source *d)
{
	if (!d->read[LIBDW_OWN])
		libdw_image__make(&d->own, d->file, d->file);
	for (size_t i = 0; i < LIBDW_PART_CNT; i++)
		d->read[i] = true;
}

/* A part that workers failed to read is read again later. */
static void libdwsource_retry(struct libdw_source *d, enum libdw_part part)
{
	if (!d->retry_ns[part] || monotonic__ns() < d->retry_ns[part])
		return;
	d->retry_ns[part] = 0;
	d->read[part] = d->asked[part] = false;
}

bool libdw_source__is_whole(struct libdw_source *d)
{
	libdwsource_retry(d, LIBDW_OWN);
	libdwsource_retry(d, LIBDW_SEPARATE);
	return !d->retry_ns[LIBDW_OWN] && !d->retry_ns[LIBDW_SEPARATE];
}

bool libdw_source__has(struct libdw_source *d, enum libdw_part part)
{
	libdwsource_retry(d, part);
	if (d->file->fd < 0)
		libdwsource_take_from_memory(d);
	else if (!d->asked[part])
		libdwsource_request(d, part);
	d->awaits |= !d->read[part];
	return d->read[part];
}

/* Returns false without memory or descriptors, as if there were no code. */
static bool libdwsource_request_text(struct libdw_source *d, uint64_t vaddr)
{
	struct libdwsource_reading *r = reading__new(d, LIBDW_PART_CNT);

	if (!r)
		return false;
	r->text = elf_code__at(d->file, vaddr);
	d->text_asked = true;
	jobs__submit(d->jobs, &r->job);
	return true;
}

/* Reads code at once if it is in memory or in the page cache. */
static bool libdwsource_read_text(const struct libdw_source *d, struct elf_code *t)
{
	if (d->file->fd >= 0)
		return elf_code__read_now(t, d->file);
	elf_code__copy(t, d->file);
	return true;
}

const struct elf_code *libdw_source__code(struct libdw_source *d, uint64_t vaddr)
{
	const struct elf_code *found;
	struct elf_code now;

	if (!d->texts) {
		d->texts = calloc(LIBDW_TEXTS, sizeof(*d->texts));
		d->file->slots[ELF_SLOT_UNWIND].sz += LIBDW_TEXTS * sizeof(*d->texts);
	}
	if (!d->texts || !vaddr)
		return NULL;
	found = libdwsource_text_slot(d, vaddr);
	if (found->vaddr)
		return found;
	now = elf_code__at(d->file, vaddr);
	if (libdwsource_read_text(d, &now))
		return libdwsource_text_put(d, &now);
	if (!d->text_asked && !libdwsource_request_text(d, vaddr))
		return NULL;
	found = libdwsource_text_slot(d, vaddr); /* a job may have read it meanwhile */
	d->awaits |= !found->vaddr;
	return found->vaddr ? found : NULL;
}

void libdw_source__init(struct libdw_source *d, struct elf_file *file, struct jobs *jobs)
{
	*d = (struct libdw_source){ .file = file, .jobs = jobs };
}

void libdw_source__clear(struct libdw_source *d)
{
	libdw_image__free(&d->own);
	libdw_image__free(&d->separate);
	code_rows__free(&d->code);
	free(d->texts);
}
