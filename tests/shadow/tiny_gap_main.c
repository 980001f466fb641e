// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls the functions of tiny_gap.S, some of which call back. */
#define NOINLINE __attribute__((noinline, noclone))

typedef long number_function(long);
typedef long caller_function(long (*)(void));
number_function before_pops, before_calls, before_bare, before_jumps, before_pushed_call,
	behind_all, gap_pops, gap_bare;
caller_function gap_calls, gap_jumps, gap_pushed_call;

static number_function *const numbers[] = { before_pops,  before_calls, before_bare,
					    before_jumps, behind_all,	before_pushed_call,
					    gap_pops,	  gap_bare };
static caller_function *const callers[] = { gap_calls, gap_jumps, gap_pushed_call };
static volatile long sink;

static NOINLINE long inner(void)
{
	return sink * 2;
}

static NOINLINE long called(void)
{
	return inner() + 1;
}

static NOINLINE long run(long x)
{
	long sum = 0;

	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sum += numbers[i](x) + called();
	for (unsigned i = 0; i < sizeof(callers) / sizeof(*callers); i++)
		sum += callers[i](called) + inner();
	return sum;
}

int main(void)
{
	for (long x = 0; x < 10; x++)
		sink = run(x);
	return 0;
}
