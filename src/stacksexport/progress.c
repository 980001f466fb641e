// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/progress.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/utf8.h"
#include "stacksexport/printer.h"

#define PATIENCE_NS	 500000000 /* how long a command may be silent */
#define REDRAW_NS	 200000000
#define LABEL_CHARACTERS 160
#define ERASE		 "\r\033[K"

/* There is one terminal. All fields belong to `lock`. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool runs, ends, drawn;
	uint64_t begin_ns;
	char what[256];
	size_t query_cnt;
	duckdb_connection connection; /* of the latest query; NULL: none runs */
} state = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* Must hold the lock. */
static void progress_erase(void)
{
	if (state.drawn)
		fputs(ERASE, stderr);
	state.drawn = false;
}

static void progress_before_message(void)
{
	pthread_mutex_lock(&state.lock);
	progress_erase();
	pthread_mutex_unlock(&state.lock);
}

/* Must hold the lock. */
static void progress_draw(void)
{
	double percent = state.connection ? duckdb_query_progress(state.connection).percentage : -1;
	size_t width = terminal__width(STDERR_FILENO);
	char line[512];
	char part[16] = "";
	int sz;

	if (percent >= 0 && percent <= 100)
		snprintf(part, sizeof(part), ", %.0f %%", percent);
	sz = snprintf(line, sizeof(line), "%.0f s, query %zu%s: %s",
		      (double)(monotonic__ns() - state.begin_ns) / 1e9, state.query_cnt, part,
		      state.what);
	if (width) /* a line that wraps cannot be erased */
		sz = (int)utf8__prefix(line, (size_t)sz, width - 1);
	if (log__writable(0))
		fprintf(stderr, ERASE "%.*s", sz, line);
	state.drawn = true;
}

/* Must hold the lock. Returns false if the line is to end. */
static bool progress_wait(uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!state.ends && pthread_cond_timedwait(&state.changed, &state.lock, &until) == 0)
		;
	return !state.ends;
}

static void *progress_thread(void *arg)
{
	bool goes_on;

	pthread_mutex_lock(&state.lock);
	for (goes_on = progress_wait(PATIENCE_NS); goes_on; goes_on = progress_wait(REDRAW_NS))
		progress_draw();
	progress_erase();
	pthread_mutex_unlock(&state.lock);
	return arg;
}

static size_t progress_file_count(const struct recfiles *files)
{
	const char *paths[RECFILES_OF_PAIR];
	size_t cnt = 0;

	for (size_t i = 0; i < files->cnt; i++)
		cnt += recfile_pair__paths(&files->pairs[i], paths);
	return cnt;
}

static double progress_files_megabytes(const struct recfiles *files)
{
	double bytes = 0;

	for (size_t i = 0; i < files->cnt; i++) {
		const char *paths[RECFILES_OF_PAIR];
		size_t cnt = recfile_pair__paths(&files->pairs[i], paths);
		struct stat st;

		for (size_t n = 0; n < cnt; n++)
			bytes += stat(paths[n], &st) == 0 ? (double)st.st_size : 0;
	}
	return bytes / 1e6;
}

/* "reading /var/lib/stacks/7 (800 files, 1234 MB)"; paths may have control characters. */
static void progress_name(const struct recfiles *files)
{
	struct buf label = { 0 };

	utf8__sanitize_printable(&label, files->label, strlen(files->label));
	buf__str(&label, " ");
	snprintf(state.what, sizeof(state.what), "reading %.*s(%zu files, %.0f MB)",
		 (int)utf8__prefix((const char *)label.data, label.sz, LABEL_CHARACTERS),
		 (const char *)label.data, progress_file_count(files),
		 progress_files_megabytes(files));
	buf__free(&label);
}

void progress__begin(const struct recfiles *files)
{
	if (state.runs || !isatty(STDERR_FILENO))
		return;
	progress_name(files);
	state.begin_ns = monotonic__ns();
	state.ends = false;
	state.query_cnt = 0;
	state.runs = pthread_create(&state.thread, NULL, progress_thread, NULL) == 0;
	if (state.runs)
		log__set_before(progress_before_message);
}

void progress__query(duckdb_connection connection)
{
	pthread_mutex_lock(&state.lock);
	state.query_cnt += connection != NULL;
	state.connection = connection;
	pthread_mutex_unlock(&state.lock);
}

void progress__end(void)
{
	if (!state.runs)
		return;
	pthread_mutex_lock(&state.lock);
	state.ends = true;
	pthread_cond_broadcast(&state.changed);
	pthread_mutex_unlock(&state.lock);
	pthread_join(state.thread, NULL);
	log__set_before(NULL);
	state.runs = false;
}
