/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a worker does: functions that run in the sandbox. */
#ifndef WORKER_TASK_H
#define WORKER_TASK_H

#include <stddef.h>
#include <stdint.h>

/* Requests, by number. A program has a table of functions for those that it makes. */
enum task_kind {
	TASK_TABLE,	 /* cfi/tabletask.h */
	TASK_SYMBOLS,	 /* symbol/symtabtask.h */
	TASK_NAMES,	 /* symbol/nametask.h */
	TASK_CODE,	 /* jit/codetask.h */
	TASK_IMAGES,	 /* jit/gdblisttask.h */
	TASK_FRAMES,	 /* cfi/framestask.h */
	TASK_ADDRESSES,	 /* elf/addresstask.h */
	TASK_NOTES,	 /* elf/sdttask.h */
	TASK_ALLOCATORS, /* capture/alloctask.h */
	TASK_SCAN,	 /* cfi/scantask.h */
	TASK_CNT
};

/* A request in a worker. */
struct task {
	const void *request; /* as the program sent it */
	size_t request_sz;
	int fd; /* of the file that the request is about, or -1. The function may set it to -1 and
		   take it; else it is closed */
	int socket;   /* private */
	void *answer; /* set by the function: malloc()ed, of `answer_sz` bytes; or NULL */
	size_t answer_sz;
	int answer_fd; /* or set to that of memfile__make(), which is then closed; -1: none */
};

/* Answers a request. Returns 0 or -errno, which becomes the result of workers__request(). */
typedef int (*task_fn)(struct task *);

/* Asks the program for another file. Returns its descriptor, or -errno. */
int task__want(struct task *, const void *what, size_t sz);

/* Answers requests from the socket until the other side closes it. */
void task__serve(int socket, const task_fn functions[TASK_CNT]);

#endif
