// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs of AArch64, before each of their instructions, as an emulator recorded them
 * (tests/aarch64). src/unwind/unwinder.c walks every stack to its root through exactly the open
 * calls.
 */
#include "lib/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "unwind/unwinder.h"

#define CALLS_MAX 64
#define LINE_MAX_ 65536

enum { LR = 30, SP = 31, PC = 32 };
#define KNOWN (((1ull << 33) - 1) & ~((1ull << 19) - 1)) /* x19 … x30, sp, pc */

struct call {
	uint64_t pc;
	bool interrupted;
};

struct replay {
	FILE *steps;
	struct elf_file *file;
	struct mapping map;
	struct process process;
	struct jobs *jobs;
	struct unwinder *unwinder;
	struct trace *trace;
	uint64_t top;	/* end of the stack */
	uint8_t *stack; /* the SNAPSHOT bytes below the top */
	uint64_t regs[33];
	struct call calls[CALLS_MAX];
	size_t call_cnt;
	size_t line, walks, in_signals;
};

#define STACK_SZ (1u << 20)

static struct replay *replay__new(const char *name)
{
	struct replay *r = calloc(1, sizeof(*r));
	char path[128];

	snprintf(path, sizeof(path), "tests/aarch64/%s.elf", name);
	r->file = elf_file__open(path);
	assert_non_null(r->file);
	assert_ptr_equal(r->file->machine, &machine_aarch64);
	snprintf(path, sizeof(path), "tests/aarch64/%s.steps", name);
	r->steps = fopen(path, "r");
	assert_non_null(r->steps);
	assert_int_equal(fscanf(r->steps,
				"top %" SCNx64 "\nmap %" SCNx64 " %" SCNx64 " %" SCNx64 "%*[\n]",
				&r->top, &r->map.start, &r->map.end, &r->map.pgoff),
			 4);
	r->map.kind = MAPPING_FILE;
	r->map.file = r->file;
	r->process = (struct process){ .tgid = 1, .maps = &r->map, .map_cnt = 1 };
	r->jobs = jobs__new();
	r->unwinder = unwinder__new(NULL, r->jobs);
	r->trace = malloc(sizeof(*r->trace));
	r->stack = calloc(1, STACK_SZ);
	assert_true(r->unwinder && r->trace && r->stack);
	return r;
}

static void replay__free(struct replay *r)
{
	jobs__free(r->jobs);
	unwinder__free(r->unwinder);
	elf_file__put(r->file);
	fclose(r->steps);
	free(r->trace);
	free(r->stack);
	free(r);
}

static void replay__open_call(struct replay *r, uint64_t pc, bool interrupted)
{
	assert_in_range(r->call_cnt, 0, CALLS_MAX - 1);
	r->calls[r->call_cnt++] = (struct call){ pc, interrupted };
}

/* Applies one word of a line; record.py defines its meaning. */
static void replay__change(struct replay *r, const char *word)
{
	char *end;
	uint64_t a = strtoull(word + 1, &end, word[0] == 'r' ? 10 : 16);
	uint64_t value = *end == '=' ? strtoull(end + 1, NULL, 16) : 0;

	switch (word[0]) {
	case 'p': r->regs[PC] = a; break;
	case 'r': r->regs[a] = value; break;
	case 'w': memcpy(r->stack + STACK_SZ - a, &value, sizeof(value)); break;
	case '+': replay__open_call(r, a, false); break;
	case '!': replay__open_call(r, a, true); break;
	case '-': r->call_cnt--; break;
	default: fail_msg("line %zu: %s", r->line, word);
	}
}

static bool replay__next(struct replay *r)
{
	static char line[LINE_MAX_];
	char *rest = line, *word;

	if (!fgets(line, sizeof(line), r->steps))
		return false;
	r->line++;
	r->regs[PC] += 4;
	while ((word = strtok_r(rest, " \n", &rest)))
		replay__change(r, word);
	return true;
}

/* The innermost call is the trace's second frame; the trampoline of a signal is a frame of its own.
 */
