/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows that a recording of vfs_calls must have, in memory that its processes share. Private to
 * vfs_calls.c. */
#ifndef VFS_BOOK_H
#define VFS_BOOK_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define BUF_SZ	 65536
#define FILE_SZ	 10007 /* not a multiple of anything */
#define BOOK_MAX 64
#define NAME_SZ	 32
#define READ	 "vfs_read"
#define WRITE	 "vfs_write"
#define PIPE	 "pipefs"

struct line {
	char kind[NAME_SZ], name[NAME_SZ], reason[NAME_SZ];
	long rows, bytes;
};

/* Shared by all processes of this program, at 32-bit addresses. */
static struct shared {
	pthread_mutex_t lock;
	struct line book[BOOK_MAX];
	volatile int signals, tid;
	char buf[BUF_SZ];
	union {
		struct iovec native[3];
		struct {
			unsigned base, len;
		} compat[3];
	} iov;
} * shared;

static bool compat; /* use the calls of 32-bit programs */

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

/* ---- expected rows ------------------------------------------------------------------------- */

static struct line *line_of(const char *kind, const char *name, const char *reason)
{
	for (struct line *l = shared->book; l < shared->book + BOOK_MAX; l++) {
		if (!*l->kind) {
			strcpy(l->kind, kind);
			strcpy(l->name, name);
			strcpy(l->reason, reason);
		}
		if (!strcmp(l->kind, kind) && !strcmp(l->name, name) && !strcmp(l->reason, reason))
			return l;
	}
	abort();
}

/* Counts the result of a call; errno is its error. */
static long book(const char *kind, const char *name, long result)
{
	const char *reason = result < 0 ? strerrorname_np(errno) : "-";
	struct line *l;

	pthread_mutex_lock(&shared->lock);
	l = line_of(kind, name, reason);
	l->rows++;
	l->bytes += result > 0 ? result : 0;
	pthread_mutex_unlock(&shared->lock);
	return result;
}

/* Counts both sides. */
static long book_move(const char *from, const char *to, long result)
{
	if (from)
		book(READ, from, result);
	if (to)
		book(WRITE, to, result);
	return result;
}

static void write_report(void)
{
	FILE *f = fopen("report", "w");

	check(f, "report");
	for (const struct line *l = shared->book; l < shared->book + BOOK_MAX && *l->kind; l++)
		fprintf(f, "%s %s %s %ld %ld\n", l->kind, l->name, l->reason, l->rows, l->bytes);
	fclose(f);
}

#endif
