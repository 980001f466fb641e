// SPDX-License-Identifier: GPL-2.0-or-later
/* What the page's server parses itself: IDs, numbers, the words of SQL, and the output of objdump.
 */
#include "fuzz.h"

#include <string.h>

#include "stacksexport/web/disassembly.h"
#include "stacksexport/web/sqlwords.h"
#include "stacksexport/web/stackrows.h"
#include "stacksexport/web/webparams.h"

static void check_ids(const char *text, size_t sz)
{
	struct stack_ids ids;

	if (stack_ids__parse(&ids, text, sz))
		FUZZ_CHECK(ids.cnt > 0 && ids.cnt <= STACK_IDS_MAX && sz == 17 * ids.cnt - 1);
}

static void check_number(const char *text)
{
	struct query_params p = { 0 };
	int64_t n = 42;

	FUZZ_CHECK(query_params__set(&p, "n", text) == 0);
	if (query_params__int(&p, "n", &n) != 0)
		FUZZ_CHECK(n == 42);
}

static void check_instructions(const char *text, size_t sz)
{
	const char *at = text, *end = text + sz;
	struct instruction i;

	while (instruction__next(&i, &at, end))
		FUZZ_CHECK(i.text > text && i.text + i.sz <= at && at <= end);
	FUZZ_CHECK(at == end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	char *text = malloc(sz + 1);

	FUZZ_CHECK(text);
	memcpy(text, data, sz);
	text[sz] = '\0';
	check_ids(text, sz);
	check_number(text);
	check_instructions(text, sz);
	if (sql_words__are_temporary(text))
		FUZZ_CHECK(strpbrk(text, "sScC"));
	free(text);
	return 0;
}
