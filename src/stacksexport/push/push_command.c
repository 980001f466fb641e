// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport push`: sends the files of a fleet folder to a store, or to a mounted folder. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/seed.h"
#include "stacksexport/commands.h"
#include "stacksexport/push/foldercopy.h"
#include "stacksexport/push/pushfiles.h"
#include "stacksexport/push/s3upload.h"

#define TRIES	       8  /* without --follow, for one file */
#define BACKOFF_MAX_S  60 /* between two tries */
#define FOLLOW_PAUSE_S 10

struct push {
	const struct export_options *options;
	const char *folder, *url;
	bool is_folder;	   /* url is one */
	uint64_t spool_sz; /* 0: no limit */
	struct s3 s3;
	struct push_files files;
	uint64_t sent_cnt, sent_sz;
};

static volatile sig_atomic_t push_ends;

static void push_on_signal(int signal)
{
	(void)signal;
	push_ends = 1;
}

static void push_catch_signals(void)
{
	struct sigaction action = { .sa_handler = push_on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* Waits longer after each failure, and not equally long on all hosts. */
static void push_back_off(unsigned tries)
{
	uint64_t s = tries < 6 ? 1ull << tries : BACKOFF_MAX_S, ms;
	struct timespec pause;

	s = s < BACKOFF_MAX_S ? s : BACKOFF_MAX_S;
	ms = s * 500 + seed__mix(tries + (uint64_t)time(NULL)) % (s * 500);
	pause = (struct timespec){ (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };
	nanosleep(&pause, NULL);
}

static int push_try(struct push *p, const struct push_file *f)
{
	char *path;
	int fd, err;

	if (asprintf(&path, "%s/%s", p->folder, f->name) < 0)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		log__error("cannot read %s: %s", path, strerror(errno));
		err = -EIO;
	} else {
		err = p->is_folder ? folder_copy__file(p->url, fd, f->name)
				   : s3_upload__file(&p->s3, fd, f->sz, f->name);
		close(fd);
	}
	free(path);
	return err;
}

/* Keeps the spool below its limit: removes the events that waited longest. */
static int push_bound_spool(struct push *p)
{
	int err = 0;

	for (size_t i = 0; i < p->files.cnt && !err; i++) {
		const struct push_file *f = &p->files.files[i];

		if (!p->spool_sz || p->files.unsent_sz <= p->spool_sz)
			return 0;
		if (f->is_sent || strncmp(f->name, "events/", strlen("events/")) != 0)
			continue;
		log__warn("removed before it was sent, because more than --max-spool waits: %s",
			  f->name);
		err = push_files__remove(&p->files, f);
		p->files.unsent_sz -= f->sz;
	}
	return err;
}

/* Sends a file, and again after failures that can pass. */
static int push_one(struct push *p, struct push_file *f)
{
	unsigned tries = 0;
	int err;

	while ((err = push_try(p, f)) == -EAGAIN && !push_ends) {
		if (p->options->follow)
			return -EAGAIN;
		if (++tries == TRIES) {
			log__error("cannot send %s: tried %d times; run it again later", f->name,
				   TRIES);
			return -EIO;
		}
		push_back_off(tries);
	}
	if (!err)
		err = push_files__mark_sent(&p->files, f);
	if (!err) {
		p->sent_cnt++;
		p->sent_sz += f->sz;
	}
	return err;
}

static int push_once(struct push *p)
{
	int err = push_files__find(&p->files, p->folder, p->url);

	if (!err)
		err = push_bound_spool(p);
	for (size_t i = 0; i < p->files.cnt && !err && !push_ends; i++) {
		struct push_file *f = &p->files.files[i];

		if (!f->is_sent)
			err = push_one(p, f);
		if (!err && f->is_sent && p->options->remove)
			err = push_files__remove(&p->files, f);
	}
	return err;
}

static int push_follow(struct push *p)
{
	const struct timespec pause = { .tv_sec = FOLLOW_PAUSE_S };
	unsigned tries = 0;
	int err;

	push_catch_signals();
	do {
		err = push_once(p);
		tries = err == -EAGAIN ? tries + 1 : 0;
		if (push_ends || (err && err != -EAGAIN))
			break;
		if (err)
			push_back_off(tries);
		else
			nanosleep(&pause, NULL);
	} while (!push_ends);
	return err == -EAGAIN ? 0 : err;
}

static int push_run(struct push *p)
{
	int err = p->is_folder ? 0 : s3__open(&p->s3, p->url);

	if (!err)
		err = p->options->follow ? push_follow(p) : push_once(p);
	if (!err && !p->files.cnt && !p->options->follow) {
		log__error("%s has no file to send; stacksexport merge makes them", p->folder);
		err = -ENODATA;
	} else if (!err) {
		log__info("%s: sent %" PRIu64 " files of %.1f MB; %zu were there", p->url,
			  p->sent_cnt, (double)p->sent_sz / 1e6, p->files.cnt - p->sent_cnt);
	}
	push_files__free(&p->files);
	if (!p->is_folder)
		s3__close(&p->s3);
	return err;
}

/* http://HOST/BUCKET…, https://…, s3://BUCKET…, or a folder. */
static bool push_url_is_valid(const struct push *p)
{
	const char *host = strstr(p->url, "://");

	if (p->is_folder)
		return !host;
	if (strncmp(p->url, "s3://", 5) == 0)
		return p->url[5] && p->url[5] != '/';
	host = strchr(host + 3, '/');
	return host && host[1] && !strchr(p->url, '@') && !strchr(p->url, '?');
}

int push__run(const struct export_options *o)
{
	struct push p = { .options = o };

	if (o->argument_cnt != 2)
		return export_options__wrong(o, "name a fleet folder and a URL");
	p.folder = o->arguments[0];
	p.url = o->arguments[1];
	p.is_folder = strncmp(p.url, "s3://", 5) != 0 && strncmp(p.url, "http://", 7) != 0 &&
		      strncmp(p.url, "https://", 8) != 0;
	if (!push_url_is_valid(&p))
		return export_options__wrong(
			o,
			"'%s' is not s3://BUCKET/PREFIX, https://HOST/BUCKET/PREFIX "
			"or a folder",
			p.url);
	if (o->max_spool && (!o->follow || parse__size(o->max_spool, &p.spool_sz) != 0))
		return export_options__wrong(
			o, "--max-spool is a size, such as 10G, and needs --follow");
	return push_run(&p) == 0 ? STATUS_OK : STATUS_FAILED;
}
