// SPDX-License-Identifier: GPL-2.0-or-later
#include "fuzz.h"

#include "lib/goimage.h"
#include "elf/gopclntab.h"
#include "symbol/symbol.h"
#include "symbol/golines.h"

static void check_names(struct elf_file *f)
{
	struct symbol s;

	for (uint64_t off = 0; off < GOIMAGE_TEXT_SZ; off += 0x10)
		if (elf_file__symbol(f, GOIMAGE_TEXT + off, &s))
			FUZZ_CHECK(s.address <= GOIMAGE_TEXT + off && s.name[0]);
}

static void check_lines(const struct elf_file *f)
{
	struct code_lines lines;

	for (uint64_t off = 0; off < GOIMAGE_TEXT_SZ; off++) {
		if (!elf_file__code_lines(f, GOIMAGE_TEXT + off, &lines))
			continue;
		FUZZ_CHECK(lines.cnt > 0 && lines.cnt <= CODE_LINES_MAX);
		FUZZ_CHECK(!lines.v[lines.cnt - 1].function);
		for (size_t i = 0; i < lines.cnt; i++)
			FUZZ_CHECK(!lines.v[i].file || strlen(lines.v[i].file) > 0);
	}
}

/* What is built is sound; the same bytes as a worker's answer are not, and are checked. */
static void check_block(const struct elf_file *f, const uint8_t *data, size_t sz)
{
	struct buf block = { 0 };
	struct go_lines lines;
	struct code_lines found;
	uint8_t *copy = malloc(sz + 1);

	if (go_lines__build(f, &block) == 0)
		FUZZ_CHECK(go_lines__open(&lines, block.data, block.sz));
	buf__free(&block);
	FUZZ_CHECK(copy);
	memcpy(copy, data, sz);
	if (go_lines__open(&lines, copy, sz))
		for (uint64_t off = 0; off < GOIMAGE_TEXT_SZ; off++)
			go_lines__at(&lines, lines.head->text + off, &found);
	free(copy);
}

/* The input is the table; if it begins with a byte of no magic number, the table is in a PIE. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	const char *name = sz && data[0] == 0 ? ".data.rel.ro" : ".gopclntab";
	struct goimage *image = goimage__make(name, data, sz);
	struct elf_file *f = elf_file__from_memory(image, sizeof(*image) + sz, "fuzz");
	struct gopclntab t;
	struct go_function g;

	FUZZ_CHECK(f);
	if (gopclntab__read(&t, f) == 0) {
		FUZZ_CHECK(t.cnt <= sz);
		for (uint64_t i = 0; i < t.cnt; i++)
			if (gopclntab__at(&t, i, &g))
				FUZZ_CHECK(g.sz && strlen(g.name) <= sz);
		gopclntab__free(&t);
		check_names(f);
		check_lines(f);
	}
	check_block(f, data, sz);
	elf_file__put(f);
	return 0;
}
