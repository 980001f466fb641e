// SPDX-License-Identifier: GPL-2.0-or-later
/* What a hostile worker answers about the places of probes: notes, and the allocation functions of
 * this program. */
#include "fuzz.h"

#include <string.h>

#include "capture/allocfunctions.h"
#include "elf/sdttask.h"

static int use_note(const struct sdt_note *n, void *cnt)
{
	FUZZ_CHECK(strlen(n->provider) + strlen(n->name) + strlen(n->args) < 1u << 24);
	++*(size_t *)cnt;
	return 0;
}

static void use_notes(const uint8_t *data, size_t sz)
{
	void *block = malloc(sz); /* aligned, with an end that a sanitizer checks */
	size_t cnt = 0;

	memcpy(block, data, sz);
	if (sdt_block__is_sound(block, sz)) {
		FUZZ_CHECK(sdt_block__each(block, use_note, &cnt) == 0);
		FUZZ_CHECK(cnt <= sz / 32);
	}
	free(block);
}

/* The answer is that of a working worker, of which the input replaces bytes. */
static void use_functions(const uint8_t *data, size_t sz)
{
	static struct alloc_functions right;
	static struct elf_file *self;
	struct alloc_functions answer;

	if (!self) {
		self = elf_file__open("/proc/self/exe");
		FUZZ_CHECK(self && alloc_functions__find(self, &right) == 0);
		FUZZ_CHECK(alloc_functions__are_sound(self, &right));
	}
	answer = right;
	for (size_t at = 0; at + 3 <= sz; at += 3)
		((uint8_t *)&answer)[(data[at] | data[at + 1] << 8) % sizeof(answer)] =
			data[at + 2];
	if (!alloc_functions__are_sound(self, &answer))
		return;
	FUZZ_CHECK(answer.cnt <= ALLOC_FUNCTION_MAX);
	for (size_t i = 0; i < answer.cnt; i++)
		FUZZ_CHECK(answer.at[i].off < self->sz);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	if (sz && *data & 1)
		use_functions(data + 1, sz - 1);
	else if (sz)
		use_notes(data + 1, sz - 1);
	return 0;
}
