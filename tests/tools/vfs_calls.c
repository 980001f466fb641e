// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Moves bytes with every call that can, and counts them: the lines of PART in FOLDER/report, "KIND
 * FILE REASON ROWS BYTES", are what a recording of it must have. Files are named after the call
 * that uses them; all pipes together are "pipefs".
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vfs_book.h"

/* ---- calls ---------------------------------------------------------------------------------- */

struct call {
	long nr, nr_32, args[6];
};

#ifdef __x86_64__
/* The 32-bit system call, which 64-bit programs can use, too. Skips the red zone. */
static long call_32(const struct call *c)
{
	register long sixth __asm__("r12") = c->args[5];
	long result;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpush %%rbp\n\tmov %%r12, %%rbp\n\tint $0x80\n\t"
			 "pop %%rbp\n\tlea 128(%%rsp), %%rsp"
			 : "=a"(result)
			 : "a"(c->nr_32), "b"(c->args[0]), "c"(c->args[1]), "d"(c->args[2]),
			   "S"(c->args[3]), "D"(c->args[4]), "r"(sixth)
			 : "memory", "r8", "r9", "r10", "r11");
	if (result > -4096 && result < 0) {
		errno = (int)-result;
		return -1;
	}
	return result;
}
#else
#define MAP_32BIT 0

static long call_32(const struct call *c)
{
	(void)c;
	errno = ENOSYS;
	return -1;
}
#endif

