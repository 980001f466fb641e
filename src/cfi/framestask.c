// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/framestask.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cfi/libdwimage.h"
#include "elf/debugfile.h"
#include "elf/remotefile.h"
#include "elf/section.h"

/* Bytes: the three largest sections that libdw_image__make() takes, and their headers. */
#define FRAMES_MAX (193u << 20)

/* The request, as it is sent. */
struct frames_question {
	struct remote_file file;
	uint8_t separate;
};

bool frames_task__is_compressed(const struct elf_file *f)
{
	GElf_Shdr shdr;

	return section__named(f, ".zdebug_frame", &shdr) ||
	       (section__named(f, ".debug_frame", &shdr) && (shdr.sh_flags & SHF_COMPRESSED)) ||
	       (section__named(f, ".eh_frame", &shdr) && (shdr.sh_flags & SHF_COMPRESSED)) ||
	       (section__named(f, ".eh_frame_hdr", &shdr) && (shdr.sh_flags & SHF_COMPRESSED));
}

/* Opens a copy of the answer. Nothing of it may be compressed: libelf would decompress it here. */
static struct elf_file *frames_open(const void *answer, size_t sz, const struct elf_file *file)
{
	void *copy = malloc(sz);
	struct elf_file *f;

	if (!copy)
		return NULL;
	memcpy(copy, answer, sz);
	f = elf_file__from_memory(copy, sz, file->path);
	if (f && !frames_task__is_compressed(f) && f->machine == file->machine) {
		f->trusted = file->trusted;
		return f;
	}
	elf_file__put(f);
	return NULL;
}

static bool frames_are_sound(const void *answer, size_t sz, void *arg)
{
	struct elf_file *f = answer ? frames_open(answer, sz, arg) : NULL;

	elf_file__put(f);
	return f;
}

struct elf_file *frames_task__request(struct workers *w, const struct elf_file *file,
				      enum frames_source source)
{
	const struct frames_question question = { .file = remote_file__of(file),
						  .separate = source == FRAMES_SEPARATE };
	const struct worker_request request = { .kind = TASK_FRAMES,
						.owner = remote_file__owner(file),
						.path = file->path,
						.data = &question,
						.sz = sizeof(question),
						.fd = file->fd,
						.answer_max = FRAMES_MAX,
						.open = debug_file__find_wanted,
						.check = frames_are_sound,
						.arg = (void *)file };
	struct elf_file *f;
	void *answer;
	size_t sz;
	int err = workers__request(w, &request, &answer, &sz);

	if (err)
		return errno = -err, NULL;
	f = frames_open(answer, sz, file);
	free(answer);
	if (!f)
		errno = ENOMEM;
	return f;
}

/* ---- in a worker --------------------------------------------------------------------------------
 */

static int frames_answer(struct task *t, const struct remote_file *question, struct elf_file *f)
{
	const struct frames_question *q = (const void *)question;
	struct buf out = { 0 };
	struct libdw_image image;
	int err;

	if (!f->machine)
		return -ENOENT;
	err = q->separate ? libdw_image__make_separate(&image, f) : libdw_image__make(&image, f, f);
	if (!err)
		err = libdw_image__write(&image, f->machine, &out);
	libdw_image__free(&image);
	t->answer = out.data;
	t->answer_sz = out.sz;
	return err;
}

int frames_task__run(struct task *t)
{
	struct frames_question q;

	return remote_file__answer(t, &q.file, sizeof(q), frames_answer);
}
