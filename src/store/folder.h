/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of a recording. The collector writes as root into folders in which other users may
 * write. Therefore every step is relative to an open folder, a symbolic link is followed only if
 * root, the caller or the owner created it, and a new file never replaces an existing one. A folder
 * that another user owns or may write to is refused: that user could read, replace or forge
 * batches.
 */
#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/path.h"

struct folder {
	int fd;			 /* locked against other writers; -1: not open */
	int parent;		 /* the folder in which it was created under a number; -1: none */
	char *path;		 /* for messages */
	struct path_owner owner; /* gets everything that is created here */
	uint32_t next;		 /* number of the next batch */
	bool removed;		 /* by folder__remove_empty() */
};

/* Files of a batch, in the order in which they get their names. */
enum folder_file { FOLDER_STACKTRACES, FOLDER_PROCESSES, FOLDER_EVENTS, FOLDER_FILE_CNT };

#define FOLDER_NAME_MAX 48

struct folder_options {
	const char *dir, *root; /* dir NULL: the next number under root */
	bool append;		/* dir may have a recording already */
	bool force;		/* accept a folder that another user owns or may write to */
	struct path_owner owner;
};

/*
 * Creates or opens the folder and removes incomplete files of a killed recording. Returns 0 or
 * -errno (already logged), -EPERM if a user other than root and the owner could replace the
 * recording and `force` is not set. Call folder__close() in both cases.
 */
int folder__open(struct folder *, const struct folder_options *);
/* Removes a folder that was created under a number and is empty, so that the newest folder is a
 * recording. Returns true if it is gone. */
bool folder__remove_empty(struct folder *);
/*
 * Limits the calling thread to writing into the folder: it acts as the folder's owner, and keeps
 * only the capabilities that it needs to change the owner of files.
 */
void folder__limit_writer(const struct folder *);
void folder__close(struct folder *);

/* Sets the final name of a batch's file; while it is written, it has ".tmp" appended. */
void folder__name(char name[FOLDER_NAME_MAX], enum folder_file, uint32_t batch);

/* Calls `fn` with the number of each batch that has a file of events. Returns 0 or -errno. */
int folder__each_batch(const struct folder *, void (*fn)(uint32_t batch, void *arg), void *arg);

/* Creates the file of a batch, and replaces an incomplete file of that name. Returns a descriptor
 * or -errno. */
int folder__create(const struct folder *, enum folder_file, uint32_t batch);
/* Gives the file its final name. Returns 0 or -errno. */
int folder__publish(const struct folder *, enum folder_file, uint32_t batch);
/* Removes the incomplete file, if there is one. */
void folder__discard(const struct folder *, enum folder_file, uint32_t batch);

#endif
