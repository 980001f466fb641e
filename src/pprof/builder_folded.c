// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes a profile as folded stacks, the text that flamegraph.pl reads: "root;caller;leaf N". */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/strtab.h"
#include "pprof/builder_index.h"

/* ';' separates frames and a newline ends the line, so neither may be in a name. */
static void folded_name(FILE *f, const char *name)
{
	for (const char *c = name; *c; c++) {
		if (*c == ';')
			putc(':', f);
		else
			putc((unsigned char)*c < ' ' || *c == 0x7f ? ' ' : *c, f);
	}
}

/* Samples have the leaf first, and lines of a location the innermost inlined function first. */
static void folded_sample(const struct builder *b, const struct builder_index *index,
			  const struct sample_entry *s, FILE *f)
{
	const char *separator = "";

	for (size_t i = s->pb.n_location_id; i-- > 0;) {
		const Perftools__Profiles__Location *l = &index->locations[s->location_ids[i]]->pb;

		for (size_t j = l->n_line; j-- > 0;) {
			int64_t name = index->functions[l->line[j]->function_id]->pb.name;

			fputs(separator, f);
			folded_name(f, strtab__str(b->strings, (uint32_t)name, NULL));
			separator = ";";
		}
	}
	fprintf(f, " %" PRId64 "\n", s->values[BUILDER_VALUE_CNT - 1]);
}

static int folded_compare_values(const struct sample_entry *a, const struct sample_entry *b)
{
	int64_t x = a->values[BUILDER_VALUE_CNT - 1], y = b->values[BUILDER_VALUE_CNT - 1];

	return x < y ? 1 : x > y ? -1 : 0;
}

void builder__sort(struct builder *b)
{
	HASH_SORT(b->samples, folded_compare_values);
}

int builder__write_folded(struct builder *b, const char *path)
{
	struct builder_index index;
	struct sample_entry *s, *next;
	int err = builder_index__init(&index, b);
	FILE *f;

	err = b->err ? b->err : err;
	f = err ? NULL : fopen(path, "we");
	if (!err && !f)
		err = -errno;
	HASH_ITER (hh, b->samples, s, next) {
		if (f && s->values[BUILDER_VALUE_CNT - 1])
			folded_sample(b, &index, s, f);
	}
	errno = 0;
	if (f && ferror(f))
		err = -EIO;
	if (f && fclose(f) != 0 && !err)
		err = errno ? -errno : -EIO;
	builder_index__free(&index);
	return err;
}
