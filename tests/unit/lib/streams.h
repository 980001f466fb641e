/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams of recordings, read from memory and written to memory. */
#ifndef UNIT_STREAMS_H
#define UNIT_STREAMS_H

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "formats/formats.h"

struct bytes {
	uint8_t *data;
	size_t sz;
};

/* The caller frees the result. */
static inline struct bytes bytes__of_file(const char *path)
{
	struct bytes b = { malloc(1 << 20), 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	assert_true(fd >= 0);
	while ((got = read(fd, b.data + b.sz, (1 << 20) - b.sz)) > 0)
		b.sz += (size_t)got;
	close(fd);
	return b;
}

/* Returns a file in memory with these bytes, positioned at its start. */
static inline int bytes__fd(const void *data, size_t sz)
{
	int fd = memfd_create("stream", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, sz, 0), (ssize_t)sz);
	return fd;
}

/* Returns the contents of a file in memory, for the caller to free. */
static inline struct bytes bytes__of_fd(int fd)
{
	struct bytes b = { NULL, (size_t)lseek(fd, 0, SEEK_END) };

	b.data = malloc(b.sz + 1);
	assert_int_equal(pread(fd, b.data, b.sz, 0), (ssize_t)b.sz);
	return b;
}

struct stream_in {
	int fd;
	struct input *in;
	struct stream_reader *reader;
};

static inline void stream_in__open(struct stream_in *s, enum format f, const void *data, size_t sz)
{
	s->fd = bytes__fd(data, sz);
	s->in = input__new(s->fd);
	s->reader = stream_reader__new(f, s->in);
	assert_non_null(s->reader);
}

static inline void stream_in__close(struct stream_in *s)
{
	stream_reader__free(s->reader);
	input__free(s->in);
	close(s->fd);
}

#endif
