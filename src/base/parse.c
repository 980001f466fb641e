// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int parse_unsigned(const char *s, const char **end, uint64_t *out)
{
	char *e;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	*out = strtoull(s, &e, 10);
	*end = e;
	return errno ? -ERANGE : 0;
}

int parse__u64(const char *s, uint64_t *out)
{
	const char *end;
	int err = parse_unsigned(s, &end, out);

	return err ? err : *end ? -EINVAL : 0;
}

int parse__percent(const char *s, uint64_t *out)
{
	const char *end;
	int err = parse_unsigned(s, &end, out);

	if (err || strcmp(end, "%") != 0)
		return err ? err : -EINVAL;
	return *out < 1 || *out > 100 ? -ERANGE : 0;
}

struct parse_unit {
	const char *name;
	uint64_t factor;
};

static const struct parse_unit sizes[] = {
	{ "", 1 },	     { "K", 1ULL << 10 },   { "M", 1ULL << 20 },   { "G", 1ULL << 30 },
	{ "k", 1ULL << 10 }, { "KiB", 1ULL << 10 }, { "MiB", 1ULL << 20 }, { "GiB", 1ULL << 30 },
	{ NULL, 0 },
};

static const struct parse_unit durations[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", 1000000000 },
	{ "m", 60000000000 },
	{ "min", 60000000000 },
	{ "h", 3600000000000 },
	{ "d", 86400000000000 },
	{ NULL, 0 },
};

static const struct parse_unit *unit__find(const struct parse_unit *u, const char *name)
{
	for (; u->name; u++)
		if (strcmp(u->name, name) == 0)
			return u;
	return NULL;
}

int parse__size(const char *s, uint64_t *bytes)
{
	const struct parse_unit *u;
	const char *end;
	uint64_t n;
	int err = parse_unsigned(s, &end, &n);

	if (err)
		return err;
	u = unit__find(sizes, end);
	if (!u)
		return -EINVAL;
	return __builtin_mul_overflow(n, u->factor, bytes) ? -ERANGE : 0;
}

/* Returns the digits after the point as a part of `factor`. */
static uint64_t parse_fraction(const char **s, uint64_t factor)
{
	uint64_t sum = 0;

	for (; isdigit((unsigned char)**s); (*s)++) {
		factor /= 10;
		sum += factor * (uint64_t)(**s - '0');
	}
	return sum;
}

int parse__duration(const char *s, uint64_t *ns)
{
	const struct parse_unit *u;
	const char *end, *point;
	uint64_t n, part;
	int err = parse_unsigned(s, &end, &n);

	if (err)
		return err;
	point = *end == '.' ? end + 1 : NULL;
	for (end = point ? point : end; point && isdigit((unsigned char)*end); end++)
		;
	if (point == end)
		return -EINVAL;
	u = unit__find(durations, end);
	if (!u) {
		*ns = 0;
		return n == 0 && !point && *end == '\0' ? 0 : -EINVAL;
	}
	part = point ? parse_fraction(&point, u->factor) : 0;
	if (__builtin_mul_overflow(n, u->factor, ns) || __builtin_add_overflow(*ns, part, ns))
		return -ERANGE;
	return 0;
}
