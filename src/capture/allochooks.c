// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/allochooks.h"

#include <errno.h>

#include "bpf/allocations.h"
#include "bpf/config.h"
#include "capture/uprobes.h"
#include "collector.skel.h"

/* A program, and to which functions of a file it is attached. */
struct alloc_hook {
	const struct bpf_program *prog;
	enum uprobes_when when;
	bool frees;
};

static int allochooks_add(struct uprobes *u, const struct alloc_file *file,
			  const struct alloc_hook *hook)
{
	struct uprobe_places p = { .when = hook->when, .tgid = file->own };
	int err;

	for (size_t i = 0; i < file->functions->cnt; i++) {
		const struct alloc_function *fn = &file->functions->at[i];
		uint64_t call = fn->cookie & ALLOC_COOKIE_CALL;

		if (hook->frees ? call < ALLOC_REALLOC : call == ALLOC_FREE)
			continue;
		buf__u64(&p.pc_offs, fn->off);
		buf__u64(&p.semaphore_offs, 0);
		buf__u64(&p.cookies, fn->cookie | (file->own ? ALLOC_COOKIE_OWN : 0));
	}
	err = buf__err(&p.pc_offs) || buf__err(&p.semaphore_offs) || buf__err(&p.cookies);
	err = err	     ? -ENOMEM
	      : p.pc_offs.sz ? uprobes__add(u, hook->prog, file->elf->path, file->elf->fd, &p)
			     : 0;
	buf__free(&p.pc_offs);
	buf__free(&p.semaphore_offs);
	buf__free(&p.cookies);
	return err;
}

/* In this order: a block of which the allocation is seen is also seen when it is freed. */
int alloc_hooks__add(struct uprobes *u, const struct alloc_file *file)
{
	const struct alloc_hook session[] = {
		{ file->skel->progs.alloc__any__free, UPROBES_AT, true },
		{ file->skel->progs.alloc__session__call, UPROBES_SESSION, false },
		{ .prog = NULL },
	};
	const struct alloc_hook pair[] = {
		{ file->skel->progs.alloc__any__free, UPROBES_AT, true },
		{ file->skel->progs.alloc__pair__return, UPROBES_RETURN, false },
		{ file->skel->progs.alloc__pair__enter, UPROBES_AT, false },
		{ .prog = NULL },
	};
	int err = 0;

	for (const struct alloc_hook *h = file->session ? session : pair; h->prog && !err; h++)
		err = allochooks_add(u, file, h);
	return err;
}
