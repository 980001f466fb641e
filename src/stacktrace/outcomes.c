// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacktrace/outcomes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "process/process.h"

#define NAME_SZ	      16
#define PROCESSES_MAX 65536 /* later processes share one row */
#define LOST_FRAMES   2

struct outcomes_row {
	uint32_t tgid;
	char comm[NAME_SZ];
	uint64_t samples, lost;
	size_t frames_max;
	enum frame_source last, worst;
	UT_hash_handle hh;
};

struct tally {
	bool has_rows;
	struct outcomes_row *rows;
	struct outcomes_row *last;  /* the row looked up last, or NULL */
	struct outcomes_row others; /* processes that have no row */
	struct tally_sums sums;
};

static const char *const source_names[] = {
	[FRAME_BY_SAMPLE] = "registers",
	[FRAME_BY_CFI] = "cfi",
	[FRAME_BY_POINTER] = "frame pointer",
	[FRAME_BY_RETURN_ADDRESS] = "return address",
	[FRAME_BY_STITCH] = "stitch",
	[FRAME_BY_CODE] = "instructions",
	[FRAME_BY_LEAF_POINTER] = "leaf's frame pointer",
	[FRAME_BY_UNWINDING] = "exception in flight",
};

struct tally *tally__new(bool rows)
{
	struct tally *t = calloc(1, sizeof(*t));

	if (t)
		t->has_rows = rows;
	return t;
}

void tally__free(struct tally *t)
{
	struct outcomes_row *r, *next;

	if (!t)
		return;
	HASH_ITER (hh, t->rows, r, next) {
		HASH_DEL(t->rows, r);
		free(r);
	}
	free(t);
}

static struct outcomes_row *outcomes_row_of(struct tally *t, uint32_t tgid)
{
	struct outcomes_row *r = t->last;

	if (r && r->tgid == tgid)
		return r;
	HASH_FIND(hh, t->rows, &tgid, sizeof(tgid), r);
	if (r)
		return t->last = r;
	r = HASH_COUNT(t->rows) < PROCESSES_MAX ? calloc(1, sizeof(*r)) : NULL;
	if (!r)
		return &t->others;
	r->tgid = tgid;
	HASH_ADD(hh, t->rows, tgid, sizeof(r->tgid), r);
	if (HASH_ADDED(r))
		return r;
	free(r);
	return &t->others;
}

/* Copies a name and replaces control characters, which a terminal would interpret. */
static void outcomes_copy_printable(char *to, size_t sz, const char *name)
{
	snprintf(to, sz, "%s", name);
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || *to == 0x7f)
			*to = '?';
}

void tally__name(struct tally *t, uint32_t tgid, const char *comm)
{
	struct outcomes_row *r = t->has_rows ? outcomes_row_of(t, tgid) : &t->others;

	if (r != &t->others)
		outcomes_copy_printable(r->comm, sizeof(r->comm), comm);
}

void tally__inherit(struct tally *t, uint32_t tgid, uint32_t parent)
{
	struct outcomes_row *r;

	HASH_FIND(hh, t->rows, &parent, sizeof(parent), r);
	if (r)
		tally__name(t, tgid, r->comm);
}

/* The unreliability of each frame source: higher is less reliable. */
static const uint8_t doubts[FRAME_SOURCE_CNT] = {
	[FRAME_BY_SAMPLE] = 0,	       [FRAME_BY_CFI] = 1,     [FRAME_BY_CODE] = 2,
	[FRAME_BY_UNWINDING] = 3,      [FRAME_BY_POINTER] = 4, [FRAME_BY_LEAF_POINTER] = 5,
	[FRAME_BY_RETURN_ADDRESS] = 6, [FRAME_BY_STITCH] = 7,
};

static enum frame_source outcomes_more_doubtful(enum frame_source a, enum frame_source b)
{
	return doubts[b] > doubts[a] ? b : a;
}

/* Returns the least reliable source among the frames. */
static enum frame_source outcomes_worst_of(const struct trace *t)
{
	enum frame_source worst = t->cnt > 1 ? FRAME_BY_CFI : FRAME_BY_SAMPLE;

	for (size_t i = 1; i < t->cnt; i++)
		worst = outcomes_more_doubtful(worst, t->frames[i].source);
	return worst;
}

