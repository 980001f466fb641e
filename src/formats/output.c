// SPDX-License-Identifier: GPL-2.0-or-later
#include "formats/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/writeall.h"

struct output {
	int fd, err;
	bool can_patch;
	uint64_t off; /* file offset of data[0] */
	size_t sz;
	uint8_t data[OUTPUT_RUN_MAX];
};

struct output *output__new(int fd)
{
	struct output *o = malloc(sizeof(*o));
	struct stat st;
	int flags;

	if (!o)
		return NULL;
	o->fd = fd;
	o->err = 0;
	o->off = 0;
	o->sz = 0;
	flags = fcntl(fd, F_GETFL);
	o->can_patch = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flags >= 0 &&
		       !(flags & O_APPEND) && lseek(fd, 0, SEEK_CUR) == 0;
	return o;
}

void output__free(struct output *o)
{
	free(o);
}

static void output_write_out(struct output *o, const uint8_t *data, size_t sz)
{
	if (!o->err)
		o->err = write_all(o->fd, data, sz);
}

void output__flush(struct output *o)
{
	output_write_out(o, o->data, o->sz);
	o->off += o->sz;
	o->sz = 0;
}

uint8_t *output__extend(struct output *o, size_t sz)
{
	if (sz > OUTPUT_RUN_MAX - o->sz)
		output__flush(o);
	o->sz += sz;
	return o->data + o->sz - sz;
}

void output__write(struct output *o, const void *data, size_t sz)
{
	if (sz <= OUTPUT_RUN_MAX) {
		memcpy(output__extend(o, sz), data, sz);
		return;
	}
	output__flush(o);
	output_write_out(o, data, sz);
	o->off += sz;
}

void output__u32(struct output *o, uint32_t v)
{
	output__write(o, &v, sizeof(v));
}

void output__u64(struct output *o, uint64_t v)
{
	output__write(o, &v, sizeof(v));
}

void output__zeros(struct output *o, size_t sz)
{
	static const uint8_t zeros[64];

	for (; sz > sizeof(zeros); sz -= sizeof(zeros))
		output__write(o, zeros, sizeof(zeros));
	output__write(o, zeros, sz);
}

uint64_t output__off(const struct output *o)
{
	return o->off + o->sz;
}

bool output__can_patch(const struct output *o)
{
	return o->can_patch;
}

void output__patch(struct output *o, uint64_t off, const void *data, size_t sz)
{
	output__flush(o);
	if (!o->err && pwrite(o->fd, data, sz, (off_t)off) != (ssize_t)sz)
		o->err = errno ? -errno : -EIO;
}

int output__err(const struct output *o)
{
	return o->err;
}
