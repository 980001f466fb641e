/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parser of the argument string of a USDT note. */
#ifndef CAPTURE_USDT_ARGS_H
#define CAPTURE_USDT_ARGS_H

#include <stddef.h>

#include "bpf/usdt_site.h"

/*
 * Parses "8@%rdi -4@$-5 8@-16(%rbp,%rax,8)" (x86-64's AT&T syntax). Returns the number of arguments
 * and puts the first `max` into `out`. Returns -EINVAL if one of those cannot be read at the probe
 * (a symbol, a floating-point register …); `*bad` is then its position in the text.
 */
int usdt_args__parse(const char *text, struct usdt_arg *out, size_t max, const char **bad);

#endif