static bool replay__agrees(const struct replay *r)
{
	const struct trace *t = r->trace;

	if (t->status != UNWIND_ROOT || t->cnt != r->call_cnt + 1 ||
	    t->frames[0].pc != r->regs[PC] || t->frames[0].sp != r->regs[SP])
		return false;
	for (size_t i = 1; i < t->cnt; i++) {
		const struct call *c = &r->calls[r->call_cnt - i];
		uint32_t flags = t->frames[i].flags;

		if (t->frames[i].pc != c->pc || (c->interrupted && flags != 0) ||
		    (c->interrupted && t->frames[i - 1].flags != FRAME_SIGNAL))
			return false;
	}
	return true;
}

static void replay__print(const struct replay *r, const char *title)
{
	fprintf(stderr, "%s, step %zu: status %d\n", title, r->line, r->trace->status);
	for (size_t i = 0; i < r->trace->cnt; i++)
		fprintf(stderr, "  %" PRIx64 " sp %" PRIx64 " flags %x source %u\n",
			r->trace->frames[i].pc, r->trace->frames[i].sp, r->trace->frames[i].flags,
			r->trace->frames[i].source);
	fprintf(stderr, "open calls:\n");
	for (size_t i = r->call_cnt; i-- > 0;)
		fprintf(stderr, "  %" PRIx64 "\n", r->calls[i].pc);
}

static void replay__walk(struct replay *r, const char *title)
{
	uint64_t sp = r->regs[SP] & ~7ull, sz = r->top - sp;
	struct sample s = { .machine = &machine_aarch64,
			    .regs = r->regs,
			    .valid = KNOWN,
			    .stack = { .addr = sp, .sz = sz, .bytes = r->stack + STACK_SZ - sz } };

	unwinder__walk(r->unwinder, &r->process, &s, r->trace);
	if (!replay__agrees(r)) {
		replay__print(r, title);
		fail();
	}
	r->walks++;
	for (size_t i = 0; i < r->call_cnt; i++)
		r->in_signals += r->calls[i].interrupted;
}

/* First without tables, then with them. */
static void replay(const char *name)
{
	struct unwinder_stats stats;

	for (int tables = 0; tables < 2; tables++) {
		struct replay *r = replay__new(name);

		while (replay__next(r)) {
			replay__walk(r, tables ? "by tables" : "by libdw");
			if (tables)
				assert_true(jobs__wait(r->jobs, 60000000000));
		}
		assert_in_range(r->walks, 700, 5000);
		assert_in_range(r->in_signals, 50, 2000);
		unwinder__stats(r->unwinder, &stats);
		if (tables)
			assert_true(stats.flat > r->walks * 99 / 100);
		replay__free(r);
	}
}

static void plain_code_is_walked(void **state)
{
	(void)state;
	replay("plain");
}

/* Return addresses are signed with PAuth. */
static void signed_code_is_walked(void **state)
{
	(void)state;
	replay("signed");
}

static void code_without_frame_pointers_is_walked(void **state)
{
	(void)state;
	replay("no_frame_pointer");
}

/* With the other key, also in leaves. */
static void signed_leaves_are_walked(void **state)
{
	(void)state;
	replay("signed_leaves");
}

/* ---- without call-frame information ---- */

#define JIT	  0x7e0000000000u
#define FAR_AWAY  (1ull << 50) /* an address that a process gets only on request */
#define STACK	  0xffffd0000000u
#define SIGNATURE 0x002a000000000000u

enum { FP = 29 };

struct jit_code {
	struct mapping map;
	struct process process;
	struct unwinder *unwinder;
	struct trace trace;
	uint64_t words[16], regs[33];
	struct sample sample;
};

/* A leaf at `base` + 0x100 that has called nothing, and two callers with frames. */
static struct jit_code *jit_code__new(uint64_t base)
{
	struct jit_code *j = calloc(1, sizeof(*j));

	assert_non_null(j);
	j->map = (struct mapping){ .start = base, .end = base + 4096, .kind = MAPPING_ANON };
	j->process = (struct process){ .tgid = 1, .maps = &j->map, .map_cnt = 1 };
	j->unwinder = unwinder__new(NULL, NULL);
	assert_non_null(j->unwinder);
	j->words[2] = STACK + 48;
	j->words[3] = (base + 0x300) | SIGNATURE;
	j->words[7] = base + 0x400;
	j->regs[PC] = base + 0x100;
	j->regs[SP] = STACK;
	j->regs[FP] = STACK + 16;
	j->regs[LR] = (base + 0x200) | SIGNATURE;
	j->sample = (struct sample){ .machine = &machine_aarch64,
				     .regs = j->regs,
				     .valid = KNOWN,
				     .stack = { .addr = STACK,
						.sz = sizeof(j->words),
						.bytes = (const uint8_t *)j->words } };
	return j;
}

