// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/live.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "stacksexport/web/reading.h"

#define LOOK_NS	   1000000000ull /* time between two checks of the folder */
#define REST_TIMES 4		 /* reading takes at most a fifth of the time */

static int live_is_events_file(const struct dirent *entry)
{
	size_t sz = strlen(entry->d_name), suffix = strlen(".parquet");

	return strncmp(entry->d_name, "events-", strlen("events-")) == 0 && sz > suffix &&
	       strcmp(entry->d_name + sz - suffix, ".parquet") == 0;
}

static size_t live_count_batches(const char *folder)
{
	struct dirent **entries;
	int cnt = scandir(folder, &entries, live_is_events_file, NULL);

	for (int i = 0; i < cnt; i++)
		free(entries[i]);
	if (cnt >= 0)
		free(entries);
	return cnt > 0 ? (size_t)cnt : 0;
}

/* Returns the batches that `known` does not have; borrowed from `all`, which is sorted like
 * `known`. */
static struct recfiles live_new_batches(const struct recfiles *all, const struct recfiles *known)
{
	struct recfiles fresh = { .label = all->label };

	fresh.pairs = all->pairs + (all->cnt > known->cnt ? known->cnt : all->cnt);
	fresh.cnt = all->cnt > known->cnt ? all->cnt - known->cnt : 0;
	return fresh;
}

/* Returns 0 or -errno (already logged). */
static int live_take(struct source *s)
{
	const char *folder = s->request.files.label;
	struct recfiles *all = calloc(1, sizeof(*all));
	struct recfiles **kept = reallocarray(s->lists, s->list_cnt + 1, sizeof(*kept));
	int err;

	if (kept)
		s->lists = kept;
	if (!kept || !all) {
		free(all);
		return -ENOMEM;
	}
	kept[s->list_cnt++] = all;
	err = recfiles__find(all, &folder, 1);
	if (!err) {
		struct recfiles fresh = live_new_batches(all, s->shown);

		err = reading__again(s, &fresh, all);
	}
	return err;
}

void live__follow(struct source *s)
{
	const char *folder = s->request.files.label;
	uint64_t rest_ns = LOOK_NS;
	bool written = true;
	int err = 0;

	while (written && !err && source__wait(s, rest_ns)) {
		uint64_t begin_ns = monotonic__ns();

		written = recfiles__is_written(folder); /* the last batch is there by then */
		if (live_count_batches(folder) > s->shown->cnt)
			err = live_take(s);
		rest_ns = REST_TIMES * (monotonic__ns() - begin_ns);
		rest_ns = rest_ns < LOOK_NS ? LOOK_NS : rest_ns;
	}
	if (err && err != -EINTR) /* -EINTR: the program ends */
		log__warn("new batches of %s are not shown", folder);
	pthread_mutex_lock(&s->lock);
	s->live = false;
	pthread_mutex_unlock(&s->lock);
}