static long call(const struct call *c)
{
	const long *a = c->args;

	return compat ? call_32(c) : syscall(c->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define CALL(nr, nr_32, ...) call(&(struct call){ nr, nr_32, { __VA_ARGS__ } })

static long buf(void)
{
	return (long)shared->buf;
}

/* Three pieces of the buffer with `sz` bytes together. */
static long vector(long sz)
{
	const long parts[] = { 1, sz / 3, sz - sz / 3 - 1 };
	char *at = shared->buf;

	for (int i = 0; i < 3; at += parts[i++]) {
		if (compat) {
			shared->iov.compat[i].base = (unsigned)(long)at;
			shared->iov.compat[i].len = (unsigned)parts[i];
		} else {
			shared->iov.native[i] = (struct iovec){ at, (size_t)parts[i] };
		}
	}
	return (long)&shared->iov;
}

static int open_new(const char *name, long sz)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	check(fd >= 0 && ftruncate(fd, sz) == 0, name);
	return fd;
}

static void make_pipe(int fds[2])
{
	check(pipe(fds) == 0, "pipe");
}

static void close_pair(const int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

/* ---- every call ----------------------------------------------------------------------------- */

static long simple_call(const char *name, int fd, long at, long sz)
{
	const struct {
		const char *name;
		struct call call;
	} calls[] = {
		{ "read", { SYS_read, 3, { fd, buf(), sz } } },
		{ "pread64", { SYS_pread64, 180, { fd, buf(), sz, at } } },
		{ "readv", { SYS_readv, 145, { fd, vector(sz), 3 } } },
		{ "preadv", { SYS_preadv, 333, { fd, vector(sz), 3, at } } },
		{ "preadv2", { SYS_preadv2, 378, { fd, vector(sz), 3, at } } },
		{ "write", { SYS_write, 4, { fd, buf(), sz } } },
		{ "pwrite64", { SYS_pwrite64, 181, { fd, buf(), sz, at } } },
		{ "writev", { SYS_writev, 146, { fd, vector(sz), 3 } } },
		{ "pwritev", { SYS_pwritev, 334, { fd, vector(sz), 3, at } } },
		{ "pwritev2", { SYS_pwritev2, 379, { fd, vector(sz), 3, at } } },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (!strcmp(calls[i].name, name))
			return call(&calls[i].call);
	}
	abort();
}

/* Reads to the end of a file, and once more. */
static void read_with(const char *name)
{
	int fd = open_new(name, FILE_SZ);
	long at = 0, got;

	do {
		got = book(READ, name, simple_call(name, fd, at, 4096));
		at += got;
	} while (got > 0);
	check(at == FILE_SZ, name);
	close(fd);
}

static void write_with(const char *name)
{
	int fd = open_new(name, 0);
	long at = 0;

	for (long sz = 1000; sz < 1007; sz++)
		at += book(WRITE, name, simple_call(name, fd, at, sz));
	check(at == 7021 && lseek(fd, 0, SEEK_END) == at, name);
	close(fd);
}

static void sendfile_with(const char *name, long nr_32)
{
	int in = open_new(name, FILE_SZ), out = open_new("sendfile.out", 0), sockets[2], pipes[2];
	static const char *const books[] = { "sendfile.out", NULL, PIPE };

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
	make_pipe(pipes);
	for (int i = 0; i < 3; i++) {
		int to = (int[]){ out, sockets[1], pipes[1] }[i];
		long moved;

		lseek(in, 0, SEEK_SET);
		do
			moved = book_move(name, books[i],
					  CALL(SYS_sendfile, nr_32, to, in, 0, 4000));
		while (moved > 0);
		check(moved == 0, name);
	}
	check(lseek(out, 0, SEEK_END) == FILE_SZ, name);
	close(in);
	close(out);
	close_pair(sockets);
	close_pair(pipes);
}

static void copy_with_kernel(void)
{
	int in = open_new("copy.in", FILE_SZ), out = open_new("copy.out", 0);
	long moved;

	do
		moved = book_move("copy.in", "copy.out",
				  CALL(SYS_copy_file_range, 377, in, 0, out, 0, 4000));
	while (moved > 0);
	check(moved == 0 && lseek(out, 0, SEEK_END) == FILE_SZ, "copy_file_range");
	close(in);
	close(out);
}

/* file → pipe → file, socket → pipe */
static void splice_all(void)
{
	int in = open_new("splice.in", FILE_SZ), out = open_new("splice.out", 0), sockets[2], p[2];

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
	make_pipe(p);
	while (book_move("splice.in", PIPE, CALL(SYS_splice, 313, in, 0, p[1], 0, 4000)) > 0)
		check(book_move(PIPE, "splice.out", CALL(SYS_splice, 313, p[0], 0, out, 0, 8000)) >
			      0,
		      "splice");
	check(lseek(out, 0, SEEK_END) == FILE_SZ, "splice");
	check(simple_call("write", sockets[0], 0, 321) == 321, "write to a socket");
	check(book(WRITE, PIPE, CALL(SYS_splice, 313, sockets[1], 0, p[1], 0, 4000)) == 321,
	      "splice from a socket");
	close(in);
	close(out);
	close_pair(sockets);
	close_pair(p);
}

/* memory → pipe → two pipes → memory */
static void splice_memory(void)
{
	struct iovec iov = { shared->buf, 5000 };
	int p[2], q[2];

	make_pipe(p);
	make_pipe(q);
	check(book(WRITE, PIPE, vmsplice(p[1], &iov, 1, 0)) == 5000, "vmsplice");
	check(book(WRITE, PIPE, CALL(SYS_tee, 315, p[0], q[1], 9000)) == 5000, "tee");
	check(book(READ, PIPE, simple_call("read", p[0], 0, 9000)) == 5000, "read");
	check(book(READ, PIPE, vmsplice(q[0], &iov, 1, 0)) == 5000, "vmsplice");
	close_pair(p);
	close_pair(q);
}

static void do_all(void)
{
	static const char *const reads[] = { "read", "pread64", "readv", "preadv", "preadv2" };
	static const char *const writes[] = { "write", "pwrite64", "writev", "pwritev",
					      "pwritev2" };

	for (int i = 0; i < 5; i++) {
		read_with(reads[i]);
		write_with(writes[i]);
	}
	sendfile_with("sendfile", compat ? 187 : 0);
	if (compat)
		sendfile_with("sendfile64", 239);
	copy_with_kernel();
	splice_all();
	splice_memory();
}

/* ---- errors --------------------------------------------------------------------------------- */

static void do_errors(void)
{
	int wronly, dir = open(".", O_RDONLY), full = open("/dev/full", O_WRONLY), p[2];
	int sockets[2], file = open_new("errors", FILE_SZ);
	char folder[512];

	check(getcwd(folder, sizeof(folder)), "getcwd");
	check((wronly = open("errors", O_WRONLY)) >= 0 && dir >= 0 && full >= 0, "open");
	check(pipe2(p, O_NONBLOCK) == 0, "pipe2");
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) == 0, "socketpair");
	signal(SIGPIPE, SIG_IGN);
	book(READ, "errors", read(wronly, shared->buf, 10));
	book(READ, "errors", syscall(SYS_read, file, 16, 4096)); /* EFAULT */
	book(READ, strrchr(folder, '/') + 1, read(dir, shared->buf, 10));
	book(WRITE, "full", write(full, shared->buf, 10));
	for (int i = 0; i < 3; i++)
		book(READ, PIPE, read(p[0], shared->buf, 10));
	book_move("errors", "errors",
		  copy_file_range(file, NULL, wronly, NULL, 10, 0)); /* EINVAL */
	close(p[0]);
	book(WRITE, PIPE, write(p[1], shared->buf, 10));
	/* Not files: no rows. */
	check(read(999, shared->buf, 10) < 0 && read(sockets[0], shared->buf, 10) < 0, "read");
}

