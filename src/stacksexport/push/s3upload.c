// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/push/s3upload.h"

#include <stdbool.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define PART_SZ	  (16ull << 20) /* S3 takes parts from 5 MB on … */
#define PARTS_MAX 10000		/* … and at most so many of them */

/* One upload in parts. */
struct s3_upload {
	struct s3 *s3;
	int fd;
	uint64_t sz, part_sz;
	const char *object;
	struct buf id;	  /* of the upload, encoded, with a NUL */
	struct buf parts; /* the list with which it is completed */
	uint8_t *piece;	  /* room for a part */
};

/* Reads all of a piece. A file that became shorter is an error: parts do not change. */
static int s3upload_read_piece(int fd, uint8_t *piece, uint64_t off, uint64_t sz)
{
	while (sz) {
		ssize_t n = pread(fd, piece, sz, (off_t)off);

		if (n <= 0) {
			int err = n < 0 ? -errno : -EIO;

			log__error("cannot read a file to send: %s", strerror(-err));
			return -EIO;
		}
		piece += n;
		off += (uint64_t)n;
		sz -= (uint64_t)n;
	}
	return 0;
}

static int s3upload_send_and_forget(struct s3 *s, const struct s3_request *r)
{
	struct s3_answer a;
	int err = s3__send(s, r, &a);

	buf__free(&a.body);
	return err;
}

static int s3upload_send_whole(struct s3_upload *u)
{
	struct s3_request r = { "PUT", u->object, NULL, u->piece, u->sz };
	int err = s3upload_read_piece(u->fd, u->piece, 0, u->sz);

	return err ? err : s3upload_send_and_forget(u->s3, &r);
}

/* The text between <UploadId> and </UploadId>. */
static int s3upload_take_upload_id(struct s3_upload *u, const struct s3_answer *a)
{
	const char *text = buf__err(&a->body) ? "" : (const char *)a->body.data;
	const char *from = strstr(text, "<UploadId>"),
		   *to = from ? strstr(from, "</UploadId>") : NULL;
	char *id = to ? strndup(from + strlen("<UploadId>"),
				(size_t)(to - from) - strlen("<UploadId>"))
		      : NULL;

	if (!id) {
		log__warn("cannot send %s: the server's answer names no upload", u->object);
		return -EAGAIN;
	}
	s3__encode(&u->id, id, 1);
	buf__u8(&u->id, 0);
	free(id);
	return buf__err(&u->id);
}

static int s3upload_begin(struct s3_upload *u)
{
	struct s3_request r = { "POST", u->object, "uploads=", NULL, 0 };
	struct s3_answer a;
	int err = s3__send(u->s3, &r, &a);

	if (!err)
		err = s3upload_take_upload_id(u, &a);
	buf__free(&a.body);
	return err;
}

static int s3upload_send_part(struct s3_upload *u, unsigned number, uint64_t off)
{
	uint64_t sz = u->sz - off < u->part_sz ? u->sz - off : u->part_sz;
	struct s3_request r = { "PUT", u->object, NULL, u->piece, sz };
	struct buf query = { 0 };
	struct s3_answer a = { 0 };
	int err = s3upload_read_piece(u->fd, u->piece, off, sz);

	buf__printf(&query, "partNumber=%u&uploadId=%s", number, (const char *)u->id.data);
	buf__u8(&query, 0);
	if (!err)
		err = buf__err(&query);
	r.query = (const char *)query.data;
	if (!err)
		err = s3__send(u->s3, &r, &a);
	if (!err)
		buf__printf(&u->parts, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>",
			    number, a.etag);
	buf__free(&a.body);
	buf__free(&query);
	return err;
}

/* Completes the upload, or cancels it, so that the store does not keep its parts. */
static int s3upload_end(struct s3_upload *u, bool complete)
{
	struct s3_request r = { complete ? "POST" : "DELETE", u->object, NULL, NULL, 0 };
	struct buf query = { 0 };
	int err;

	buf__printf(&query, "uploadId=%s", (const char *)u->id.data);
	buf__u8(&query, 0);
	r.query = (const char *)query.data;
	if (complete) {
		r.body = u->parts.data;
		r.body_sz = u->parts.sz;
	}
	err = buf__err(&query) ? -ENOMEM : s3upload_send_and_forget(u->s3, &r);
	buf__free(&query);
	return err;
}

static int s3upload_send_in_parts(struct s3_upload *u)
{
	unsigned number = 1;
	int err = s3upload_begin(u);

	if (err)
		return err;
	buf__str(&u->parts, "<CompleteMultipartUpload>");
	for (uint64_t off = 0; off < u->sz && !err; off += u->part_sz)
		err = s3upload_send_part(u, number++, off);
	buf__str(&u->parts, "</CompleteMultipartUpload>");
	if (!err)
		err = buf__err(&u->parts);
	if (!err)
		err = s3upload_end(u, true);
	if (err)
		s3upload_end(u, false);
	return err;
}

int s3_upload__file(struct s3 *s, int fd, uint64_t sz, const char *object)
{
	struct s3_upload u = { .s3 = s, .fd = fd, .sz = sz, .part_sz = PART_SZ, .object = object };
	int err;

	while (u.part_sz * PARTS_MAX < sz)
		u.part_sz *= 2;
	u.piece = malloc(sz < u.part_sz ? sz + 1 : u.part_sz);
	if (!u.piece)
		err = -ENOMEM;
	else
		err = sz <= u.part_sz ? s3upload_send_whole(&u) : s3upload_send_in_parts(&u);
	if (err == -ENOMEM)
		log__error("out of memory");
	free(u.piece);
	buf__free(&u.id);
	buf__free(&u.parts);
	return err;
}
