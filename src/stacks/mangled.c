// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacks/mangled.h"

#include <string.h>

#include "base/strcopy.h"
#include "elf/remotefile.h"

/* Frames of one stack with mangled names, in files of one owner. */
struct mangled_frames {
	struct mangled_names *names;
	struct stack_job *job;
	struct name_owner owner;
	size_t next; /* index of the frame that gets the next name */
};

static bool mangled_frames_has(const struct mangled_frames *m, size_t i)
{
	const struct stack_frame *f = &m->job->frames[i];

	return f->mangled && remote_file__owner(f->file) == m->owner.id;
}

/* Collects names from a frame on, as many as fit. */
static void mangled_frames_collect(struct mangled_frames *m)
{
	struct name_batch *b = &m->names->batch;
	const char *raw;

	b->cnt = b->sz = 0;
	pthread_mutex_lock(m->names->lock);
	for (size_t i = m->next; i < m->job->cnt; i++) {
		struct stack_frame *f = &m->job->frames[i];

		if (!mangled_frames_has(m, i))
			continue;
		raw = elf_file__mangled(f->file, f->vaddr);
		if (!name_batch__add(b, raw ? raw : ""))
			break;
	}
	pthread_mutex_unlock(m->names->lock);
}

/* A readable_name_fn: names the next frame. */
static void mangled_frames_set(const char *readable, void *arg)
{
	struct mangled_frames *m = arg;
	struct stack_frame *f;

	while (!mangled_frames_has(m, m->next))
		m->next++;
	f = &m->job->frames[m->next++];
	f->mangled = false;
	pthread_mutex_lock(m->names->lock);
	elf_file__set_name(f->file, f->vaddr, readable);
	elf_file__known_symbol(f->file, f->vaddr, &f->symbol);
	pthread_mutex_unlock(m->names->lock);
}

/* The names stay as they are. */
static void mangled_frames_give_up(struct mangled_frames *m)
{
	const struct name_batch *b = &m->names->batch;
	char plain[SYMBOL_NAME_MAX];
	const char *at = b->text;

	for (size_t i = 0; i < b->cnt; i++, at += strlen(at) + 1) {
		symbol_name_plain(at, plain);
		mangled_frames_set(plain, m);
	}
}

/* Names frames of one owner, from that frame on. */
static void mangled_frames_name(struct mangled_names *names, struct stack_job *j, size_t first)
{
	const struct elf_file *f = j->frames[first].file;
	struct mangled_frames m = {
		.names = names, .job = j, .owner = { remote_file__owner(f), f->path }, .next = first
	};

	mangled_frames_collect(&m);
	if (name_task__ask(names->workers, &names->batch, m.owner, mangled_frames_set, &m))
		mangled_frames_give_up(&m);
}

void mangled_names__of_files(struct mangled_names *names, struct stack_job *j)
{
	for (size_t i = 0; i < j->cnt; i++)
		if (j->frames[i].mangled)
			mangled_frames_name(names, j, i);
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
		name_task__ask(names->workers, b, owner, mangled_copy, out);
}
