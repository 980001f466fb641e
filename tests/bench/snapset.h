/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots of one process in a file, so that several unwinders walk the same. Native byte order:
 *
 *     struct snapset_head
 *     struct snapset_map, path_sz bytes of its path    map_cnt times; executable mappings
 *     struct snapset_sample, sz bytes of its stack     sample_cnt times
 */
#ifndef BENCH_SNAPSET_H
#define BENCH_SNAPSET_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "event/record.h"

#define SNAPSET_MAGIC "SNAPSET1"

struct snapset_head {
	char magic[8];
	uint64_t map_cnt, sample_cnt;
};

struct snapset_map {
	uint64_t start, len, pgoff, ino;
	uint32_t maj, min;
	uint64_t path_sz; /* with its NUL */
};

struct snapset_sample {
	uint64_t regs[EVENT_REG_CNT]; /* in DWARF's order */
	uint64_t addr;		      /* of the first byte */
	uint64_t truncated;	      /* whether the stack continues after the last byte */
	uint64_t sz;
};

/* A snapset that has been read: its samples are events of a process of ours. */
struct snapset {
	const char *name;
	uint32_t tgid;
	uint8_t *file;
	struct event **events;
	size_t cnt;
};

static inline uint8_t *snapset__file(const char *path)
{
	FILE *f = fopen(path, "r");
	uint8_t *bytes = NULL;
	struct stat st;

	if (f && fstat(fileno(f), &st) == 0)
		bytes = malloc((size_t)st.st_size);
	if (!bytes || fread(bytes, (size_t)st.st_size, 1, f) != 1) {
		perror(path);
		exit(1);
	}
	fclose(f);
	return bytes;
}

/* Reports a record for each mapping, before all samples. Returns the position in the file after
 * them. */
static inline const uint8_t *snapset__maps(const struct snapset *s, record_fn fn, void *arg)
{
	const struct snapset_head *h = (const void *)s->file;
	const uint8_t *at = s->file + sizeof(*h);

	for (uint64_t i = 0; i < h->map_cnt; i++) {
		const struct snapset_map *m = (const void *)at;
		const struct record r = { .type = RECORD_MMAP,
					  .time_ns = 1,
					  .tgid = s->tgid,
					  .mmap = { .start = m->start,
						    .len = m->len,
						    .pgoff = m->pgoff,
						    .prot = PROT_READ | PROT_EXEC,
						    .maj = m->maj,
						    .min = m->min,
						    .ino = m->ino,
						    .path = (const char *)(m + 1) } };

		if (fn)
			fn(&r, arg);
		at += sizeof(*m) + m->path_sz;
	}
	return at;
}

static inline struct event *snapset__event(const struct snapset_sample *s, uint32_t tgid)
{
	struct event *e = calloc(1, sizeof(*e) + s->sz);

	if (!e)
		abort();
	e->flags = EVENT_F_USER | (s->truncated ? EVENT_F_TRUNCATED : 0);
	e->tgid = e->tid = tgid;
	e->stack_addr = s->addr;
	e->ustack_sz = (uint32_t)s->sz;
	memcpy(e->regs, s->regs, sizeof(s->regs));
	memcpy(e->data, s + 1, s->sz);
	return e;
}

/* The process id must be unused. Ends the program if the file cannot be read. */
static inline struct snapset snapset__read(const char *path, uint32_t tgid)
{
	struct snapset s = { .name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path,
			     .tgid = tgid,
			     .file = snapset__file(path) };
	const uint8_t *at = snapset__maps(&s, NULL, NULL);

	s.cnt = ((const struct snapset_head *)(const void *)s.file)->sample_cnt;
	s.events = calloc(s.cnt, sizeof(*s.events));
	for (size_t i = 0; s.events && i < s.cnt; i++) {
		const struct snapset_sample *sample = (const void *)at;

		s.events[i] = snapset__event(sample, tgid);
		at += sizeof(*sample) + sample->sz;
	}
	return s;
}

#endif
