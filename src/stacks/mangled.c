// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacks/mangled.h"

#include <string.h>

#include "base/strcopy.h"
#include "elf/remotefile.h"

#define ASKED_MAX 256 /* names in one request */

/* Frames of some stacks with mangled names, in files of one owner. */
struct mangled_frames {
	struct mangled_names *names;
	struct stack_job *const *jobs;
	size_t cnt;
	struct name_owner owner;
	/* The frames of the request, one for each name, and their names in the symbol tables. */
	const struct stack_frame *asked[ASKED_MAX];
	const char *raw[ASKED_MAX];
	size_t asked_cnt, next; /* next: gets the next readable name */
};

typedef bool (*mangled_frame_fn)(struct mangled_frames *, struct stack_frame *);

/* Calls fn for each frame until it returns false. */
static void mangled_frames_each(struct mangled_frames *m, mangled_frame_fn fn)
{
	pthread_mutex_lock(m->names->lock);
	for (size_t j = 0; j < m->cnt; j++)
		for (size_t i = 0; i < m->jobs[j]->cnt; i++) {
			struct stack_frame *f = &m->jobs[j]->frames[i];

			if (f->mangled && remote_file__owner(f->file) == m->owner.id && !fn(m, f))
				goto out;
		}
out:
	pthread_mutex_unlock(m->names->lock);
}

static bool mangled_frames_has(const struct mangled_frames *m, const char *raw)
{
	for (size_t i = 0; i < m->asked_cnt; i++)
		if (m->raw[i] == raw)
			return true;
	return false;
}

/* Adds a name to the request. Returns false if there is no room. */
static bool mangled_frame_collect(struct mangled_frames *m, struct stack_frame *f)
{
	const char *raw = elf_file__mangled(f->file, f->vaddr);

	if (!raw || mangled_frames_has(m, raw))
		return true;
	if (m->asked_cnt == ASKED_MAX || !name_batch__add(&m->names->batch, raw))
		return false;
	m->raw[m->asked_cnt] = raw;
	m->asked[m->asked_cnt++] = f;
	return true;
}

/* A readable_name_fn. */
static void mangled_frames_set(const char *readable, void *arg)
{
	struct mangled_frames *m = arg;
	const struct stack_frame *f = m->asked[m->next++];

	pthread_mutex_lock(m->names->lock);
	elf_file__set_name(f->file, f->vaddr, readable);
	pthread_mutex_unlock(m->names->lock);
}

/* The names stay as they are. */
static void mangled_frames_give_up(struct mangled_frames *m)
{
	char plain[SYMBOL_NAME_MAX];

	while (m->next < m->asked_cnt) {
		symbol_name_plain(m->raw[m->next], plain);
		mangled_frames_set(plain, m);
	}
}

/* Names a frame if its symbol has a readable name now. */
static bool mangled_frame_name(struct mangled_frames *m, struct stack_frame *f)
{
	(void)m;
	f->mangled = elf_file__mangled(f->file, f->vaddr);
	if (!f->mangled)
		elf_file__known_symbol(f->file, f->vaddr, &f->symbol);
	return true;
}

/* Names the frame, and others of the owner with it. */
static void mangled_frames_request(struct mangled_names *names, struct stack_job *const *jobs,
				   size_t cnt, struct stack_frame *first)
{
	struct mangled_frames m = {
		.names = names,
		.jobs = jobs,
		.cnt = cnt,
		.owner = { remote_file__owner(first->file), first->file->path },
	};

	names->batch.cnt = names->batch.sz = 0;
	mangled_frames_each(&m, mangled_frame_collect);
	if (m.asked_cnt &&
	    name_task__request(names->workers, &names->batch, m.owner, mangled_frames_set, &m))
		mangled_frames_give_up(&m);
	mangled_frames_each(&m, mangled_frame_name);
	first->mangled = false; /* a name that fits no request */
}

void mangled_names__of_files(struct mangled_names *names, struct stack_job *const *jobs, size_t cnt)
{
	for (size_t j = 0; j < cnt; j++)
		for (size_t i = 0; i < jobs[j]->cnt; i++)
			if (jobs[j]->frames[i].mangled)
				mangled_frames_request(names, jobs, cnt, &jobs[j]->frames[i]);
}

bool mangled_names__has_any(const struct stack_job *j)
{
	for (size_t i = 0; i < j->cnt; i++)
		if (j->frames[i].mangled)
			return true;
	return false;
}

#define OWNER_PROCESS (1ull << 63)

static void mangled_copy(const char *readable, void *arg)
{
	str__copy(arg, SYMBOL_NAME_MAX, readable);
}

void mangled_names__of_process(struct mangled_names *names, uint32_t tgid, const char *raw,
			       char out[SYMBOL_NAME_MAX])
{
	const struct name_owner owner = { OWNER_PROCESS | tgid, "names of JIT code" };
	struct name_batch *b = &names->batch;

	if (!names->workers) {
		symbol_name(raw, out);
		return;
	}
	b->cnt = b->sz = 0;
	symbol_name_plain(raw, out);
	if (symbol_name_is_mangled(raw) && name_batch__add(b, raw))
		name_task__request(names->workers, b, owner, mangled_copy, out);
}
