// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/downloads.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "base/bell.h"
#include "base/hash.h"
#include "base/monotonic.h"
#include "base/priority.h"
#include "base/thread.h"

#define REQUEST_MAX 4096
#define END_MAX_NS  2000000000u

/* Loaded only on request, because it loads an HTTP client. The libraries of that client cannot be
 * unloaded safely. */
struct library {
	void *handle;
	__typeof__(&debuginfod_begin) begin;
	__typeof__(&debuginfod_end) end;
	__typeof__(&debuginfod_find_executable) find;
	__typeof__(&debuginfod_set_progressfn) set_progress;
	__typeof__(&debuginfod_set_user_data) set_data;
};

struct download {
	struct build_id id;
	char *path;	       /* after it was found */
	struct download *next; /* in the queue */
	UT_hash_handle hh;
};

struct downloads {
	struct library library;
	download_fn fn;
	void *arg;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* protects the fields below */
	struct bell changed;
	struct download *all, *queue;
	struct download_stats stats;
	bool stop;
	bool calling;	/* the thread is in fn() */
	bool ended;	/* the thread does not use this struct any more */
	bool abandoned; /* the thread must free this struct when it ends */
};

static bool downloads_load(struct library *l)
{
	const struct {
		const char *name;
		void *at;
	} symbols[] = {
		{ "debuginfod_begin", &l->begin },
		{ "debuginfod_end", &l->end },
		{ "debuginfod_find_executable", &l->find },
		{ "debuginfod_set_progressfn", &l->set_progress },
		{ "debuginfod_set_user_data", &l->set_data },
	};

	l->handle = dlopen(DEBUGINFOD_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	for (size_t i = 0; l->handle && i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *found = dlsym(l->handle, symbols[i].name);

		if (!found)
			return false;
		memcpy(symbols[i].at, &found, sizeof(found));
	}
	return l->handle;
}

/* ---- the thread ---------------------------------------------------------------------------------
 */

static void downloads_report(struct downloads *d)
{
	struct download_stats now;
	download_fn fn;

	pthread_mutex_lock(&d->lock);
	now = d->stats;
	fn = d->fn;
	d->calling = true;
	pthread_mutex_unlock(&d->lock);
	if (fn)
		fn(&now, d->arg);
	pthread_mutex_lock(&d->lock);
	d->calling = false;
	bell__ring(&d->changed);
	pthread_mutex_unlock(&d->lock);
}

/* Returns our struct in a callback of libdebuginfod. The function that gets it is in a library that
 * is loaded already. */
static struct downloads *downloads_owner_of(debuginfod_client *client)
{
	void *library = dlopen(DEBUGINFOD_SONAME, RTLD_NOW | RTLD_NOLOAD);
	__typeof__(&debuginfod_get_user_data) get;
	void *found = library ? dlsym(library, "debuginfod_get_user_data") : NULL;

	memcpy(&get, &found, sizeof(get));
	if (library)
		dlclose(library); /* d->library keeps it loaded */
	return get ? get(client) : NULL;
}

/* Called about once a second; a return value other than 0 aborts the download. libdebuginfod 0.192
 * does not call it before a server has answered. */
static int downloads_progress(debuginfod_client *client, long got, long total)
{
	struct downloads *d = downloads_owner_of(client);
	bool stop;

	if (!d)
		return 0;
	pthread_mutex_lock(&d->lock);
	d->stats.got = got > 0 ? (uint64_t)got : 0;
	d->stats.total = total > 0 ? (uint64_t)total : 0;
	stop = d->stop;
	pthread_mutex_unlock(&d->lock);
	if (!stop)
		downloads_report(d);
	return stop;
}

/* Returns a malloc()ed path or NULL. */
static char *downloads_fetch(struct downloads *d, debuginfod_client *client,
			     const struct build_id *id)
{
	char *path = NULL;
	int fd = d->library.find(client, id->bytes, id->sz, &path);

	if (fd < 0)
		return NULL;
	close(fd);
	return path;
}

static void downloads_done(struct downloads *d, struct download *item, char *path)
{
	item->path = path;
	d->stats.pending--;
	d->stats.got = d->stats.total = 0;
	if (path)
		__atomic_add_fetch(&d->stats.found, 1, __ATOMIC_RELEASE);
	else
		d->stats.failed++;
	bell__ring(&d->changed);
}

static void downloads_serve(struct downloads *d, debuginfod_client *client)
{
	pthread_mutex_lock(&d->lock);
	while (!d->stop) {
		struct download *item = d->queue;
		char *path;

		if (!item) {
			bell__wait(&d->changed, &d->lock, UINT64_MAX);
			continue;
		}
		LL_DELETE(d->queue, item);
		pthread_mutex_unlock(&d->lock);
		path = client ? downloads_fetch(d, client, &item->id) : NULL;
		pthread_mutex_lock(&d->lock);
		downloads_done(d, item, path);
		pthread_mutex_unlock(&d->lock);
		downloads_report(d);
		pthread_mutex_lock(&d->lock);
	}
	pthread_mutex_unlock(&d->lock);
}

static void downloads_destroy(struct downloads *d)
{
	struct download *item, *next;

	HASH_ITER (hh, d->all, item, next) {
		HASH_DEL(d->all, item);
		free(item->path);
		free(item);
	}
	if (d->library.handle)
		dlclose(d->library.handle);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* The thread's last use of `d`, except that it frees an abandoned one. */
static void downloads_end_thread(struct downloads *d)
{
	bool abandoned;

	pthread_mutex_lock(&d->lock);
	d->ended = true;
	abandoned = d->abandoned;
	bell__ring(&d->changed);
	pthread_mutex_unlock(&d->lock);
	if (abandoned)
		downloads_destroy(d);
}

static void *downloads_run(void *arg)
{
	struct downloads *d = arg;
	debuginfod_client *client;

	priority__ordinary();
	client = d->library.begin();
	if (client) {
		d->library.set_data(client, d);
		d->library.set_progress(client, downloads_progress);
	}
	downloads_serve(d, client);
	if (client)
		d->library.end(client);
	downloads_end_thread(d);
	return NULL;
}

/* ---- for callers --------------------------------------------------------------------------------
 */

static struct download *downloads_find(struct downloads *d, const struct build_id *id)
{
	struct download *item;

	HASH_FIND(hh, d->all, id, sizeof(*id), item);
	return item;
}

static void downloads_enqueue(struct downloads *d, const struct build_id *id)
{
	struct download *item;

	if (downloads_find(d, id) || HASH_COUNT(d->all) >= REQUEST_MAX)
		return;
	item = calloc(1, sizeof(*item));
	if (!item)
		return;
	item->id = *id;
	HASH_ADD(hh, d->all, id, sizeof(item->id), item);
	if (!HASH_ADDED(item)) {
		free(item);
		return;
	}
	LL_APPEND(d->queue, item);
	d->stats.pending++;
	bell__ring(&d->changed);
}

/* Makes a hash key: only the bytes that the ID has are copied, the rest is zero. */
static struct build_id downloads_key_of(const struct build_id *id)
{
	struct build_id key = { .sz = id->sz };

	memcpy(key.bytes, id->bytes, id->sz);
	return key;
}

void downloads__request(struct downloads *d, const struct build_id *id)
{
	struct build_id key;

	if (id->sz == 0 || id->sz > BUILD_ID_MAX)
		return;
	key = downloads_key_of(id);
	pthread_mutex_lock(&d->lock);
	downloads_enqueue(d, &key);
	pthread_mutex_unlock(&d->lock);
}

const char *downloads__path(struct downloads *d, const struct build_id *id)
{
	struct download *item;
	const char *path;
	struct build_id key;

	if (id->sz == 0 || id->sz > BUILD_ID_MAX)
		return NULL;
	key = downloads_key_of(id);
	pthread_mutex_lock(&d->lock);
	item = downloads_find(d, &key);
	path = item ? item->path : NULL;
	pthread_mutex_unlock(&d->lock);
	return path;
}

bool downloads__wait(struct downloads *d, uint64_t max_ns)
{
	uint64_t end = monotonic__ns() + max_ns;
	bool idle;

	end = end < max_ns ? UINT64_MAX : end;
	pthread_mutex_lock(&d->lock);
	while (d->stats.pending > 0 && monotonic__ns() < end)
		bell__wait(&d->changed, &d->lock, end);
	idle = d->stats.pending == 0;
	pthread_mutex_unlock(&d->lock);
	return idle;
}

void downloads__stats(struct downloads *d, struct download_stats *s)
{
	pthread_mutex_lock(&d->lock);
	*s = d->stats;
	pthread_mutex_unlock(&d->lock);
}

size_t downloads__found(const struct downloads *d)
{
	return __atomic_load_n(&d->stats.found, __ATOMIC_ACQUIRE);
}

struct downloads *downloads__new(download_fn fn, void *arg)
{
	const char *urls = secure_getenv(DEBUGINFOD_URLS_ENV_VAR);
	struct downloads *d;
	int err;

	if (!urls || !*urls)
		return errno = ENOENT, NULL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->fn = fn;
	d->arg = arg;
	pthread_mutex_init(&d->lock, NULL);
	err = downloads_load(&d->library) ? thread__start(&d->thread, downloads_run, d) : ELIBACC;
	d->running = !err;
	if (!err)
		return d;
	downloads__free(d);
	return errno = err, NULL;
}

/* Returns whether the thread ended in time. If not, the thread makes no more callbacks and owns
 * `d`. */
static bool downloads_stop_thread(struct downloads *d)
{
	uint64_t end = monotonic__ns() + END_MAX_NS;
	bool ended;

	pthread_mutex_lock(&d->lock);
	d->stop = true;
	bell__ring(&d->changed);
	while (!d->ended && monotonic__ns() < end)
		bell__wait(&d->changed, &d->lock, end);
	d->fn = NULL;
	while (!d->ended && d->calling)
		bell__wait(&d->changed, &d->lock, UINT64_MAX);
	ended = d->ended;
	d->abandoned = !ended;
	pthread_mutex_unlock(&d->lock);
	return ended;
}

void downloads__free(struct downloads *d)
{
	pthread_t thread;

	if (!d)
		return;
	thread = d->thread;
	if (!d->running) {
		downloads_destroy(d);
	} else if (downloads_stop_thread(d)) {
		pthread_join(thread, NULL);
		downloads_destroy(d);
	} else {
		pthread_detach(thread);
	}
}
