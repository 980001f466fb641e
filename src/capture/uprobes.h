/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attaches programs to places in files, and detaches them, in a thread. The kernel does both under
 * the lock of each address space that maps the file, and meanwhile no process of the machine can
 * fork (register_for_each_vma(), dup_mmap_sem). A process can hold its lock for any time. So the
 * thread waits until no process holds its lock before it asks the kernel.
 */
#ifndef CAPTURE_UPROBES_H
#define CAPTURE_UPROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* include/uapi/linux/bpf.h: BPF_TRACE_UPROBE_MULTI from 6.6 on, BPF_TRACE_UPROBE_SESSION from 6.13
 * on
 */
#define UPROBES_ATTACH_MULTI   48
#define UPROBES_ATTACH_SESSION 57

struct bpf_link;
struct bpf_program;
struct uprobes;

/* When the program runs. */
enum uprobes_when {
	UPROBES_AT,	 /* at the place */
	UPROBES_RETURN,	 /* when the function returns that begins there */
	UPROBES_SESSION, /* at both, if the program answers the first one with 0; only with `multi`
			  */
};

/* The places of one program in one file: arrays of __u64, as the kernel takes them. */
struct uprobe_places {
	struct buf pc_offs, semaphore_offs, cookies;
	enum uprobes_when when;
	uint32_t tgid; /* only in this process, which needs `multi`; 0: in all */
};

/* `multi`: the kernel attaches a program to many places at a time. `source` (usdt, alloc) is for
 * messages. Returns NULL and sets errno. */
struct uprobes *uprobes__new(bool multi, const char *source);
/* Takes the contents of `places`. `path` names the file in messages; `fd` is duplicated. The
 * program must live as long as the uprobes. Returns 0 or -errno. */
int uprobes__add(struct uprobes *, const struct bpf_program *, const char *path, int fd,
		 struct uprobe_places *places);
/*
 * Attaches in the order of uprobes__add(). Waits at most 2 s, then warns and returns 0; the thread
 * continues. `locked` is an iterator that writes the id (__u32) of each process that holds the
 * lock of its address space. If it is NULL, the thread does not wait for locks. Returns 0 or -errno
 * (already logged).
 */
int uprobes__attach(struct uprobes *, const struct bpf_link *locked);
/* Begins to detach and does not wait. The kernel detaches several in the time of one. */
void uprobes__stop(struct uprobes *);
/* Begins to detach and waits half a second. Returns false if the kernel has not detached by then.
 * Accepts NULL. */
bool uprobes__detach(struct uprobes *);
/* Detaches; waits for the kernel without a limit. Accepts NULL. */
void uprobes__free(struct uprobes *);

#endif
