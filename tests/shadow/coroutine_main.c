// SPDX-License-Identifier: GPL-2.0-or-later
/* Two coroutines with deep call chains, which switch to each other and to main. */
#include <stdlib.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STACK_SZ (64 << 10)

static ucontext_t in_main, in_first, in_second;
static volatile long sink;

static NOINLINE void descend(int depth, ucontext_t *from, ucontext_t *to)
{
	volatile long v[4] = { depth };

	if (depth)
		descend(depth - 1, from, to);
	else
		swapcontext(from, to);
	sink += v[0];
}

static void first(void)
{
	for (int depth = 0; depth < 5; depth++) /* ends last, into main */
		descend(depth, &in_first, &in_second);
}

static void second(void)
{
	for (int depth = 6; depth; depth--)
		descend(depth, &in_second, depth % 2 ? &in_first : &in_main);
	descend(0, &in_second, &in_first);
}

static void prepare(ucontext_t *c, void (*function)(void), ucontext_t *next)
{
	getcontext(c);
	c->uc_stack.ss_sp = malloc(STACK_SZ);
	c->uc_stack.ss_size = STACK_SZ;
	c->uc_link = next;
	makecontext(c, function, 0);
}

static NOINLINE void run(void)
{
	prepare(&in_first, first, &in_main);
	prepare(&in_second, second, &in_first);
	swapcontext(&in_main, &in_first);
	for (int i = 0; i < 3; i++) /* the second one has switched to main this many times */
		swapcontext(&in_main, &in_second);
}

int main(void)
{
	run();
	return 0;
}
