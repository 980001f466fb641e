// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs a fuzz target on every file of its corpus; prints TAP, like the unit tests. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* The input has its exact size, so that a sanitizer detects reads past it. */
static int replay(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;
	long sz;

	if (!f || fseek(f, 0, SEEK_END) != 0 || (sz = ftell(f)) < 0)
		return -1;
	rewind(f);
	data = malloc((size_t)sz);
	if ((sz && !data) || fread(data, 1, (size_t)sz, f) != (size_t)sz)
		return -1;
	fclose(f);
	LLVMFuzzerTestOneInput(data, (size_t)sz);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : FUZZ_CORPUS;
	DIR *dir = opendir(folder);
	struct dirent *e;
	int cnt = 0, failed = 0;
	char path[4096];

	puts("1..1");
	while (dir && (e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		printf("# %s\n", path);
		fflush(stdout); /* after a crash, the last printed name is the cause */
		failed |= replay(path) != 0;
		cnt++;
	}
	if (dir)
		closedir(dir);
	failed |= cnt == 0;
	printf("%s 1 - %s: %d inputs\n", failed ? "not ok" : "ok", folder, cnt);
	return failed;
}
