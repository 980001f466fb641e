/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of a recording. The collector writes as root into places where others may write, so
 * every step is relative to an open folder, a symbolic link is followed only when root, the caller
 * or the owner made it, and a new file is never one that was there before. A folder that another
 * user owns or may write to is refused: that user could read, replace or forge batches.
 */
#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/path.h"

struct folder {
	int fd;			 /* locked against other writers; -1: not open */
	int parent;		 /* in which it was made under a number; -1: it was not */
	char *path;		 /* for people */
	struct path_owner owner; /* who gets what is made here */
	uint32_t next;		 /* number of the next batch */
	bool removed;		 /* by folder__remove_empty() */
};

/* Files of a batch, in the order in which they get their names. */
enum folder_file { FOLDER_STACKTRACES, FOLDER_EVENTS, FOLDER_FILE_CNT };

#define FOLDER_NAME_MAX 48

struct folder_options {
	const char *dir, *root; /* dir NULL: the next number below root */
	bool append;		/* dir may hold a recording already */
	bool force;		/* take a folder that somebody else owns or may write to */
	struct path_owner owner;
};

/*
 * Makes or opens the folder and removes what a killed recording left unfinished. Returns 0 or
 * -errno (already logged), -EPERM if another user than root and the owner could replace what is
 * recorded there and `force` is not set. Call folder__close() in either case.
 */
int folder__open(struct folder *, const struct folder_options *);
/* Removes a folder that was made under a number and is empty: the newest recording is to be one.
 * True: it is gone. */
bool folder__remove_empty(struct folder *);
/*
 * Limits the calling thread to writing into the folder: it acts as the folder's owner, and keeps no
 * capability that it does not need to give files away.
 */
void folder__limit_writer(const struct folder *);
void folder__close(struct folder *);

/* Final name of a batch's file; with ".tmp" behind it while it is written. */
void folder__name(char name[FOLDER_NAME_MAX], enum folder_file, uint32_t batch);

/* A new file to write a batch to: an fd or -errno; a leftover of that name is replaced. */
int folder__create(const struct folder *, enum folder_file, uint32_t batch);
/* Gives the file its final name. 0 or -errno. */
int folder__publish(const struct folder *, enum folder_file, uint32_t batch);
/* Removes the unfinished file, if there is one. */
void folder__discard(const struct folder *, enum folder_file, uint32_t batch);

#endif
