/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strict parsers of user input: the whole text must be consumed. Return 0, -EINVAL or -ERANGE. */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdint.h>

int parse__u64(const char *s, uint64_t *out);
int parse__percent(const char *s, uint64_t *out); /* 1% to 100% */
int parse__size(const char *s, uint64_t *bytes);  /* 64K, 4M, 1G; powers of 1024 */
/* 10us, 20ms, 1.5s, 2m, 1h, 2d; only 0 needs no unit. */
int parse__duration(const char *s, uint64_t *ns);

#endif
