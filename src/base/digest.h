/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A digest of content that other users choose: they cannot find different content with the same
 * digest. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <nettle/sha2.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns 64 bits of a SHA-256 (FIPS 180-4), the same on every host of our byte order. Resets ctx.
 */
static inline uint64_t digest__end(struct sha256_ctx *ctx)
{
	uint8_t bytes[sizeof(uint64_t)];
	uint64_t digest;

	sha256_digest(ctx, sizeof(bytes), bytes);
	memcpy(&digest, bytes, sizeof(digest));
	return digest;
}

static inline uint64_t digest__of(const void *data, size_t sz)
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, sz, data);
	return digest__end(&ctx);
}

#endif
