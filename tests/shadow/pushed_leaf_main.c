// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls the leaves of pushed_leaf.S from functions with and without frame pointers. */
#define PLAIN  __attribute__((noinline, noclone))
#define FRAMED __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))

#define LEAVES(X)            \
	X(leaf_pushes)       \
	X(leaf_locals)       \
	X(leaf_large_locals) \
	X(leaf_lea)          \
	X(leaf_both)         \
	X(leaf_early)        \
	X(leaf_jumps_back)   \
	X(leaf_frame)        \
	X(leaf_loop)         \
	X(leaf_table)        \
	X(leaf_aligned)      \
	X(leaf_bare)         \
	X(leaf_pushes_address)

typedef long leaf_function(long, long);
#define X(name) leaf_function name;
LEAVES(X)
#undef X
#define X(name) name,
static leaf_function *const leaves[] = { LEAVES(X) };
#undef X
#define LEAF_CNT (int)(sizeof(leaves) / sizeof(*leaves))

static volatile long sink;

static PLAIN long third(long x)
{
	volatile long v[3] = { x, x, x };

	return v[0] + v[2];
}

static PLAIN long second(long x)
{
	return third(x) + third(x + 1);
}

/* Leaves return addresses of several depths below the stack pointer. */
static PLAIN long litter(long x)
{
	return second(x) * 3 + third(x);
}

static PLAIN long plain(leaf_function *leaf, long x)
{
	sink = litter(x);
	return leaf(x, 7) + sink;
}

static FRAMED long framed(leaf_function *leaf, long x)
{
	sink = litter(x);
	return leaf(x, 7) + sink;
}

static PLAIN long plain_below_framed(leaf_function *leaf, long x)
{
	volatile long v[5] = { x };

	return plain(leaf, x) + v[0];
}

static FRAMED long framed_below_plain(leaf_function *leaf, long x)
{
	volatile long v[5] = { x };

	return framed(leaf, x) + plain_below_framed(leaf, x) + v[0];
}

int main(void)
{
	for (int i = 0; i < LEAF_CNT; i++)
		for (long x = 0; x < 4; x++)
			sink = plain(leaves[i], x) + framed_below_plain(leaves[i], x);
	return 0;
}