static void outcomes_add_to_row(struct outcomes_row *r, const struct trace *trace, bool lost)
{
	r->samples++;
	r->lost += lost;
	r->last = outcomes_worst_of(trace);
	r->worst = outcomes_more_doubtful(r->worst, r->last);
	if (trace->cnt > r->frames_max)
		r->frames_max = trace->cnt;
}

/* Returns the mapping that the stack ends in if its file could not be opened, else NULL. */
static const struct mapping *outcomes_file_wanted(const struct trace *t)
{
	const struct mapping *m = t->cnt ? t->frames[t->cnt - 1].map : NULL;

	return t->status == UNWIND_NO_CFI && m && m->kind == MAPPING_FILE && !m->file ? m : NULL;
}

/* Returns the first mapping on the stack with the path of another file, or NULL. It need not be the
 * last frame, because frame pointers may lead out of it. */
static const struct mapping *outcomes_misnamed_file(const struct trace *t)
{
	for (size_t i = 0; i < t->cnt; i++)
		if (t->frames[i].map && t->frames[i].map->misnamed)
			return t->frames[i].map;
	return NULL;
}

/* Counts a stack that does not reach the root because of a missing or misnamed file. */
static void outcomes_add_wanted(struct tally_sums *s, const struct trace *t)
{
	const struct mapping *misnamed = outcomes_misnamed_file(t);
	const struct mapping *wanted = misnamed ? NULL : outcomes_file_wanted(t);

	if (misnamed && s->misnamed++ == 0)
		outcomes_copy_printable(s->misnamed_file, sizeof(s->misnamed_file), misnamed->path);
	if (wanted && s->fileless++ == 0)
		outcomes_copy_printable(s->file, sizeof(s->file), wanted->path);
}

void tally__add(struct tally *t, uint32_t tgid, const struct trace *trace)
{
	bool root = trace->status == UNWIND_ROOT;
	bool lost = !root && trace->cnt <= LOST_FRAMES;

	if (!root)
		outcomes_add_wanted(&t->sums, trace);
	if (t->has_rows)
		outcomes_add_to_row(outcomes_row_of(t, tgid), trace, lost);
	t->sums.samples++;
	t->sums.to_root += root;
	t->sums.stitched += trace->status == UNWIND_STITCHED;
	t->sums.lost += lost;
}

void tally__other(struct tally *t)
{
	t->sums.others++;
}

const struct tally_sums *tally__sums(const struct tally *t)
{
	return &t->sums;
}

static double outcomes_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void outcomes_print_row(const struct outcomes_row *r, const char *name, FILE *to)
{
	fprintf(to,
		"%s -- max %zu frames, received %lu samples, lost %lu samples (%.1f%%) (last %s, "
		"worst %s)\n",
		name, r->frames_max, r->samples, r->lost, outcomes_percent(r->lost, r->samples),
		source_names[r->last], source_names[r->worst]);
}

void tally__warn(const struct tally *t)
{
	const struct tally_sums *s = &t->sums;

	if (s->fileless)
		log__warn("%lu of %lu stacks end in files that cannot be opened here or differ "
			  "from the recorded ones, such as %s (see --sysroot)",
			  s->fileless, s->samples, s->file);
	if (s->misnamed)
		log__warn("%lu of %lu stacks are cut short in %s: the recording has the build ID "
			  "of the file with this path here, but the process mapped another one, as "
			  "in a chroot or a container; give the folder that was its root with "
			  "--sysroot, or record with perf record --buildid-mmap",
			  s->misnamed, s->samples, s->misnamed_file);
}

void tally__print(const struct tally *t, FILE *to)
{
	const struct tally_sums *s = &t->sums;
	char name[NAME_SZ + 16];
	size_t processes = 0;
	struct outcomes_row *r, *next;

	HASH_ITER (hh, t->rows, r, next) {
		if (!r->samples)
			continue;
		processes++;
		snprintf(name, sizeof(name), "%u %s", r->tgid, r->comm);
		outcomes_print_row(r, name, to);
	}
	if (t->others.samples)
		outcomes_print_row(&t->others, "others", to);
	fprintf(to,
		"TOTAL -- received %lu samples, lost %lu samples (%.1f%%), %.2f%% to the root, "
		"%lu stitched, loaded %zu processes\n",
		s->samples, s->lost, outcomes_percent(s->lost, s->samples),
		outcomes_percent(s->to_root, s->samples), s->stitched, processes);
}
