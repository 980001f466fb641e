/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `stacksexport live` shows: lines of the last seconds of a recording that is being written.
 */
#ifndef STACKSEXPORT_LIVE_LIVEDATA_H
#define STACKSEXPORT_LIVE_LIVEDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stacksexport/export_options.h"
#include "stacksexport/model/trie.h"

enum live_pane { LIVE_FUNCTIONS, LIVE_WAITS, LIVE_PROCESSES, LIVE_FLAME, LIVE_PANE_CNT };

struct live_request {
	const struct export_options *options; /* filters and -b */
	const char *recording;		      /* its folder */
	unsigned seconds;		      /* until the end of the recording */
	enum live_pane pane;
	bool by_total;
	size_t width; /* of a line */
};

struct live_data {
	char *text; /* a table: lines; NULL: there is nothing */
	size_t text_sz;
	/* the flame graph: functions, with what each node has in all */
	struct trie trie;
	int64_t *total;
	char **names; /* by the number of a function */
	size_t name_cnt;
};

/* Reads the newest files. Returns true; false if there are none that can be read, and *data is then
 * unchanged. */
bool live_data__read(struct live_data *, const struct live_request *);
void live_data__free(struct live_data *);

#endif
