/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COLLECTOR_COLLECTOR_HELP_H
#define COLLECTOR_COLLECTOR_HELP_H

/* The help filter of argp: puts the list of probes, from their table, before the last part. */
char *collector_help__filter(int key, const char *text, void *input);

/* Prints the sources, and whether this machine supports them. Returns 0 or -errno. */
int collector_help__list_probes(void);

/* Prints the completions of the options. Returns -EINVAL for an unknown shell. */
int collector_help__print_completion(const char *shell);

#endif
