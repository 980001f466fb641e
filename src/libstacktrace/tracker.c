// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstacktrace/tracker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROCESS_MAX 32768

API const char *stacktrace_version(void)
{
	return STACKS_VERSION;
}

static void tracker_on_download(const struct download_stats *s, void *arg)
{
	const stacktrace_tracker *t = arg;
	struct stacktrace_downloads d = tracker__downloads(s);

	t->on_download(&d, t->arg);
}

static struct finder *tracker_make_finder(stacktrace_tracker *t, const struct stacktrace_options *o)
{
	return finder__new(
		&(struct finder_options){ .sysroot = o->sysroot,
					  .dirs = o->build_id_dirs,
					  .debuginfod = o->debuginfod,
					  .progress = o->on_download ? tracker_on_download : NULL,
					  .arg = t });
}

static struct process_table *tracker_make_processes(const stacktrace_tracker *t,
						    const struct stacktrace_options *o)
{
	const char *proc = o->proc ? o->proc : "/proc";

	return process_table__new(&(struct process_options){
		.proc = o->source == STACKTRACE_TOLD_ONLY ? NULL : proc,
		.told = o->source != STACKTRACE_LIVE,
		.finder = t->finder,
		.process_max = o->max_processes ? o->max_processes : PROCESS_MAX,
		.file_max = o->max_files,
		.held_max = o->max_file_bytes });
}

/* Returns false if out of memory. With STACKTRACE_LIVE, JIT symbols come only from the files of the
 * processes, so `jit_root` stays NULL. */
static bool tracker_make_jit(stacktrace_tracker *t, const struct stacktrace_options *o)
{
	if (o->source != STACKTRACE_TOLD_ONLY && !(t->proc = strdup(o->proc ? o->proc : "/proc")))
		return false;
	if (o->source != STACKTRACE_LIVE && !(t->jit_root = strdup(o->sysroot ? o->sysroot : "/")))
		return false;
	t->dump_paths = dump_paths__new();
	if (t->dump_paths)
		t->jit = jit__new(&(struct jit_places){
			.proc = t->proc, .root = t->jit_root, .told = t->dump_paths });
	return t->jit;
}

static bool tracker_fill(stacktrace_tracker *t, const struct stacktrace_options *o)
{
	t->on_process = o->on_process;
	t->on_download = o->on_download;
	t->arg = o->arg;
	t->max_frames = o->max_frames && o->max_frames < TRACE_MAX ? o->max_frames : TRACE_MAX;
	t->finder = tracker_make_finder(t, o);
	if (!t->finder)
		return false;
	t->processes = tracker_make_processes(t, o);
	if (!t->processes)
		return false;
	if (o->cache_dir && !(t->cache = table_cache__new(o->cache_dir, TABLE_CACHE_MAX)))
		return false;
	t->jobs = jobs__new();
	if (!t->jobs || !tracker_make_jit(t, o))
		return false;
	return walk_policy__open(&t->policy, &(struct walk_options){ .stitch_sz = o->max_stitch,
								     .cache = t->cache,
								     .jobs = t->jobs,
								     .processes = t->processes,
								     .jit = t->jit }) == 0;
}

/* The lock is recursive: on_process is called with it held and may call stacktrace_map(). */
static void tracker_init_lock(stacktrace_tracker *t)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&t->lock, &a);
	pthread_mutexattr_destroy(&a);
}

/* Returns false if the options are invalid. Accepts a smaller struct from programs built with an
 * older header. */
static bool tracker_copy_options(struct stacktrace_options *to, const struct stacktrace_options *o)
{
	*to = (struct stacktrace_options){ 0 };
	if (!o)
		return true;
	if (o->size <= offsetof(struct stacktrace_options, source) || o->size > sizeof(*to))
		return false;
	memcpy(to, o, o->size);
	return to->source <= STACKTRACE_TOLD_ONLY;
}

API stacktrace_tracker *stacktrace_tracker_new(const struct stacktrace_options *options)
{
	struct stacktrace_options o;
	stacktrace_tracker *t;
	int err;

	if (!tracker_copy_options(&o, options))
		return errno = EINVAL, NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	tracker_init_lock(t);
	if (tracker_fill(t, &o))
		return t;
	err = errno;
	stacktrace_tracker_free(t);
	return errno = err, NULL;
}

API void stacktrace_tracker_free(stacktrace_tracker *t)
{
	struct scratch *next;

	if (!t)
		return;
	jobs__free(t->jobs);
	walk_policy__close(&t->policy);
	table_cache__put(t->cache);
	jit__free(t->jit);
	dump_paths__free(t->dump_paths);
	free(t->proc);
	free(t->jit_root);
	process_table__free(t->processes);
	finder__free(t->finder);
	for (struct scratch *s = t->scratch; s; s = next) {
		next = s->next;
		free(s);
	}
	pthread_mutex_destroy(&t->lock);
	free(t);
}

API int stacktrace_stats(stacktrace_tracker *t, struct stacktrace_stats *out)
{
	struct stacktrace_stats s = { .size = out->size };
	struct process_table_stats processes;
	struct unwinder_stats unwinder;
	struct download_stats downloads;

	if (out->size <= sizeof(out->size) || out->size > sizeof(s))
		return -EINVAL;
	tracker__lock(t);
	tracker__collect(t);
	process_table__stats(t->processes, &processes);
	unwinder__stats(t->policy.unwinder, &unwinder);
	finder__stats(t->finder, &downloads);
	s.samples = t->samples;
	s.frames = t->frames;
	memcpy(s.ended, t->ended, sizeof(t->ended));
	tracker__unlock(t);
	s.processes = processes.processes;
	s.files = processes.files;
	s.files_missing = processes.files_failed;
	s.tables = unwinder.tables.made + unwinder.tables.cached + unwinder.tables.indexed;
	s.tables_pending = unwinder.tables.pending;
	s.tables_none = unwinder.tables.failed;
	s.table_bytes = unwinder.tables.bytes;
	s.downloads = tracker__downloads(&downloads);
	memcpy(out, &s, out->size);
	return 0;
}
