/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a USDT probe hands over its arguments; what user space has read in the notes of an ELF file.
 */
#ifndef BPF_USDT_SITE_H
#define BPF_USDT_SITE_H

#include <linux/types.h>

#define USDT_ARG_CNT 5 /* of stacks_tracing:enter */
#define USDT_NO_REG  0xffff

/*
 * add + base + (index << shift), registers as byte offsets into pt_regs; with `deref` what user
 * memory has there. Cut to `sz` bytes, 1 to 8.
 */
struct usdt_arg {
	__u64 add;
	__u16 base, index;
	__u8 shift, deref, sz, is_signed;
};

/* Arguments of one place, or of many that have them in the same registers. */
struct usdt_site {
	struct usdt_arg args[USDT_ARG_CNT];
};

/* The cookie of an attached place: which usdt_site, and whether its rows have a user stack. */
#define USDT_COOKIE_USER (1ull << 32)

/*
 * Spans whose close has not been seen. A process has one of the regions for them, which it shares
 * with others when there are many, so that one that floods its region takes nothing from the rest.
 */
#define USDT_REGIONS	 8
#define USDT_REGION_SZ	 16384 /* spans */
#define USDT_REGION_BITS (USDT_REGION_SZ / 64)
#define USDT_SPAN_MAX	 (USDT_REGIONS * USDT_REGION_SZ)

#endif
