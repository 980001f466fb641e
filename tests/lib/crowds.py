# SPDX-License-Identifier: GPL-2.0-or-later
"""C programs with many processes or many mappings, and the memory of a collector that records them."""
import re

# Forks argv[1] sleeping children, each with argv[2] extra executable mappings of libc.
MANY = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int fd = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY);
	for (int i = 0; i < atoi(argv[2]); i++) {
		mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096 * 100);
		mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 4096 * 300);
	}
	for (int i = 0; i < atoi(argv[1]); i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, 9);
			for (;;)
				usleep(100000);
		}
	puts("ready");
	fflush(stdout);
	pause();
	return argc;
}
"""

# Short-lived code: every millisecond, maps a page, calls it and unmaps it. Writes its name to a perf map.
JIT = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	char name[64];
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	FILE *map = fopen(name, "w");
	for (void *told = 0;;) {
		unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(code, "\xb9\x00\x00\x01\x00\xff\xc9\x75\xfc\xc3", 10); /* mov $65536, %ecx; 1: dec %ecx; jnz 1b; ret */
		if (code != told)
			fprintf(map, "%lx 10 coming\n", (unsigned long)code);
		told = code;
		fflush(map);
		((void (*)(void))code)();
		munmap(code, 4096);
		usleep(900);
	}
}
"""

# A library, and a program that loads it ten thousand times.
OPENED = "volatile int sink; void work(void) { for (int i = 0; i < 10000; i++) sink++; }\n"
OPENS = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 10000; i++) {
		void *h = dlopen(argv[1], RTLD_NOW);
		((void (*)(void))dlsym(h, "work"))();
		dlclose(h);
	}
	return argc - 2;
}
"""


def anonymous_mb(pid):
    return int(re.search(r"RssAnon:\s+(\d+)", open(f"/proc/{pid}/status").read()).group(1)) / 1024
