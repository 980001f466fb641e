// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/codedump.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/crowd.h"

#define MAP_BYTES_MAX (32u << 20) /* of one dump; beyond it, the dump is not used */

static void code_dump_close(struct code_dump *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
	jit_owner__close(&d->owner);
}

void code_dump__put(struct code_dump *d)
{
	if (!d || --d->refs > 0)
		return;
	code_dump_close(d);
	codemap__free(d->map);
	gdb_jit__free(d->listed);
	pthread_mutex_destroy(&d->lock);
	free(d->proc);
	free(d->root);
	free(d->told);
	free(d);
}

static char *copy_of(const char *s)
{
	return s ? strdup(s) : NULL;
}

/* Reading a process may hang: its memory may be a file of its own FUSE server. */
static void set_lane(struct code_dump *d)
{
	int proc = d->proc ? open(d->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (proc < 0)
		return;
	d->lane = crowd__lane(proc, d->tgid);
	d->crowd = crowd__of(proc, d->tgid);
	close(proc);
}

struct code_dump *code_dump__new(const struct jit_places *places, uint32_t tgid, const char *told)
{
	struct code_dump *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->refs = 1;
	d->tgid = tgid;
	d->proc = copy_of(places->proc);
	d->root = copy_of(places->root);
	d->told = copy_of(told);
	d->fd = d->owner.proc = d->owner.root = -1;
	d->at.with_frames = true;
	d->map = codemap__new();
	d->listed = gdb_jit__new();
	set_lane(d);
	pthread_mutex_init(&d->lock, NULL);
	if (d->map && d->listed && !d->proc == !places->proc && !d->root == !places->root &&
	    !d->told == !told)
		return d;
	code_dump__put(d);
	return NULL;
}

static void open_of_living(struct code_dump *d)
{
	int proc = d->proc ? open(d->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (proc < 0)
		return;
	if (jit_owner__open(&d->owner, proc, d->tgid) == 0)
		d->fd = jit_owner__open_dump(&d->owner, NULL);
	close(proc);
}

static void code_dump_open(struct code_dump *d)
{
	open_of_living(d);
	if (d->fd >= 0 || !d->told || !d->root)
		return;
	jit_owner__close(&d->owner);
	if (jit_owner__open_recorded(&d->owner, d->root, d->tgid) == 0)
		d->fd = jit_owner__open_dump(&d->owner, d->told);
}

/* Reads the new records; if the dump does not change any more, all of them. */
static void read_records(struct code_dump *d)
{
	uint64_t done;

	do {
		done = d->at.off;
		d->failed = jitdump__read(&d->at, d->fd, d->map) != 0;
	} while (d->owner.told && !d->failed && d->at.off > done);
}

void code_dump__read(struct code_dump *d)
{
	pthread_mutex_lock(&d->lock);
	if (d->fd < 0 || !jit_owner__lives(&d->owner)) {
		struct codemap *fresh = codemap__new();

		code_dump_close(d);
		codemap__free(d->map);
		d->map = fresh;
		d->at = (struct jitdump){ .with_frames = true };
		d->failed = !fresh;
		code_dump_open(d);
	}
	if (d->fd >= 0 && !d->failed)
		read_records(d);
	if (d->map && codemap__sz(d->map) > MAP_BYTES_MAX) {
		codemap__free(d->map);
		d->map = NULL;
		d->failed = true;
	}
	gdb_jit__read(d->listed, &d->owner);
	d->none = d->fd < 0 && !gdb_jit__cnt(d->listed);
	d->sz = (d->map ? codemap__sz(d->map) : 0) + gdb_jit__sz(d->listed);
	pthread_mutex_unlock(&d->lock);
}
