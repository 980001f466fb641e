// SPDX-License-Identifier: GPL-2.0-or-later
/* Exceptions through frames with and without landing pads, caught, thrown again, and nested. */
#define NOINLINE __attribute__((noinline, noclone))

static volatile long sink;

struct guard {
	long value;
	explicit guard(long v) : value(v)
	{
		sink += v;
	}
	NOINLINE ~guard()
	{
		sink -= value;
	}
};

static NOINLINE void thrower(long x)
{
	if (x > 0)
		throw x;
}

static NOINLINE void descend(int depth, long x)
{
	guard g(depth);

	if (depth)
		descend(depth - 1, x);
	else
		thrower(x);
	sink++;
}

static NOINLINE void no_landing_pad(int depth, long x)
{
	volatile long v[8] = { x };

	descend(depth, x);
	sink += v[0];
}

static NOINLINE void rethrower(int depth, long x)
{
	guard g(x);

	try {
		no_landing_pad(depth, x);
	} catch (long &caught) {
		caught++;
		throw;
	}
}

static NOINLINE long catcher(int depth, long x)
{
	try {
		rethrower(depth, x);
	} catch (int) {
		return -1;
	} catch (long caught) {
		guard g(caught);

		return sink + caught;
	}
	return 0;
}

int main()
{
	long sum = 0;

	for (int depth = 0; depth < 2; depth++)
		sum += catcher(depth, depth);
	return sum == 0;
}
