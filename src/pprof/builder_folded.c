// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes a profile as folded stacks, the text that flamegraph.pl reads: "root;caller;leaf N". */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/strtab.h"
#include "pprof/builder_state.h"

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

static const struct location_entry **folded_locations(struct builder *b)
{
	const struct location_entry **all = calloc(HASH_COUNT(b->locations) + 1, sizeof(*all));
	struct location_entry *l, *next;

	HASH_ITER (hh, b->locations, l, next) {
		if (all)
			all[l->pb.id] = l;
	}
	return all;
}

static const struct function_entry **folded_functions(struct builder *b)
{
	const struct function_entry **all = calloc(HASH_COUNT(b->functions) + 1, sizeof(*all));
	struct function_entry *fn, *next;

	HASH_ITER (hh, b->functions, fn, next) {
		if (all)
			all[fn->pb.id] = fn;
	}
	return all;
}

/* Samples have the leaf first, and lines of a location the innermost inlined function first. */
static void folded_sample(const struct builder *b, FILE *f, const struct sample_entry *s,
			  const struct location_entry **locations,
			  const struct function_entry **functions)
{
	const char *separator = "";

	for (size_t i = s->pb.n_location_id; i-- > 0;) {
		const Perftools__Profiles__Location *l = &locations[s->location_ids[i]]->pb;

		for (size_t j = l->n_line; j-- > 0;) {
			int64_t name = functions[l->line[j]->function_id]->pb.name;

			fputs(separator, f);
			folded_name(f, strtab__str(b->strings, (uint32_t)name, NULL));
			separator = ";";
		}
	}
	fprintf(f, " %" PRId64 "\n", s->values[BUILDER_VALUE_CNT - 1]);
}

int builder__write_folded(struct builder *b, const char *path)
{
	const struct location_entry **locations = folded_locations(b);
	const struct function_entry **functions = folded_functions(b);
	struct sample_entry *s, *next;
	int err = b->err ? b->err : !locations || !functions ? -ENOMEM : 0;
	FILE *f = err ? NULL : fopen(path, "we");

	if (!err && !f)
		err = -errno;
	HASH_ITER (hh, b->samples, s, next) {
		if (f && s->values[BUILDER_VALUE_CNT - 1])
			folded_sample(b, f, s, locations, functions);
	}
	errno = 0;
	if (f && ferror(f))
		err = -EIO;
	if (f && fclose(f) != 0 && !err)
		err = errno ? -errno : -EIO;
	free(locations);
	free(functions);
	return err;
}
