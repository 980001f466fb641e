// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/rootlabels.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "stacksexport/duck/cells.h"

static int labels_add(struct root_labels *l, uint32_t root, uint32_t text)
{
	uint32_t *texts = array__room(l->texts, l->keys.cnt, &l->cap, sizeof(*texts)), index;
	bool is_new = false;

	if (!texts)
		return -ENOMEM;
	l->texts = texts;
	index = keymap__add(&l->keys, root, 0, &is_new);
	if (index == KEYMAP_NONE)
		return -ENOMEM;
	texts[index] = text;
	return 0;
}

int root_labels__read(struct root_labels *l, struct strtab *texts, duckdb_result *result)
{
	duckdb_data_chunk chunk;
	int err = 0;

	while (!err && (chunk = duckdb_fetch_chunk(*result))) {
		struct cells number = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
		struct cells text = cells__on(duckdb_data_chunk_get_vector(chunk, 1));

		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk) && !err; row++) {
			size_t sz;
			const char *s = cells__str(&text, row, &sz);

			err = labels_add(l, (uint32_t)cells__int(&number, row),
					 strtab__id(texts, s ? s : "", sz));
		}
		duckdb_destroy_data_chunk(&chunk);
	}
	return err;
}

void root_labels__free(struct root_labels *l)
{
	keymap__free(&l->keys);
	free(l->texts);
	*l = (struct root_labels){ 0 };
}

uint32_t root_labels__text(const struct root_labels *l, uint32_t root)
{
	uint32_t index = keymap__find(&l->keys, root, 0);

	return index == KEYMAP_NONE ? 0 : l->texts[index];
}
