// SPDX-License-Identifier: GPL-2.0-or-later
#include "formats/input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "formats/chunks.h"
#include "formats/mapped.h"

#define WINDOW_SZ (1u << 20) /* bytes of a file between two calls of the tick */

struct input {
	int fd;
	uint64_t sz;		 /* size of a regular file, else 0 */
	struct mapped mapped;	 /* for a regular file that can be mapped */
	struct chunks chunks;	 /* otherwise: the bytes read */
	const uint8_t *at, *end; /* the available bytes */
	uint64_t off;		 /* input offset of `at` */
	uint64_t held;
	int err;
	bool ended, stopped;
	input_tick_fn tick;
	void *arg;
	unsigned every_ms;
	uint64_t ticked_ns;
};

struct input *input__new(int fd)
{
	struct input *in = calloc(1, sizeof(*in));
	struct stat st;

	if (!in)
		return NULL;
	in->fd = fd;
	in->held = UINT64_MAX;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && lseek(fd, 0, SEEK_CUR) == 0)
		in->sz = (uint64_t)st.st_size;
	if (mapped__open(&in->mapped, fd, in->sz))
		in->at = in->end = in->mapped.bytes;
	return in;
}

void input__free(struct input *in)
{
	if (!in)
		return;
	mapped__close(&in->mapped);
	chunks__free(&in->chunks);
	free(in);
}

void input__set_tick(struct input *in, unsigned every_ms, input_tick_fn tick, void *arg)
{
	in->every_ms = every_ms;
	in->tick = tick;
	in->arg = arg;
	in->ticked_ns = monotonic__ns();
}

static void input_tick(struct input *in, bool idle)
{
	uint64_t now_ns = monotonic__ns();

	if (!idle && now_ns - in->ticked_ns < in->every_ms * 1000000ull)
		return;
	in->ticked_ns = now_ns;
	if (!in->tick(in->arg, idle))
		in->ended = in->stopped = true;
}

/* ---- a file ---- */

/* Makes the next window of the mapped file available. */
static void input_look_on(struct input *in)
{
	uint64_t left;

	input__check(in);
	left = in->mapped.sz - (uint64_t)(in->end - in->mapped.bytes);
	in->end += left < WINDOW_SZ ? left : WINDOW_SZ;
	in->ended = left == 0;
	mapped__let_go(&in->mapped, in->held < in->off ? in->held : in->off);
	if (in->tick && !in->ended)
		input_tick(in, false);
}

void input__check(struct input *in)
{
	if (!in->mapped.bytes)
		return;
	mapped__check(&in->mapped);
	if (in->end > in->mapped.bytes + in->mapped.sz) { /* the file was truncated */
		in->end = in->mapped.bytes + in->mapped.sz;
		in->at = in->at < in->end ? in->at : in->end;
	}
}

bool input__has(const struct input *in, const uint8_t *data, size_t sz)
{
	const struct mapped *m = &in->mapped;

	return !m->bytes || data < m->bytes || data >= m->bytes + m->map_sz ||
	       data + sz <= m->bytes + m->sz;
}

/* ---- a pipe ---- */

/* Blocks until data are available or the tick ends the input. Calls the tick when idle, so that it
 * can emit pending records. */
static void input_wait_for_more(struct input *in)
{
	struct pollfd p = { .fd = in->fd, .events = POLLIN };

	while (!in->ended && poll(&p, 1, (int)in->every_ms) <= 0)
		input_tick(in, true);
}

/* Makes room for sz bytes from the position, and for at least one byte to read. Returns false if
 * out of memory. */
static bool input_make_room(struct input *in, size_t sz)
{
	size_t left = input__left(in);
	struct input_chunk *c = in->chunks.last;

	chunks__release(&in->chunks, in->held < in->off ? in->held : in->off);
	if (c && left == 0 && in->held > in->off && in->chunks.first == c)
		in->at = in->end = c->data; /* reuse it: it is in the CPU cache */
	if (c && in->at + sz <= c->data + c->cap && in->end < c->data + c->cap)
		return true;
	c = chunks__add(&in->chunks, sz, (struct chunk_tail){ in->at, left, in->off });
	if (!c)
		return false;
	in->at = c->data;
	in->end = in->at + left;
	return true;
}

/* Reads once, to `end`. Sets `ended` at the end or on error. */
static void input_read_some(struct input *in)
{
	struct input_chunk *c = in->chunks.last;
	ssize_t got;

	if (in->tick && in->sz == 0)
		input_wait_for_more(in);
	if (in->ended)
		return;
	got = read(in->fd, c->data + (in->end - c->data), (size_t)(c->data + c->cap - in->end));
	if (got > 0)
		in->end += (size_t)got;
	if (got == 0)
		in->ended = true;
	if (got < 0 && errno != EINTR && errno != EAGAIN) {
		in->err = -errno;
		in->ended = true;
	}
	if (in->tick && !in->ended)
		input_tick(in, got < 0);
}

/* ---- both kinds ---- */

static void input_more(struct input *in, size_t sz)
{
	if (in->mapped.bytes) {
		input_look_on(in);
	} else if (!input_make_room(in, sz)) {
		in->err = -ENOMEM;
		in->ended = true;
	} else {
		input_read_some(in);
	}
}

const uint8_t *input__peek(struct input *in, size_t sz)
{
	if (input__left(in) >= sz)
		return in->at;
	if (sz > INPUT_RUN_MAX) {
		in->err = -EFBIG;
		in->ended = true;
	}
	while (input__left(in) < sz && !in->ended)
		input_more(in, sz);
	return input__left(in) >= sz ? in->at : NULL;
}

size_t input__left(const struct input *in)
{
	return (size_t)(in->end - in->at);
}

void input__step(struct input *in, size_t sz)
{
	in->at += sz;
	in->off += sz;
}

/* Reuses the same buffer for all skipped bytes, because none of them is held. */
bool input__skip(struct input *in, uint64_t sz)
{
	while (sz > 0 && input__peek(in, 1)) {
		size_t part = sz < input__left(in) ? (size_t)sz : input__left(in);

		input__step(in, part);
		sz -= part;
		if (sz > 0 && !in->mapped.bytes)
			in->at = in->end = in->at - part;
	}
	return sz == 0;
}

void input__hold(struct input *in, uint64_t off)
{
	in->held = off;
}

uint64_t input__off(const struct input *in)
{
	return in->off;
}

int input__err(const struct input *in)
{
	return in->err;
}

bool input__stopped(const struct input *in)
{
	return in->stopped;
}

uint64_t input__sz(const struct input *in)
{
	return in->sz;
}

bool input__read_at(struct input *in, uint64_t off, void *to, size_t sz)
{
	uint8_t *at = to;

	if (off > in->sz || sz > in->sz - off)
		return false;
	while (sz > 0) {
		ssize_t got = pread(in->fd, at, sz, (off_t)off);

		if (got <= 0)
			return false;
		at += got;
		off += (uint64_t)got;
		sz -= (size_t)got;
	}
	return true;
}
