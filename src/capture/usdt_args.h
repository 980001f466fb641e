/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The argument string of a USDT note. */
#ifndef CAPTURE_USDT_ARGS_H
#define CAPTURE_USDT_ARGS_H

#include <stddef.h>

#include "bpf/usdt_site.h"

/*
 * "8@%rdi -4@$-5 8@-16(%rbp,%rax,8)" in x86-64's AT&T syntax. How many arguments it has, of which
 * the first `max` are in `out`; or -EINVAL when one of those is what cannot be read at the probe
 * (a symbol, a floating point register …): then `*bad` is where it begins in the text.
 */
int usdt_args__parse(const char *text, struct usdt_arg *out, size_t max, const char **bad);

#endif
