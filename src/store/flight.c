// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/flight.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/monotonic.h"

#define COPY_SZ (1u << 20)

struct flight {
	struct flight_options o;
	struct flight_batch *first, **last; /* oldest first */
	_Atomic uint64_t until_ns;	    /* until then batches go to the disk */
	_Atomic size_t sz, batches;
	_Atomic uint64_t crowded, triggers;
};

struct flight *flight__new(const struct flight_options *o)
{
	struct flight *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->o = *o;
	f->last = &f->first;
	return f;
}

static void flight_batch_close(const struct flight_batch *b)
{
	for (int file = 0; file < FOLDER_FILE_CNT; file++)
		if (b->fds[file] >= 0)
			close(b->fds[file]);
}

static void flight_drop(struct flight *f)
{
	struct flight_batch *b = f->first;

	f->first = b->next;
	if (!f->first)
		f->last = &f->first;
	f->sz -= b->sz;
	f->batches--;
	flight_batch_close(b);
	free(b);
}

void flight__free(struct flight *f)
{
	while (f && f->first)
		flight_drop(f);
	free(f);
}

bool flight__is_armed(const struct flight *f, uint64_t now_ns)
{
	return f && now_ns >= f->until_ns;
}

int flight__create(enum folder_file file)
{
	char name[FOLDER_NAME_MAX];
	int fd;

	folder__name(name, file, 0);
	fd = memfd_create(name, MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const struct flight_batch *flight__oldest(struct flight *f, uint64_t now_ns)
{
	while (f->first && now_ns > f->first->end_ns + f->o.keep_ns)
		flight_drop(f);
	return f->first;
}

/* One batch is kept, even if it is larger than the limit. */
static void flight_make_room(struct flight *f)
{
	while (f->sz > f->o.max_sz && f->batches > 1) {
		if (!f->crowded)
			log__warn("--flight: %.0f s do not fit into %zu MB of memory: the oldest "
				  "batches are dropped earlier",
				  (double)f->o.keep_ns / 1e9, f->o.max_sz >> 20);
		f->crowded++;
		flight_drop(f);
	}
}

int flight__keep(struct flight *f, const struct flight_batch *batch)
{
	struct flight_batch *b = malloc(sizeof(*b));

	if (!b) {
		flight_batch_close(batch);
		return -ENOMEM;
	}
	*b = *batch;
	b->next = NULL;
	*f->last = b;
	f->last = &b->next;
	f->sz += b->sz;
	f->batches++;
	flight__oldest(f, b->end_ns);
	flight_make_room(f);
	return 0;
}

void flight__trigger(struct flight *f, uint64_t now_ns)
{
	f->until_ns = now_ns + f->o.keep_ns;
	f->triggers++;
}

/* ---- writing ------------------------------------------------------------------------------------
 */

/* Copies the whole file. Returns 0 or -errno. */
static int flight_copy(int from, int to)
{
	off_t off = 0;
	ssize_t n;

	do {
		n = sendfile(to, from, &off, COPY_SZ);
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		return -errno;
	return fsync(to) != 0 ? -errno : 0;
}

static int flight_write_file(const struct flight_batch *b, const struct folder *folder,
			     enum folder_file file)
{
	int fd = folder__create(folder, file, folder->next), err;

	if (fd < 0)
		return fd;
	err = flight_copy(b->fds[file], fd);
	close(fd);
	return err;
}

int flight__write_oldest(struct flight *f, struct folder *folder)
{
	int err = 0;

	for (int file = 0; file < FOLDER_FILE_CNT && !err; file++)
		err = flight_write_file(f->first, folder, (enum folder_file)file);
	for (int file = 0; file < FOLDER_FILE_CNT && !err; file++)
		err = folder__publish(folder, (enum folder_file)file, folder->next);
	if (err) {
		for (int file = 0; file < FOLDER_FILE_CNT; file++)
			folder__discard(folder, (enum folder_file)file, folder->next);
		return err;
	}
	folder->next++;
	flight_drop(f);
	return 0;
}

void flight__stats(const struct flight *f, struct flight_stats *s)
{
	*s = (struct flight_stats){ 0 };
	if (!f)
		return;
	*s = (struct flight_stats){ .sz = f->sz,
				    .batches = f->batches,
				    .crowded = f->crowded,
				    .triggers = f->triggers,
				    .is_on = true,
				    .writing = f->until_ns > monotonic__ns() };
}
