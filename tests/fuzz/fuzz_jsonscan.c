// SPDX-License-Identifier: GPL-2.0-or-later
/* State files of container runtimes: users choose some of the texts in them. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonscan.h"

struct bounds {
	const char *begin, *end;
};

static void check_text(const struct bounds *b, const struct jsonscan_text *t)
{
	FUZZ_CHECK(!t->sz || (t->at >= b->begin && t->at + t->sz <= b->end));
}

static bool see(const struct jsonscan_value *v, void *arg)
{
	FUZZ_CHECK(v->depth <= JSONSCAN_DEPTH_MAX);
	check_text(arg, &v->outer);
	check_text(arg, &v->key);
	check_text(arg, &v->value);
	return jsonscan_text__is(&v->key, "stop");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	char *text = malloc(sz ? sz : 1);
	struct bounds b = { text, text + sz };

	memcpy(text, data, sz);
	jsonscan__each(text, sz, see, &b);
	free(text);
	return 0;
}
