/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subcommands. Each returns the exit status, after saying on stderr what went wrong. */
#ifndef STACKSEXPORT_COMMANDS_H
#define STACKSEXPORT_COMMANDS_H

#include "stacksexport/export_options.h"

int diff__run(const struct export_options *);
int explain__run(const struct export_options *);
int firefox__run(const struct export_options *);
int folded__run(const struct export_options *);
int live__run(const struct export_options *);
int mcp__run(const struct export_options *);
int merge__run(const struct export_options *);
int metrics__run(const struct export_options *);
int otlp__run(const struct export_options *);
int perfetto__run(const struct export_options *);
int pprof__run(const struct export_options *);
int push__run(const struct export_options *);
int query__run(const struct export_options *);
int report__run(const struct export_options *);
int speedscope__run(const struct export_options *);
int top__run(const struct export_options *);
int trace__run(const struct export_options *);
int view__run(const struct export_options *);

#endif
