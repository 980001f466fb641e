// SPDX-License-Identifier: GPL-2.0-or-later
/* Handlers on the same stack and on another one, nested, and left by siglongjmp. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STACK_SZ (64 << 10)

static sigjmp_buf env;
static volatile long sink;
static volatile int jumps;

static NOINLINE long descend(int depth, void (*at_end)(void))
{
	volatile long v[4] = { depth };

	if (depth)
		return descend(depth - 1, at_end) + v[0];
	at_end();
	return v[0];
}

static void nothing(void)
{
	sink++;
}

static void raise_second(void)
{
	raise(SIGUSR2);
}

static void jump(void)
{
	siglongjmp(env, 1);
}

static void first_handler(int signal)
{
	(void)signal;
	sink += descend(3, raise_second);
}

static void second_handler(int signal)
{
	(void)signal;
	sink += descend(2, jumps ? jump : nothing);
}

static void fault_handler(int signal)
{
	(void)signal;
	descend(1, jump);
}

static void raise_first(void)
{
	raise(SIGUSR1);
}

static void fault(void)
{
	*(volatile int *)(sink & 0) = 1;
}

static void set(int signal, void (*handler)(int), int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };

	sigaction(signal, &sa, NULL);
}

static NOINLINE void round_of(int first_flags, int second_flags)
{
	set(SIGUSR1, first_handler, first_flags);
	set(SIGUSR2, second_handler, second_flags);
	set(SIGSEGV, fault_handler, second_flags);
	jumps = 0;
	sink += descend(2, raise_first);
	jumps = 1;
	if (!sigsetjmp(env, 1))
		sink += descend(2, raise_first);
	if (!sigsetjmp(env, 1))
		sink += descend(2, fault);
}

int main(void)
{
	stack_t other = { .ss_sp = malloc(STACK_SZ), .ss_size = STACK_SZ };

	sigaltstack(&other, NULL);
	round_of(0, 0);
	round_of(0, SA_ONSTACK);
	round_of(SA_ONSTACK, 0);
	round_of(SA_ONSTACK, SA_ONSTACK);
	return 0;
}
