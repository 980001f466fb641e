// SPDX-License-Identifier: GPL-2.0-or-later
/* Coroutines that use switch.S, on adjacent stacks in one array. */
#include <stdint.h>

#define NOINLINE   __attribute__((noinline, noclone))
#define COROUTINES 3
#define STACK_SZ   (16 << 10)

void switch_stack(void **old, void *new);

static struct {
	_Alignas(16) uint8_t stack[STACK_SZ];
} stacks[COROUTINES];
static void *saved[COROUTINES + 1]; /* stack pointers; the last is main's */
static volatile long sink;

static NOINLINE void pass_on(int from, int to)
{
	switch_stack(&saved[from], saved[to]);
	sink++;
}

static NOINLINE void descend(int depth, int from, int to)
{
	volatile long v[3] = { depth };

	if (depth)
		descend(depth - 1, from, to);
	else
		pass_on(from, to);
	sink += v[0];
}

/* The last coroutine of a round switches back to main. */
static void work(void)
{
	static int started;
	int self = started++;

	for (int depth = 1;; depth++)
		descend(depth % 5, self, self ? self - 1 : COROUTINES);
}

static void prepare(int i)
{
	uint64_t *top = (uint64_t *)(stacks[i].stack + STACK_SZ) - 7;

	top[3] = (uint64_t)(uintptr_t)work; /* below are three registers, after it a root */
	saved[i] = top;
}

int main(void)
{
	for (int i = 0; i < COROUTINES; i++)
		prepare(i);
	for (int round = 0; round < 4; round++)
		for (int i = 0; i < COROUTINES; i++)
			descend(round, COROUTINES, i);
	return 0;
}
