// SPDX-License-Identifier: GPL-2.0-or-later
/* What a hostile worker answers about code without call-frame information, and about Go's
 * functions. The first byte says which, and of which machine the file is. */
#include "fuzz.h"

#include <string.h>

#include "cfi/scantask.h"

static void use_rows(const void *answer, size_t sz)
{
	struct code_rows rows;

	if (!scan_answer__rows(answer, sz, &rows))
		return;
	for (size_t i = 0; i < rows.cnt; i++) {
		const struct packed_rule *r = code_rows__at(&rows, rows.rows[i].at);

		FUZZ_CHECK(!r || (r->how <= PACKED_ROOT && r->how != PACKED_NONE));
		code_rows__at(&rows, rows.rows[i].at - 1);
	}
	FUZZ_CHECK(code_rows__sz(&rows) >= sz);
	code_rows__free(&rows);
}

static void use_overrides(const void *answer, size_t sz, const struct machine *m)
{
	struct overrides o;

	if (!scan_answer__overrides(answer, sz, m, &o))
		return;
	for (size_t i = 0; i < o.cnt; i++) {
		const struct wide_rule *r = overrides__at(&o, o.marks[i].vaddr);
		union rule_room room;

		FUZZ_CHECK(r == &o.marks[i].rule);
		wide_rule__packed(r);
		if (r->packed.how != PACKED_SIGNAL)
			full_rule__widen(r, m, &room);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	void *answer;

	if (!sz)
		return 0;
	answer = malloc(sz); /* aligned, with an end that a sanitizer checks */
	FUZZ_CHECK(answer);
	memcpy(answer, data + 1, sz - 1);
	if (*data & 1)
		use_rows(answer, sz - 1);
	else
		use_overrides(answer, sz - 1, *data & 2 ? &machine_aarch64 : &machine_x86_64);
	free(answer);
	return 0;
}
