// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/sink.h"

#include <errno.h>
#include <unistd.h>

#define FLUSH_SZ (1u << 18)

void sink__append(struct sink *s, const void *data, size_t sz)
{
	buf__append(&s->buf, data, sz);
	if (!s->err)
		s->err = buf__err(&s->buf);
	s->off += sz;
	if (s->buf.sz >= FLUSH_SZ)
		sink__flush(s);
}

int sink__flush(struct sink *s)
{
	size_t done = 0;

	while (!s->err && done < s->buf.sz) {
		ssize_t n = write(s->fd, s->buf.data + done, s->buf.sz - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			s->err = -errno;
	}
	buf__reset(&s->buf);
	return s->err;
}

void sink__free(struct sink *s)
{
	buf__free(&s->buf);
}
