// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads lines like "ffffffff81000000 T _text", in the order of addresses. Symbols of modules follow
 * the kernel's own and end with a tab and "[module]". */
#include "capture/ksyms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_AT 19 /* after 16 digits, the type and a space on each side of it */

/* Returns how many symbols got their end from this line. */
static size_t take(struct ksym *syms, size_t cnt, uint64_t addr, const char *name)
{
	size_t ended = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct ksym *s = &syms[i];

		if (s->addr && !s->end && addr > s->addr) {
			s->end = addr;
			ended++;
		} else if (!s->addr && !strcmp(s->name, name)) {
			s->addr = addr;
		}
	}
	return ended;
}

int ksyms__find(const char *path, struct ksym *syms, size_t cnt)
{
	FILE *f = fopen(path, "re");
	uint64_t highest = 0;
	char line[1024];
	size_t ended = 0;

	if (!f)
		return -errno;
	while (ended < cnt && fgets(line, sizeof(line), f) && !strchr(line, '\t')) {
		uint64_t addr = strtoull(line, NULL, 16);

		if (strlen(line) <= NAME_AT)
			continue;
		line[strcspn(line, "\n")] = '\0';
		highest = addr > highest ? addr : highest;
		ended += take(syms, cnt, addr, line + NAME_AT);
	}
	fclose(f);
	return highest ? 0 : -EPERM;
}
