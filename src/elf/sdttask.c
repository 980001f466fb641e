// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/sdttask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "elf/remotefile.h"

#define BLOCK_MAX (64u << 20) /* bytes; the largest section of notes becomes fewer */

struct sdt_block_note {
	uint64_t pc, semaphore;
	uint32_t provider, name, args, zero; /* positions in the texts */
};

/* All notes of a file. The texts follow, and end with a NUL. */
struct sdt_block {
	uint64_t cnt;
	struct sdt_block_note notes[];
};

/* ---- making a block -----------------------------------------------------------------------------
 */

struct sdt_writing {
	struct buf notes, texts;
	uint64_t cnt;
};

static uint32_t sdt_text(struct buf *texts, const char *text)
{
	uint32_t at = (uint32_t)texts->sz;

	buf__append(texts, text, strlen(text) + 1);
	return at;
}

static int sdt_write(const struct sdt_note *n, void *arg)
{
	struct sdt_writing *w = arg;
	struct sdt_block_note note = { .pc = n->pc, .semaphore = n->semaphore };

	note.provider = sdt_text(&w->texts, n->provider);
	note.name = sdt_text(&w->texts, n->name);
	note.args = sdt_text(&w->texts, n->args);
	buf__append(&w->notes, &note, sizeof(note));
	w->cnt++;
	return buf__err(&w->texts);
}

/* Sets `*block`, which the caller frees. Returns 0, -ENOMEM, or an error of sdt__each(). */
static int sdt_block_make(const struct elf_file *f, struct buf *block)
{
	struct sdt_writing w = { .cnt = 0 };
	int err = sdt__each(f, sdt_write, &w);

	*block = (struct buf){ 0 };
	buf__u64(block, w.cnt);
	buf__append(block, w.notes.data, w.notes.sz);
	buf__append(block, w.texts.data, w.texts.sz);
	if (!err && (buf__err(&w.notes) || buf__err(block)))
		err = -ENOMEM;
	buf__free(&w.notes);
	buf__free(&w.texts);
	if (err)
		buf__free(block);
	return err;
}

/* ---- reading a block ----------------------------------------------------------------------------
 */

bool sdt_block__is_sound(const void *block, size_t sz)
{
	const struct sdt_block *b = block;
	size_t texts_sz;

	if (!b || sz < sizeof(*b) || b->cnt > (sz - sizeof(*b)) / sizeof(b->notes[0]))
		return false;
	texts_sz = sz - sizeof(*b) - b->cnt * sizeof(b->notes[0]);
	if (texts_sz && ((const char *)block)[sz - 1] != '\0')
		return false;
	for (size_t i = 0; i < b->cnt; i++) {
		const struct sdt_block_note *n = &b->notes[i];

		if (n->provider >= texts_sz || n->name >= texts_sz || n->args >= texts_sz)
			return false;
	}
	return true;
}

int sdt_block__each(const void *block, sdt_fn fn, void *arg)
{
	const struct sdt_block *b = block;
	const char *texts = (const char *)(b->notes + b->cnt);
	int err = 0;

	for (size_t i = 0; i < b->cnt && !err; i++) {
		const struct sdt_block_note *n = &b->notes[i];

		err = fn(&(struct sdt_note){ .provider = texts + n->provider,
					     .name = texts + n->name,
					     .args = texts + n->args,
					     .pc = n->pc,
					     .semaphore = n->semaphore },
			 arg);
	}
	return err;
}

static bool sdt_answer_is_sound(const void *answer, size_t sz, void *arg)
{
	(void)arg;
	return sdt_block__is_sound(answer, sz);
}

static int sdt_request(struct workers *w, const struct elf_file *f, void **block)
{
	const struct remote_file question = remote_file__of(f);
	const struct worker_request request = { .kind = TASK_NOTES,
						.owner = remote_file__owner(f),
						.path = f->path,
						.data = &question,
						.sz = sizeof(question),
						.fd = f->fd,
						.answer_max = BLOCK_MAX,
						.check = sdt_answer_is_sound };
	size_t sz;

	return workers__request(w, &request, block, &sz);
}

int sdt_task__each(struct workers *w, const struct elf_file *f, sdt_fn fn, void *arg)
{
	struct elf_attachment *kept = &((struct elf_file *)f)->slots[ELF_SLOT_NOTES];
	struct buf own = { 0 };
	int err = 0;

	if (!kept->data) {
		err = w ? sdt_request(w, f, &kept->data) : sdt_block_make(f, &own);
		kept->data = w ? kept->data : own.data;
		kept->free = free;
	}
	return err ? err : sdt_block__each(kept->data, fn, arg);
}

/* ---- in a worker --------------------------------------------------------------------------------
 */

static int sdt_answer(struct task *t, const struct remote_file *question, struct elf_file *f)
{
	struct buf block;
	int err = sdt_block_make(f, &block);

	(void)question;
	t->answer = block.data;
	t->answer_sz = block.sz;
	return err;
}

int sdt_task__run(struct task *t)
{
	struct remote_file question;

	return remote_file__answer(t, &question, sizeof(question), sdt_answer);
}
