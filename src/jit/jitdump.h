/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of jit-PID.dump (tools/perf/Documentation/jitdump-specification.txt), in which a runtime
 * records when it makes, moves and frees code.
 */
#ifndef JIT_JITDUMP_H
#define JIT_JITDUMP_H

#include "jit/codelist.h"

/*
 * Adds the functions of the complete records in a part of the file to the list until it is full.
 * Returns 0, -EBADMSG if the file is broken or no jitdump of this byte order, or another -errno.
 */
int jitdump__read(struct code_progress *, const struct code_part *, struct code_list *);

#endif