/* ---- signals -------------------------------------------------------------------------------- */

static void on_signal(int sig)
{
	(void)sig;
	shared->signals++;
}

static void handle(int flags)
{
	check(!sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on_signal, .sa_flags = flags },
			 NULL),
	      "sigaction");
}

/* Waits until it sleeps in read(). */
static void wait_asleep(pid_t pid)
{
	char path[64], line[64] = "", in_read[16];

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	snprintf(in_read, sizeof(in_read), "%d ", SYS_read);
	do {
		FILE *f = fopen(path, "r");

		check(f && fgets(line, sizeof(line), f), path);
		fclose(f);
	} while (strncmp(line, in_read, strlen(in_read)) != 0);
}

/* A child that interrupts its parent's reads, and writes on request. */
static pid_t start_interrupter(int cnt, int fd)
{
	pid_t parent = getpid(), pid = fork();
	int before = shared->signals;

	check(pid >= 0, "fork");
	if (pid)
		return pid;
	for (int i = 1; i <= cnt; i++) {
		wait_asleep(parent);
		kill(parent, SIGUSR1);
		while (shared->signals < before + i)
			;
	}
	wait_asleep(parent);
	if (fd >= 0)
		book(WRITE, PIPE, write(fd, shared->buf, 5));
	_exit(0);
}

static void do_signals(void)
{
	int p[2];
	pid_t pid;

	make_pipe(p);
	handle(SA_RESTART);
	pid = start_interrupter(3, p[1]);
	check(book(READ, PIPE, read(p[0], shared->buf, 10)) == 5, "read");
	waitpid(pid, NULL, 0);

	handle(0);
	pid = start_interrupter(1, p[1]);
	check(book(READ, PIPE, read(p[0], shared->buf, 10)) < 0 && errno == EINTR, "read");
	check(book(READ, PIPE, read(p[0], shared->buf, 10)) == 5, "read");
	waitpid(pid, NULL, 0);

	pid = fork();
	if (!pid)
		_exit(read(p[0], shared->buf, 10) < 0); /* killed in it: no row */
	wait_asleep(pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- threads -------------------------------------------------------------------------------- */

static void *write_much(void *arg)
{
	int fd = *(int *)arg;

	for (int i = 0; i < 10000; i++)
		book(WRITE, "threads", write(fd, shared->buf, 64));
	return NULL;
}

static void *read_pipe(void *arg)
{
	shared->tid = gettid();
	book(READ, PIPE, read(*(int *)arg, shared->buf, 10));
	return NULL;
}

static void do_threads(void)
{
	int fd = open_new("threads", 0), other = open_new("other", FILE_SZ), p[2];
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		check(!pthread_create(&threads[i], NULL, write_much, &fd), "pthread_create");
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);

	/* While a thread reads from a pipe, its descriptor is reused. */
	make_pipe(p);
	check(!pthread_create(&threads[0], NULL, read_pipe, &p[0]), "pthread_create");
	while (!shared->tid)
		;
	wait_asleep(shared->tid);
	check(dup2(other, p[0]) == p[0], "dup2");
	book(WRITE, PIPE, write(p[1], shared->buf, 7));
	pthread_join(threads[0], NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = { { "all", do_all },
		      { "compat", do_all },
		      { "errors", do_errors },
		      { "signals", do_signals },
		      { "threads", do_threads } };
	pthread_mutexattr_t attr;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	check(shared != MAP_FAILED && argc == 3 && chdir(argv[2]) == 0, "vfs_calls PART FOLDER");
	compat = !strcmp(argv[1], "compat");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->lock, &attr);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!strcmp(parts[i].name, argv[1]))
			parts[i].run();
	}
	write_report();
	return 0;
}
