// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/collector_help.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/completion.h"
#include "capture/capture.h"
#include "capture/probe.h"
#include "collector/optiontable.h"
#include "event/kind.h"

#define USAGE_WIDTH 17
#define HELP_WIDTH  56 /* of 79, beside the names of sources */

/* Prints an entry of the list below, broken at spaces: argp would break a long line anywhere. A
 * long usage has a line of its own. */
static void collector_help_print_entry(FILE *f, const char *usage, const char *help)
{
	bool alone = strlen(usage) > USAGE_WIDTH;
	const char *rest = help;

	fprintf(f, "  %-*s%s", USAGE_WIDTH, usage, alone ? "\n" : "");
	while (*rest) {
		size_t sz = strnlen(rest, HELP_WIDTH);

		while (rest[sz] && rest[sz] != ' ')
			sz--;
		fprintf(f, "%*s  %.*s\n", rest == help && !alone ? 0 : USAGE_WIDTH + 2, "", (int)sz,
			rest);
		rest += sz + (rest[sz] == ' ');
	}
}

char *collector_help__filter(int key, const char *text, void *input)
{
	char *out = NULL;
	size_t sz;
	FILE *f;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	f = open_memstream(&out, &sz);
	if (!f)
		return (char *)text;
	fprintf(f, "PROGRAMS is a comma list of:\n");
	for (const struct probe *p = probes; p->name; p++)
		collector_help_print_entry(f, p->usage, p->help);
	collector_help_print_entry(
		f, "all",
		"every source that this machine supports, except those that need a PATH or chosen "
		"processes");
	fprintf(f, "S selects the stacks: u (user), k (kernel), uk, ku or n (none).\n\n%s", text);
	fclose(f);
	return out;
}

static char *collector_help_probe_names(void)
{
	struct buf names = { 0 };

	for (const struct probe *p = probes; p->name; p++)
		buf__printf(&names, "%s ", p->name);
	buf__printf(&names, "all");
	buf__u8(&names, 0);
	return (char *)names.data;
}

int collector_help__print_completion(const char *shell)
{
	char *names = collector_help_probe_names();
	const struct completion_words words[] = {
		{ "programs", names, true },
		{ "preset", "always-on", false },
		{ 0 },
	};
	const struct completion_command command = {
		.options = { collector_argp_options, completion_argp_options },
		.argument = "[COMM]… | -- COMMAND",
	};
	const struct completion c = { "collector", &command, 1, words };
	int err = completion__print(stdout, &c, shell);

	free(names);
	return err;
}

static void collector_help_list_probe(const struct probe *p, const char *missing, void *arg)
{
	(void)arg;
	printf("%-24s %s\n%26srows:", p->usage, p->help, "");
	for (size_t k = 0; k < EVENT_KIND_CNT; k++) {
		if (event_kind__is_of((enum event_kind)k, p->name))
			printf(" %s", event_kind__name((enum event_kind)k));
	}
	printf("\n%26shere: %s%s\n", "", missing ? "no, " : "yes", missing ? missing : "");
}

int collector_help__list_probes(void)
{
	return capture__list(collector_help_list_probe, NULL);
}
