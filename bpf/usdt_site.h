/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a USDT probe passes its arguments, as user space has read it from the notes of an ELF file.
 */
#ifndef BPF_USDT_SITE_H
#define BPF_USDT_SITE_H

#include <linux/types.h>

#define USDT_ARG_CNT 5 /* arguments of stacks_tracing:enter */
#define USDT_NO_REG  0xffff

/*
 * The value is add + base + (index << shift); registers are byte offsets into pt_regs. With
 * `deref`, the value is the user memory at that address. It is cut to `sz` bytes, 1 to 8.
 */
struct usdt_arg {
	__u64 add;
	__u16 base, index;
	__u8 shift, deref, sz, is_signed;
};

/* The arguments of a place. Places that have them in the same registers share a site. */
struct usdt_site {
	struct usdt_arg args[USDT_ARG_CNT];
};

/* The cookie of an attached place: its usdt_site, and whether its rows have a user stack. */
#define USDT_COOKIE_USER (1ull << 32)

/*
 * Open spans: those of which no close was seen. Each process has one of the regions for them. If
 * there are many processes, they share regions. A process that floods its region takes no room from
 * the other regions.
 */
#define USDT_REGIONS	 8
#define USDT_REGION_SZ	 16384 /* spans */
#define USDT_REGION_BITS (USDT_REGION_SZ / 64)
#define USDT_SPAN_MAX	 (USDT_REGIONS * USDT_REGION_SZ)

#endif
