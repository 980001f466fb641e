// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/push/s3request.h"

#include <ctype.h>
#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"

#define ANSWER_MAX	65536
#define CONNECT_TIMEOUT 20L  /* seconds */
#define EXPECT_TIMEOUT	200L /* ms that the server may take to accept a large body */
#define SLOW_BYTES	1L   /* per second … */
#define SLOW_TIME	60L  /* … for so many seconds: the request failed */

void s3__encode(struct buf *out, const char *text, int is_value)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c < 0x80 && isalnum(c)) || strchr("-_.~", c) || (c == '/' && !is_value))
			buf__u8(out, c);
		else
			buf__printf(out, "%%%02X", c);
	}
}

int s3__open(struct s3 *s, const char *url)
{
	int err;

	*s = (struct s3){ 0 };
	err = curllib__load(&s->curl);
	if (!err)
		err = s3_target__read(&s->target, url);
	if (!err && !(s->handle = s->curl.easy_init())) {
		log__error("out of memory");
		err = -ENOMEM;
	}
	return err;
}

void s3__close(struct s3 *s)
{
	if (s->handle)
		s->curl.easy_cleanup(s->handle);
	s3_target__free(&s->target);
}

static size_t s3request_take_body(char *data, size_t one, size_t sz, void *arg)
{
	struct s3_answer *a = arg;
	size_t room = ANSWER_MAX - a->body.sz;

	(void)one;
	buf__append(&a->body, data, sz < room ? sz : room);
	return sz;
}

static size_t s3request_take_header(char *data, size_t one, size_t sz, void *arg)
{
	static const char name[] = "etag:";
	struct s3_answer *a = arg;
	size_t from = sizeof(name) - 1, to = sz;

	(void)one;
	if (sz < from || strncasecmp(data, name, from) != 0)
		return sz;
	while (from < to && data[from] == ' ')
		from++;
	while (from < to && isspace((unsigned char)data[to - 1]))
		to--;
	if (to - from < S3_ETAG_SZ) {
		memcpy(a->etag, data + from, to - from);
		a->etag[to - from] = '\0';
	}
	return sz;
}

/* Appends a header to *list. On failure frees the list, and it stays NULL. */
static void s3request_add_header(struct s3 *s, struct curl_slist **list, const char *name,
				 const char *value)
{
	struct buf line = { 0 };
	struct curl_slist *more = NULL;

	buf__printf(&line, "%s: %s", name, value);
	buf__u8(&line, 0);
	if (!buf__err(&line))
		more = s->curl.slist_append(*list, (const char *)line.data);
	if (!more)
		s->curl.slist_free_all(*list);
	*list = more;
	buf__free(&line);
}

/* S3 wants the digest of the body in a header, which libcurl adds only since 8.1. */
static void s3request_hex_digest(const struct s3_request *r, char out[2 * SHA256_DIGEST_SIZE + 1])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, r->body_sz, r->body);
	sha256_digest(&ctx, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/* NULL without memory. No empty header: libcurl 7.88 signs it, although it is not sent. */
static struct curl_slist *s3request_make_headers(struct s3 *s, const struct s3_request *r)
{
	char digest[2 * SHA256_DIGEST_SIZE + 1];
	struct curl_slist *list = NULL;

	s3request_hex_digest(r, digest);
	s3request_add_header(s, &list, "Content-Type", "application/octet-stream");
	if (list)
		s3request_add_header(s, &list, "x-amz-content-sha256", digest);
	if (list && s->target.token)
		s3request_add_header(s, &list, "x-amz-security-token", s->target.token);
	return list;
}

static void s3request_set_options(struct s3 *s, const struct s3_request *r, struct s3_answer *a)
{
	__typeof__(curl_easy_setopt) *set = s->curl.easy_setopt;
	char sigv4[96];

	snprintf(sigv4, sizeof(sigv4), "aws:amz:%s:s3", s->target.region);
	set(s->handle, CURLOPT_CUSTOMREQUEST, r->method);
	set(s->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_sz);
	set(s->handle, CURLOPT_POSTFIELDS, r->body_sz ? r->body : "");
	set(s->handle, CURLOPT_AWS_SIGV4, sigv4);
	set(s->handle, CURLOPT_USERNAME, s->target.key);
	set(s->handle, CURLOPT_PASSWORD, s->target.secret);
	set(s->handle, CURLOPT_WRITEFUNCTION, s3request_take_body);
	set(s->handle, CURLOPT_WRITEDATA, a);
	set(s->handle, CURLOPT_HEADERFUNCTION, s3request_take_header);
	set(s->handle, CURLOPT_HEADERDATA, a);
	set(s->handle, CURLOPT_NOSIGNAL, 1L);
	set(s->handle, CURLOPT_EXPECT_100_TIMEOUT_MS, EXPECT_TIMEOUT);
	set(s->handle, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT);
	set(s->handle, CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES);
	set(s->handle, CURLOPT_LOW_SPEED_TIME, SLOW_TIME);
	set(s->handle, CURLOPT_PROTOCOLS_STR, "http,https");
}

/* The text between <Code> and </Code> of an error, or "". */
static void s3request_error_code(const struct s3_answer *a, char out[64])
{
	const char *text = buf__err(&a->body) ? "" : (const char *)a->body.data;
	const char *from = strstr(text, "<Code>"), *to = from ? strstr(from, "</Code>") : NULL;

	out[0] = '\0';
	if (to && to - from - 6 < 60)
		snprintf(out, 64, ": %.*s", (int)(to - from - 6), from + 6);
}

static int s3request_judge(const struct s3_request *r, const struct s3_answer *a)
{
	char code[64];

	s3request_error_code(a, code);
	if (a->status >= 200 && a->status < 300 && !code[0])
		return 0;
	if (a->status >= 500 || a->status == 429 || a->status == 408 || a->status < 300 ||
	    strcmp(code, ": RequestTimeout") == 0) {
		log__warn("cannot send %s: the server answered %ld%s", r->object, a->status, code);
		return -EAGAIN;
	}
	log__error("cannot send %s: the server answered %ld%s", r->object, a->status, code);
	return -EIO;
}

static int s3request_perform(struct s3 *s, const struct s3_request *r, struct s3_answer *a)
{
	struct curl_slist *headers = s3request_make_headers(s, r);
	CURLcode code = CURLE_OUT_OF_MEMORY;

	if (headers) {
		s->curl.easy_setopt(s->handle, CURLOPT_HTTPHEADER, headers);
		code = s->curl.easy_perform(s->handle);
	}
	s->curl.slist_free_all(headers);
	buf__u8(&a->body, 0);
	if (code != CURLE_OK) {
		log__warn("cannot send %s: %s", r->object, s->curl.easy_strerror(code));
		return -EAGAIN;
	}
	s->curl.easy_getinfo(s->handle, CURLINFO_RESPONSE_CODE, &a->status);
	return s3request_judge(r, a);
}

int s3__send(struct s3 *s, const struct s3_request *r, struct s3_answer *a)
{
	struct buf url = { 0 };
	int err;

	*a = (struct s3_answer){ 0 };
	buf__printf(&url, "%s/", s->target.base);
	s3__encode(&url, r->object, 0);
	if (r->query)
		buf__printf(&url, "?%s", r->query);
	buf__u8(&url, 0);
	s->curl.easy_reset(s->handle);
	s3request_set_options(s, r, a);
	if (!buf__err(&url))
		s->curl.easy_setopt(s->handle, CURLOPT_URL, (const char *)url.data);
	err = buf__err(&url) ? -ENOMEM : s3request_perform(s, r, a);
	buf__free(&url);
	return err;
}
