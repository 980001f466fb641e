// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of three processes with the C library's code that change a little between walks: cached
 * callers must not change any walk. A byte selects the next step: another word, other registers,
 * another part of the stack, or a walk.
 */
#include "fuzz.h"

#include <string.h>

#include "base/cursor.h"
#include "unwind/unwinder.h"

#define LIBC	   "/lib/x86_64-linux-gnu/libc.so.6"
#define TEXT	   0x7f0000000000u /* address of its code */
#define STACK	   0x7ffd00001000u
#define WORDS	   64
#define PROCESSES  3
#define OTHER_PART 248 /* and the three after it: the snapshot has another part */

static struct scene {
	struct jobs *jobs;
	struct unwinder *unwinder;
	struct mapping maps[PROCESSES];
	struct process processes[PROCESSES];
	uint64_t words[WORDS], regs[17];
	uint64_t stack;	 /* the words */
	size_t from, sz; /* bytes of them in the snapshot */
	struct trace with, without;
} * scene; /* for all inputs: state of one input remains for the next */

static void open_code(struct mapping *m)
{
	struct elf_file *f = elf_file__open(LIBC);

	FUZZ_CHECK(f);
	for (size_t i = 0; i < f->segment_cnt; i++)
		if (f->segments[i].flags & 1) /* PF_X */
			*m = (struct mapping){ .start = TEXT,
					       .end = TEXT + f->segments[i].sz,
					       .pgoff = f->segments[i].off,
					       .kind = MAPPING_FILE,
					       .file = f };
}

static void free_scene(void)
{
	jobs__free(scene->jobs);
	unwinder__free(scene->unwinder);
	elf_file__put(scene->maps[0].file);
	free(scene);
}

static struct scene *new_scene(void)
{
	struct scene *s = calloc(1, sizeof(*s));

	FUZZ_CHECK(s);
	s->jobs = jobs__new();
	s->unwinder = unwinder__new(NULL, s->jobs);
	FUZZ_CHECK(s->unwinder);
	open_code(&s->maps[0]);
	for (size_t i = 0; i < PROCESSES; i++) {
		s->maps[i] = s->maps[0];
		s->processes[i] = (struct process){
			.tgid = 1, .maps = &s->maps[i], .map_cnt = 1, .version = i + 1
		};
	}
	atexit(free_scene);
	return s;
}

/* Returns mostly plausible words: an address in the code, or in the stack. */
static uint64_t take_word(const struct scene *s, struct cursor *in)
{
	uint8_t how = cursor__u8(in);
	uint64_t at = cursor__u32(in);

	if (how < 128)
		return TEXT + at % (s->maps[0].end - TEXT);
	return how < 240 ? s->stack + at % (WORDS * 8) : how < 248 ? 0 : cursor__u64(in);
}

static void change_word(struct scene *s, struct cursor *in)
{
	uint8_t at = cursor__u8(in) % WORDS;

	s->words[at] = take_word(s, in);
}

static void change_register(struct scene *s, struct cursor *in)
{
	static const uint8_t numbers[] = { 6, 7, 16 }; /* rbp, rsp, rip */
	uint8_t at = cursor__u8(in) % 3;

	s->regs[numbers[at]] = take_word(s, in);
}

/* Its end may wrap around the address space. */
static void change_stack(struct scene *s, struct cursor *in)
{
	static const uint64_t places[] = { STACK, STACK, STACK, 0 - WORDS * 4ull };

	s->stack = places[cursor__u8(in) % 4];
	s->from = cursor__u8(in) % WORDS * sizeof(*s->words);
	s->sz = cursor__u16(in) % (sizeof(s->words) - s->from + 1);
}

static void check(const struct trace *a, const struct trace *b)
{
	FUZZ_CHECK(a->status == b->status && a->cnt == b->cnt);
	for (size_t i = 0; i < a->cnt; i++)
		FUZZ_CHECK(a->frames[i].pc == b->frames[i].pc &&
			   a->frames[i].sp == b->frames[i].sp &&
			   a->frames[i].map == b->frames[i].map &&
			   a->frames[i].flags == b->frames[i].flags &&
			   a->frames[i].source == b->frames[i].source);
}

static void walk(struct scene *s, struct cursor *in)
{
	struct process *p = &s->processes[cursor__u8(in) % PROCESSES], nobody = *p;
	uint8_t *bytes = malloc(s->sz + 1); /* reads past its end are detected */
	struct sample sample = {
		.machine = &machine_x86_64,
		.regs = s->regs,
		.valid = (1u << 17) - 1,
		.stack = { .addr = s->stack + s->from, .sz = s->sz, .bytes = bytes + 1 },
	};

	FUZZ_CHECK(bytes);
	memcpy(bytes + 1, (uint8_t *)s->words + s->from, s->sz);
	nobody.version = 0;
	unwinder__walk(s->unwinder, &nobody, &sample, &s->without);
	unwinder__walk(s->unwinder, p, &sample, &s->with);
	check(&s->with, &s->without);
	free(bytes);
}

static void act(struct scene *s, struct cursor *in)
{
	static void (*const acts[])(struct scene *, struct cursor *) = {
		walk, walk, change_word, change_word, change_word, change_register
	};
	uint8_t how = cursor__u8(in);

	if (how / 4 == OTHER_PART / 4)
		change_stack(s, in);
	else
		acts[how % 6](s, in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	struct cursor in = cursor__on(data, sz);

	if (!scene)
		scene = new_scene();
	memset(scene->words, 0, sizeof(scene->words));
	scene->stack = scene->regs[7] = STACK;
	scene->from = 0;
	scene->sz = sizeof(scene->words);
	scene->regs[16] = TEXT;
	while (!in.err && cursor__left(&in) > 0)
		act(scene, &in);
	return 0;
}
