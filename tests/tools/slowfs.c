// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * slowfs SOURCE MOUNTPOINT: serves the files of a folder slowly: each request takes as many
 * milliseconds as SOURCE/.delay says, or for ever if SOURCE/.hang exists; with two numbers in it,
 * only for reads of bytes between these offsets. Files that are opened while SOURCE/.direct exists
 * are read past the page cache: not even SIGKILL ends such a read. Prints "mounted"; ends when it
 * is unmounted or killed.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int source(void)
{
	return (int)(intptr_t)fuse_get_context()->private_data;
}

/* Returns false if there is no such file. */
static bool read_text(const char *name, char text[64])
{
	int fd = openat(source(), name, O_RDONLY);
	ssize_t got = fd < 0 ? 0 : read(fd, text, 63);

	text[got > 0 ? got : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool hangs(long long from, long long to)
{
	long long first = 0, last = LLONG_MAX;
	char text[64];

	if (!read_text(".hang", text))
		return false;
	sscanf(text, "%lld %lld", &first, &last);
	return *text ? from < last && first < to : true;
}

static void take_time_for(long long from, long long to)
{
	char text[64];

	if (read_text(".delay", text))
		usleep((useconds_t)atoi(text) * 1000);
	while (hangs(from, to))
		usleep(10000);
}

static void take_time(void)
{
	take_time_for(0, 0);
}

static int slow_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	(void)fi;
	take_time();
	return fstatat(source(), path[1] ? path + 1 : ".", st, 0) ? -errno : 0;
}

static int slow_open(const char *path, struct fuse_file_info *fi)
{
	int fd = openat(source(), path + 1, O_RDONLY);
	char text[64];

	take_time();
	if (fd < 0)
		return -errno;
	fi->fh = (uint64_t)fd;
	fi->direct_io = read_text(".direct", text);
	fi->keep_cache = 1; /* mapped pages stay in memory */
	return 0;
}

static int slow_read(const char *path, char *to, size_t sz, off_t off, struct fuse_file_info *fi)
{
	ssize_t n;

	(void)path;
	take_time_for(off, off + (long long)sz);
	n = pread((int)fi->fh, to, sz, off);
	return n < 0 ? -errno : (int)n;
}

static int slow_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	return close((int)fi->fh);
}

/* The kernel requests the attributes of a file once. */
static void *slow_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	(void)conn;
	config->attr_timeout = config->entry_timeout = 3600;
	puts("mounted");
	fflush(stdout);
	return fuse_get_context()->private_data;
}

static const struct fuse_operations operations = {
	.init = slow_init,
	.getattr = slow_getattr,
	.open = slow_open,
	.read = slow_read,
	.release = slow_release,
};

int main(int argc, char **argv)
{
	char *args[] = { argv[0], "-f", "-o", "allow_other", argc == 3 ? argv[2] : NULL, NULL };
	int fd = argc == 3 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;

	if (fd < 0) {
		fprintf(stderr, "usage: slowfs SOURCE MOUNTPOINT\n");
		return 2;
	}
	return fuse_main(5, args, &operations, (void *)(intptr_t)fd);
}
