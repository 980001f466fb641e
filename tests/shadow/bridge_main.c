// SPDX-License-Identifier: GPL-2.0-or-later
/* main → top → mid → a bridge of bridge.S → leaf → inner. */
#define NOINLINE      __attribute__((noinline, noclone))
#define FRAME_POINTER __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))

typedef long callback(long);
typedef long bridge_function(long, callback *);
bridge_function bridge, bridge_counts, bridge_frame, bridge_plain;

static bridge_function *const bridges[] = { bridge, bridge_counts, bridge_frame, bridge_plain };
static volatile long sink;

static NOINLINE long inner(long x)
{
	volatile long v[6] = { x, x + 1, x + 2 };

	for (int i = 0; i < 6; i++)
		v[i] = v[i] * 3 + i;
	return v[0] + v[5];
}

static NOINLINE long leaf(long x)
{
	return inner(x) + inner(x + 1);
}

static NOINLINE long mid(long x, bridge_function *through)
{
	sink = inner(x); /* leaves old return addresses in the place of the bridge's locals */
	return through(x, leaf) + 1;
}

static NOINLINE long top(long x, bridge_function *through)
{
	return mid(x + 1, through) + x;
}

static FRAME_POINTER long mid_framed(long x, bridge_function *through)
{
	sink = inner(x);
	return through(x, leaf) + 1;
}

static FRAME_POINTER long top_framed(long x, bridge_function *through)
{
	return mid_framed(x + 1, through) + x;
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(bridges) / sizeof(*bridges); i++)
		for (int n = 0; n < 3; n++)
			sink = top(n, bridges[i]) + top_framed(n, bridges[i]);
	return 0;
}
