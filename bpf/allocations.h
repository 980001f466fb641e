/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What user space passes to the programs of the source alloc, and how both choose allocations. */
#ifndef BPF_ALLOCATIONS_H
#define BPF_ALLOCATIONS_H

#include <linux/types.h>

/* How a function takes its arguments. */
enum alloc_call {
	ALLOC_SIZE,	   /* (size, …): malloc, operator new */
	ALLOC_CALLOC,	   /* (count, size) */
	ALLOC_ALIGNED,	   /* (alignment, size): memalign, aligned_alloc */
	ALLOC_POSIX_ALIGN, /* (address of the result, alignment, size): posix_memalign */
	/* these end a block: */
	ALLOC_REALLOC, /* (block, size, …) */
	ALLOC_FREE,    /* (block, …) */
};

/* The cookie of an attached function: its alloc_call, the lowest bits of its address, and whether
 * it calls no other allocation function. */
#define ALLOC_COOKIE_CALL 0xfULL
#define ALLOC_COOKIE_LEAF (1ULL << 4)
/* The function is attached for one process only, which is in `alloc__own`. */
#define ALLOC_COOKIE_OWN  (1ULL << 5)
#define ALLOC_COOKIE_PAGE 12 /* from this bit on: the address in its page */
#define ALLOC_PAGE_MASK	  0xfffULL

#define ALLOC_OWN_MAX 8 /* processes that functions are attached for one by one */

#define ALLOC_BLOCK_MAX 131072 /* sampled blocks that are live at a time; 14 MB */

/*
 * A Poisson process over the allocated bytes, with one sample every `interval` bytes on average: an
 * allocation of `size` bytes has at least one with p = 1 - exp(-size / interval). Whether it is
 * chosen depends on no other allocation, so no thread or CPU keeps a count. Numbers are 32-bit
 * fractions; ALLOC_ONE is 1.
 */
#define ALLOC_ONE	   (1ULL << 32)
#define ALLOC_SURE	   16		/* intervals: exp(-16) is 1e-7 */
#define ALLOC_INTERVAL_MAX (1ULL << 28) /* a size below ALLOC_SURE intervals has 32 bits */

struct alloc_sample {
	__u64 chance; /* 0: not chosen */
	__u64 bytes;  /* that the allocation stands for: size / chance */
	__u32 weight; /* allocations that it stands for: 1 / chance on average */
};

/* exp(-n) and exp(-n / 16) as 31-bit fractions */
static const __u32 alloc_exp[16] = {
	2147483648, 790015084, 290630308, 106916915, 39332535, 14469631, 5323080, 1958252,
	720401,	    265021,    97496,	  35867,     13195,    4854,	 1786,	  657,
};
static const __u32 alloc_exp_16th[16] = {
	2147483648, 2017374191, 1895147668, 1780326475, 1672461947, 1571132600,
	1475942488, 1386519653, 1302514674, 1223599299, 1149465165, 1079822591,
	1014399448, 952940092,	895204371,  840966680,
};

/* Returns 1 - exp(-x). `x` has 4 bits before and 32 after the point. */
static inline __u64 alloc_chance(__u64 x)
{
	__u64 rest = x & 0xfffffff, square = rest * rest >> 32, cube = square * rest >> 32;
	__u64 rest_chance = rest - square / 2 + cube / 6;
	__u64 e = (__u64)alloc_exp[x >> 32 & 15] * alloc_exp_16th[x >> 28 & 15] >> 31;

	return ALLOC_ONE - (e * (ALLOC_ONE - rest_chance) >> 31);
}

/*
 * Chooses by `random`, which is uniform. The weights come from the very probability that the choice
 * compares with, so that sums of `bytes` and `weight` are right on average whatever the rounding of
 * alloc_chance(). interval 0: every allocation is chosen.
 */
static inline void alloc_draw(struct alloc_sample *s, __u64 size, __u64 interval, __u32 random)
{
	__u64 x;

	*s = (struct alloc_sample){ 0 };
	if (!size)
		return;
	if (!interval || size >= ALLOC_SURE * interval) {
		s->chance = ALLOC_ONE;
		s->bytes = size;
		s->weight = 1;
		return;
	}
	x = (size << 32) / interval;
	if (random >= x) /* 1 - exp(-x) < x: this decides nearly all small allocations */
		return;
	s->chance = alloc_chance(x);
	if (random >= s->chance) {
		s->chance = 0;
		return;
	}
	/* below `chance`, `random` is uniform, too: it rounds the quotients up or down */
	s->bytes = (size << 32) / s->chance + (random < (size << 32) % s->chance);
	s->weight = ALLOC_ONE / s->chance + (random < ALLOC_ONE % s->chance);
}

#endif
