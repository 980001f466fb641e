// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hold_memory FOLDER MAPPED: holds the lock of its own address space (mmap_lock) until its standard
 * input ends, as a user can with a FUSE server, but by freezing the file system of FOLDER. One
 * thread writes to a shared page of a file, which waits for the thaw. Another changes the
 * protection of that page: it waits with the lock, or for the lock in front of all others. MAPPED
 * is mapped as a program is. Prints "holding" just before, and "released".
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_SZ 4096

static void *write_page(void *page)
{
	usleep(200000);
	*(volatile char *)page = 1;
	return NULL;
}

/* Uses no memory that would have to be mapped. */
static void *protect_page(void *page)
{
	static const char holding[] = "holding\n";

	usleep(700000);
	if (write(STDOUT_FILENO, holding, sizeof(holding) - 1) > 0)
		mprotect(page, PAGE_SZ, PROT_READ);
	return NULL;
}

static bool map_program(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 &&
	       mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) !=
		       MAP_FAILED;
}

/* Returns a page that is not written to the disk yet, so that a write to it faults. */
static void *new_page(int folder)
{
	int fd = openat(folder, "page", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || ftruncate(fd, PAGE_SZ) != 0)
		return MAP_FAILED;
	return mmap(NULL, PAGE_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

int main(int argc, char **argv)
{
	int folder = argc == 3 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;
	void *page = new_page(folder);
	pthread_t writer, holder;
	char byte;

	if (page == MAP_FAILED || !map_program(argv[2])) {
		perror("hold_memory");
		return 1;
	}
	pthread_create(&writer, NULL, write_page, page);
	pthread_create(&holder, NULL, protect_page, page);
	if (ioctl(folder, FIFREEZE, 0) != 0) {
		perror("hold_memory: freeze");
		return 1;
	}
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	ioctl(folder, FITHAW, 0);
	pthread_join(holder, NULL);
	puts("released");
	return 0;
}
