// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/sourcethread.h"

#include "stacksexport/web/live.h"
#include "stacksexport/web/reading.h"
#include "stacksexport/web/steps.h"

static void *source_thread(void *arg)
{
	struct source *s = arg;

	reading__all(s);
	if (!s->failed)
		steps__read_rest(s);
	if (s->live && !s->failed)
		live__follow(s);
	return NULL;
}

/* Makes the tables and starts the thread. Returns 0 or -errno (already logged). */
static int source_start(struct source *s)
{
	struct db *db = &s->request.db;
	int err = db__script(db, "sql/view/open.sql");

	if (!err)
		err = db__script(db, "sql/view/slices.sql");
	if (!err && db->in_order)
		err = db__script(db, "sql/view/slices_in_order.sql");
	if (!err)
		err = db__define_all(db);
	if (!err)
		err = db__lock_down(db, s->live ? s->request.files.label : NULL);
	steps__begin(s);
	if (!err)
		err = -pthread_create(&s->reader, NULL, source_thread, s);
	s->has_reader = !err;
	return err;
}

int source__open(struct source *s, const struct export_options *o, struct running *running,
		 struct model *model)
{
	int status;

	*s = (struct source){ .running = running, .model = model };
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	pthread_mutex_init(&s->wakings_lock, NULL);
	s->options = *o;
	status = request__open(&s->request, &s->options);
	s->live = s->request.files.grow;
	s->shown = &s->request.files;
	if (status == STATUS_OK && source_start(s) != 0)
		status = STATUS_FAILED;
	return status;
}