static void jit_code__free(struct jit_code *j)
{
	unwinder__free(j->unwinder);
	free(j);
}

static void jit_code__check(struct jit_code *j, const uint64_t *offs, size_t cnt)
{
	unwinder__walk(j->unwinder, &j->process, &j->sample, &j->trace);
	assert_int_equal(j->trace.status, UNWIND_ROOT);
	assert_int_equal(j->trace.cnt, cnt);
	for (size_t i = 0; i < cnt; i++)
		assert_int_equal(j->trace.frames[i].pc, j->map.start + offs[i]);
}

static void a_leaf_of_jit_code_returns_to_the_link_register(void **state)
{
	static const uint64_t offs[] = { 0x100, 0x200, 0x300, 0x400 };
	struct jit_code *j = jit_code__new(JIT);

	(void)state;
	jit_code__check(j, offs, 4);
	assert_int_equal(j->trace.frames[1].source, FRAME_BY_RETURN_ADDRESS);
	assert_int_equal(j->trace.frames[1].sp, STACK);
	assert_int_equal(j->trace.frames[2].source, FRAME_BY_POINTER);
	j->words[3] = j->regs[LR]; /* the frame is the leaf's: it has called nothing yet */
	jit_code__check(j, (const uint64_t[]){ 0x100, 0x200, 0x400 }, 3);
	assert_int_equal(j->trace.frames[1].source, FRAME_BY_LEAF_POINTER);
	j->sample.valid &= ~(1ull << LR); /* its return address is unknown */
	jit_code__check(j, (const uint64_t[]){ 0x100, 0x200, 0x400 }, 3);
	jit_code__free(j);
}

/* The sample gives the number of address bits. */
static void large_addresses_are_stripped_of_signatures(void **state)
{
	static const uint64_t offs[] = { 0x100, 0x200, 0x300, 0x400 };
	struct jit_code *j = jit_code__new(FAR_AWAY);

	(void)state;
	j->regs[LR] = FAR_AWAY + 0x200 + (1ull << 53);
	j->words[3] = FAR_AWAY + 0x300 + (1ull << 54);
	j->sample.code_bits = (1ull << 52) - 1;
	jit_code__check(j, offs, 4);
	jit_code__free(j);
}

static void signatures_begin_at_bit_39_in_a_kernel_of_39_bits(void **state)
{
	static const uint64_t offs[] = { 0x100, 0x200, 0x300, 0x400 };
	const uint64_t code = 0x7f12345000;
	struct jit_code *j = jit_code__new(code);

	(void)state;
	j->regs[LR] = code + 0x200 + (1ull << 39);
	j->words[3] = code + 0x300 + (1ull << 47);
	j->sample.code_bits = machine__code_bits(&machine_aarch64, 0x7ffffff000);
	jit_code__check(j, offs, 4);
	jit_code__free(j);
}

static void bits_of_an_address_by_where_the_stack_is(void **state)
{
	(void)state;
	assert_int_equal(machine__code_bits(&machine_aarch64, 0xfffffffff000), (1ull << 48) - 1);
	assert_int_equal(machine__code_bits(&machine_aarch64, 0x7fffd1234560), (1ull << 47) - 1);
	assert_int_equal(machine__code_bits(&machine_aarch64, 0x4000000000), (1ull << 39) - 1);
	assert_int_equal(machine__code_bits(&machine_aarch64, 0), (1ull << 48) - 1);
	assert_int_equal(machine__code_bits(&machine_x86_64, 0x7fffd1234560), UINT64_MAX);
}

RUN_TESTS(cmocka_unit_test(plain_code_is_walked), cmocka_unit_test(signed_code_is_walked),
	  cmocka_unit_test(code_without_frame_pointers_is_walked),
	  cmocka_unit_test(signed_leaves_are_walked),
	  cmocka_unit_test(a_leaf_of_jit_code_returns_to_the_link_register),
	  cmocka_unit_test(large_addresses_are_stripped_of_signatures),
	  cmocka_unit_test(signatures_begin_at_bit_39_in_a_kernel_of_39_bits),
	  cmocka_unit_test(bits_of_an_address_by_where_the_stack_is))
