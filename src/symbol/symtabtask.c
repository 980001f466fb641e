// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/symtabtask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/remotefile.h"
#include "symbol/symtab_private.h"
#include "worker/memfile.h"

/* Bytes. The symbols of the largest browsers have 300 MB. */
#define BLOCK_MAX	    (1u << 30)
#define BLOCK_UNTRUSTED_MAX (256u << 20)

/* A table as one block:
 *	struct symtab_block       header
 *	uint8_t[]                 lines_sz: .lines_block, and zeros up to a multiple of 8
 *	uint64_t[]                map_cnt: .starts of the map
 *	struct symtab_function[]  function_cnt
 *	uint32_t[]                map_cnt: .owners of the map
 *	char[]                    raw_sz: names, with NULs
 */
struct symtab_block {
	uint64_t map_cnt, function_cnt, raw_sz, lines_sz;
};

#define PADDED(sz)  (((sz) + 7) & ~(uint64_t)7)
#define START_SZ    sizeof(uint64_t)
#define OWNER_SZ    sizeof(uint32_t)
#define FUNCTION_SZ sizeof(struct symtab_function)

/* Sets the table's parts to those in the block. */
static void symtab_point_into(struct symtab *t, const struct symtab_block *b)
{
	t->lines_block = (struct buf){ .data = (uint8_t *)(b + 1), .sz = b->lines_sz };
	t->map.cnt = b->map_cnt;
	t->map.starts = (uint64_t *)((uint8_t *)(b + 1) + PADDED(b->lines_sz));
	t->cnt = b->function_cnt;
	t->functions = (struct symtab_function *)(t->map.starts + b->map_cnt);
	t->map.owners = (uint32_t *)(t->functions + b->function_cnt);
	t->raw = (struct buf){ .data = (uint8_t *)(t->map.owners + b->map_cnt),
			       .sz = b->raw_sz,
			       .cap = b->raw_sz };
}

/* Returns 0 if the numbers are too large for a block. */
static uint64_t symtab_block_sz(const struct symtab_block *b)
{
	if (b->map_cnt > BLOCK_MAX || b->function_cnt > BLOCK_MAX || b->raw_sz > BLOCK_MAX ||
	    b->lines_sz > BLOCK_MAX)
		return 0;
	return sizeof(*b) + PADDED(b->lines_sz) + b->map_cnt * (START_SZ + OWNER_SZ) +
	       b->function_cnt * FUNCTION_SZ + b->raw_sz;
}

bool symtab_block__is_sound(const void *block, size_t sz)
{
	const struct symtab_block *b = block;
	struct symtab t = { 0 };

	if (sz < sizeof(*b) || symtab_block_sz(b) != sz || b->raw_sz == 0)
		return false;
	symtab_point_into(&t, b);
	if (t.lines_block.sz && !go_lines__open(&t.lines, t.lines_block.data, t.lines_block.sz))
		return false;
	if (t.raw.data[t.raw.sz - 1] != '\0')
		return false;
	for (size_t i = 0; i < t.cnt; i++)
		if (t.functions[i].raw >= t.raw.sz || t.functions[i].name)
			return false;
	for (size_t i = 0; i < t.map.cnt; i++)
		if ((t.map.owners[i] >= t.cnt && t.map.owners[i] != RANGE_NONE) ||
		    (i && t.map.starts[i] < t.map.starts[i - 1]))
			return false;
	return true;
}

struct symtab *symtab__of_block(void *block, size_t sz)
{
	struct symtab *t = symtab_block__is_sound(block, sz) ? calloc(1, sizeof(*t)) : NULL;

	if (!t)
		return NULL;
	t->names = strtab__new();
	if (!t->names) {
		free(t);
		return NULL;
	}
	symtab_point_into(t, block);
	if (t->lines_block.sz)
		go_lines__open(&t->lines, t->lines_block.data, t->lines_block.sz);
	t->block = block;
	return t;
}

struct symtab *symtab__empty(void)
{
	const struct symtab_block head = { .raw_sz = 1 };
	struct symtab_block *b = calloc(1, sizeof(*b) + 1);
	struct symtab *t;

	if (!b)
		return NULL;
	*b = head;
	t = symtab__of_block(b, sizeof(*b) + 1);
	if (!t)
		free(b);
	return t;
}

static bool symtab_check(const void *answer, size_t sz, void *arg)
{
	(void)arg;
	return symtab_block__is_sound(answer, sz);
}

struct symtab *symtab_task__request(struct workers *w, const struct elf_file *f, int *err)
{
	const struct remote_file file = remote_file__of(f);
	const struct worker_request request = { .kind = TASK_SYMBOLS,
						.owner = remote_file__owner(f),
						.path = f->path,
						.data = &file,
						.sz = sizeof(file),
						.fd = f->fd,
						.answer_max = f->trusted ? BLOCK_MAX
									 : BLOCK_UNTRUSTED_MAX,
						.open = debug_file__find_wanted,
						.check = symtab_check,
						.arg = (void *)f };
	struct symtab *t;
	void *block;
	size_t sz;

	*err = workers__request(w, &request, &block, &sz);
	if (*err)
		return NULL;
	t = symtab__of_block(block, sz);
	if (!t) {
		free(block);
		*err = -ENOMEM;
	}
	return t;
}

/* ---- in a worker --------------------------------------------------------------------------------
 */

/* Returns a file in memory, or -errno. */
static int symtab_to_file(const struct symtab *t)
{
	const struct symtab_block head = { t->map.cnt, t->cnt, t->raw.sz, t->lines_block.sz };
	static const uint8_t zeros[8];
	const struct memfile_part parts[] = {
		{ &head, sizeof(head) },
		{ t->lines_block.data, t->lines_block.sz },
		{ zeros, PADDED(t->lines_block.sz) - t->lines_block.sz },
		{ t->map.starts, t->map.cnt * START_SZ },
		{ t->functions, t->cnt * FUNCTION_SZ },
		{ t->map.owners, t->map.cnt * OWNER_SZ },
		{ t->raw.data, t->raw.sz },
	};

	return memfile__make(parts, sizeof(parts) / sizeof(*parts));
}

static int symtab_answer(struct task *task, const struct remote_file *question, struct elf_file *f)
{
	struct symtab *t = symtab__new(f);

	(void)question;
	task->answer_fd = t ? symtab_to_file(t) : -errno;
	symtab__free(t);
	return task->answer_fd < 0 ? task->answer_fd : 0;
}

int symtab_task__run(struct task *t)
{
	struct remote_file file;

	return remote_file__answer(t, &file, sizeof(file), symtab_answer);
}
