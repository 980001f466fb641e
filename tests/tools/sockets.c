// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Uses of sockets beyond send() and recv(), over loopback: the tests of `net` know the rows and
 * bytes of each case.
 * Usage: sockets CASE 4|6.
 * The process takes the name CASE4 or CASE6.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/io_uring.h>
#include <netinet/udp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#define BULK 300000

static int family = AF_INET;
static char bytes[BULK];

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static void check(bool ok, const char *what)
{
	if (!ok)
		err(1, "%s", what);
}

#define CHECK(x) check(x, #x)

static socklen_t loopback(union address *a)
{
	*a = (union address){ .any.sa_family = (sa_family_t)family };
	if (family == AF_INET)
		a->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		a->v6.sin6_addr = in6addr_loopback;
	return family == AF_INET ? sizeof(a->v4) : sizeof(a->v6);
}

static int bound(int type, union address *a)
{
	socklen_t len = loopback(a);
	int fd = socket(family, type, 0);

	CHECK(fd >= 0);
	CHECK(!bind(fd, &a->any, len) && !getsockname(fd, &a->any, &len));
	return fd;
}

#include "sockets_unix.h"

struct pair {
	int a, b;
};

static struct pair streams(void)
{
	union address to;
	socklen_t len = loopback(&to);
	int listener = bound(SOCK_STREAM, &to);
	struct pair p = { socket(family, SOCK_STREAM, 0), -1 };

	CHECK(!listen(listener, 1) && !connect(p.a, &to.any, len));
	p.b = accept(listener, NULL, NULL);
	CHECK(p.b >= 0 && !close(listener));
	return p;
}

/* Returns two connected sockets. */
static struct pair datagrams(void)
{
	union address a, b;
	socklen_t len = loopback(&a);
	struct pair p = { bound(SOCK_DGRAM, &a), bound(SOCK_DGRAM, &b) };

	CHECK(!connect(p.a, &b.any, len) && !connect(p.b, &a.any, len));
	return p;
}

static void set_timeout(int fd)
{
	const struct timeval tv = { .tv_usec = 50000 };

	CHECK(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
}

static void *receive_bulk(void *fd)
{
	static char sink[BULK];

	CHECK(recv(*(int *)fd, sink, BULK, MSG_WAITALL) == BULK);
	return NULL;
}

/* ---- cases -------------------------------------------------------------------------------------
 */

static void peek(void)
{
	struct pair p = streams(), d = datagrams();

	CHECK(send(p.a, bytes, 100, 0) == 100 && send(d.a, bytes, 10, 0) == 10);
	for (int i = 0; i < 3; i++) {
		CHECK(recv(p.b, bytes, 1000, MSG_PEEK) == 100);
		CHECK(recv(d.b, bytes, 1000, MSG_PEEK) == 10);
	}
	CHECK(recv(p.b, bytes, 1000, 0) == 100 && recv(d.b, bytes, 1000, 0) == 10);
}

/* Every call that moves bytes, one message each. */
static void calls(void)
{
	struct iovec iov[2] = { { bytes, 10 }, { bytes, 20 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	struct pair p = streams();

	CHECK(write(p.a, bytes, 1) == 1 && read(p.b, bytes, 1000) == 1);
	CHECK(writev(p.a, iov, 2) == 30 && readv(p.b, iov, 2) == 30);
	CHECK(pwritev2(p.a, iov, 2, -1, 0) == 30 && preadv2(p.b, iov, 2, -1, 0) == 30);
	CHECK(sendmsg(p.a, &msg, 0) == 30 && recvmsg(p.b, &msg, 0) == 30);
	CHECK(send(p.a, bytes, 200, 0) == 200 && recv(p.b, bytes, 1000, 0) == 200);
}

static void file(void)
{
	struct pair p = streams();
	pthread_t reader;
	int fd = memfd_create("bulk", 0);

	CHECK(fd >= 0 && write(fd, bytes, BULK) == BULK && !lseek(fd, 0, SEEK_SET));
	CHECK(!pthread_create(&reader, NULL, receive_bulk, &p.b));
	for (size_t sent = 0; sent < BULK;) {
		ssize_t n = sendfile(p.a, fd, NULL, BULK - sent);

		CHECK(n > 0);
		sent += (size_t)n;
	}
	pthread_join(reader, NULL);
}

/* From a socket into a pipe, and from the pipe into a socket. */
static void splices(void)
{
	struct pair in = streams(), out = streams();
	pthread_t reader;
	int pipes[2];

	CHECK(!pipe(pipes) && !pthread_create(&reader, NULL, receive_bulk, &out.b));
	for (size_t sent = 0; sent < BULK; sent += BULK / 10) {
		CHECK(send(in.a, bytes, BULK / 10, 0) == BULK / 10);
		for (size_t left = BULK / 10; left;) {
			ssize_t n = splice(in.b, NULL, pipes[1], NULL, left, 0);

			CHECK(n > 0 && splice(pipes[0], NULL, out.a, NULL, (size_t)n, 0) == n);
			left -= (size_t)n;
		}
	}
	pthread_join(reader, NULL);
}

/* Non-blocking calls without data: no rows. */
static void again(void)
{
	struct pair p = streams(), d = datagrams();

	CHECK(!fcntl(p.b, F_SETFL, O_NONBLOCK));
	for (int i = 0; i < 10; i++) {
		CHECK(recv(p.b, bytes, 10, 0) < 0 && errno == EAGAIN);
		CHECK(read(p.b, bytes, 10) < 0 && errno == EAGAIN);
		CHECK(recv(d.b, bytes, 10, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	}
	CHECK(send(p.a, bytes, 5, 0) == 5 && recv(p.b, bytes, 10, 0) == 5);
}

static void timeouts(void)
{
	struct pair p = streams(), d = datagrams();

	set_timeout(p.b);
	set_timeout(d.b);
	CHECK(recv(p.b, bytes, 10, 0) < 0 && errno == EAGAIN);
	CHECK(recv(d.b, bytes, 10, 0) < 0 && errno == EAGAIN);
	CHECK(recv(p.b, bytes, 10, MSG_DONTWAIT) < 0 && errno == EAGAIN);
}

static void wake_up(int sig)
{
	(void)sig;
}

static void interrupted(void)
{
	const struct sigaction act = { .sa_handler = wake_up };
	const struct itimerval soon = { .it_value.tv_usec = 20000, .it_interval.tv_usec = 20000 };
	struct pair p = streams();

	CHECK(!sigaction(SIGALRM, &act, NULL) && !setitimer(ITIMER_REAL, &soon, NULL));
	CHECK(recv(p.b, bytes, 10, 0) < 0 && errno == EINTR);
	CHECK(!setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL));
}

static void errors(void)
{
	const struct linger reset = { .l_onoff = 1 };
	struct pair p = streams(), d = datagrams();

	CHECK(!setsockopt(p.b, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) && !close(p.b));
	CHECK(recv(p.a, bytes, 10, 0) < 0 && errno == ECONNRESET);
	CHECK(send(p.a, bytes, 10, MSG_NOSIGNAL) < 0 && errno == EPIPE);
	CHECK(!close(d.b) && send(d.a, bytes, 10, 0) == 10);
	CHECK(recv(d.a, bytes, 10, 0) < 0 && errno == ECONNREFUSED);
	CHECK(send(d.a, bytes, 70000, 0) < 0 && errno == EMSGSIZE);
}

static void end_of_stream(void)
{
	struct pair p = streams();

	CHECK(send(p.a, bytes, 7, 0) == 7 && !close(p.a));
	CHECK(recv(p.b, bytes, 10, 0) == 7);
	CHECK(recv(p.b, bytes, 10, 0) == 0 && recv(p.b, bytes, 10, 0) == 0);
}

static void empty_datagrams(void)
{
	struct pair d = datagrams();

	for (int i = 0; i < 3; i++)
		CHECK(send(d.a, bytes, 0, 0) == 0 && recv(d.b, bytes, 10, 0) == 0);
}

/* Five in one call, of 1 to 5 bytes, alternately to two unconnected sockets. */
static void many(void)
{
	union address to[2];
	int fd = socket(family, SOCK_DGRAM, 0);
	int servers[2] = { bound(SOCK_DGRAM, &to[0]), bound(SOCK_DGRAM, &to[1]) };
	struct iovec iov[5];
	struct mmsghdr msgs[5] = { 0 };

	for (unsigned i = 0; i < 5; i++) {
		iov[i] = (struct iovec){ bytes, i + 1 };
		msgs[i].msg_hdr = (struct msghdr){ .msg_name = &to[i % 2],
						   .msg_namelen = sizeof(to[0]),
						   .msg_iov = &iov[i],
						   .msg_iovlen = 1 };
	}
	CHECK(sendmmsg(fd, msgs, 5, 0) == 5);
	for (int i = 0; i < 3; i++)
		iov[i].iov_len = 10;
	CHECK(recvmmsg(servers[0], msgs, 3, 0, NULL) == 3);
	CHECK(recvmmsg(servers[1], msgs, 2, 0, NULL) == 2);
}

/* Prints the ports of both sockets; neither is connected. */
static void names(void)
{
	union address a, b, to, from;
	int first = bound(SOCK_DGRAM, &a), second = bound(SOCK_DGRAM, &b);
	socklen_t len = sizeof(from);
	struct iovec iov = { bytes, 2 };
	struct msghdr msg = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &iov, .msg_iovlen = 1
	};

	to = b;
	CHECK(sendto(first, bytes, 1, 0, &b.any, sizeof(b)) == 1);
	CHECK(sendmsg(first, &msg, 0) == 2);
	CHECK(recvfrom(second, bytes, 10, 0, &from.any, &len) == 1);
	CHECK(recvmsg(second, &msg, 0) == 2);
	printf("names%d %d %d\n", family == AF_INET ? 4 : 6,
	       ntohs(family == AF_INET ? a.v4.sin_port : a.v6.sin6_port),
	       ntohs(family == AF_INET ? b.v4.sin_port : b.v6.sin6_port));
}

/* An IPv6 socket that sends to an IPv4 address, mapped and as it is. */
static void mapped(void)
{
	union address to, clothed = { .v6 = { .sin6_family = AF_INET6 } };
	int server, fd = socket(AF_INET6, SOCK_DGRAM, 0);

	family = AF_INET;
	server = bound(SOCK_DGRAM, &to);
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &clothed.v6.sin6_addr);
	clothed.v6.sin6_port = to.v4.sin_port;
	CHECK(sendto(fd, bytes, 1, 0, &clothed.any, sizeof(clothed.v6)) == 1);
	CHECK(sendto(fd, bytes, 1, 0, &to.any, sizeof(to.v4)) == 1);
	CHECK(recv(server, bytes, 1, 0) == 1 && recv(server, bytes, 1, 0) == 1);
	printf("mapped %d\n", ntohs(to.v4.sin_port));
}

/* Sockets that are neither TCP nor UDP nor Unix. */
static void others(void)
{
	int raw = socket(AF_INET, SOCK_RAW, IPPROTO_UDP);
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	CHECK(raw >= 0);
	CHECK(sendto(raw, bytes, 8, 0, (void *)&to, sizeof(to)) == 8);
}

/* recvmsg() also returns the errors of a socket, which were not sent: no rows. */
static void error_queue(void)
{
	struct pair d = datagrams();
	struct iovec iov = { bytes, 100 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct pollfd fd = { .fd = d.a };
	int on = 1;

	CHECK(!setsockopt(d.a, family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6,
			  family == AF_INET ? IP_RECVERR : IPV6_RECVERR, &on, sizeof(on)));
	CHECK(!close(d.b) && send(d.a, bytes, 10, 0) == 10 && poll(&fd, 1, 5000) == 1);
	CHECK(recvmsg(d.a, &msg, MSG_ERRQUEUE) == 10);
}

/* sendto() and recvfrom() of 32-bit programs. */
#ifdef __x86_64__
static long call_32(long nr, int fd, const void *buffer, size_t sz)
{
	long ret;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpush %%rbp\n\txor %%ebp, %%ebp\n\tint $0x80\n\t"
			 "pop %%rbp\n\tlea 128(%%rsp), %%rsp"
			 : "=a"(ret)
			 : "a"(nr), "b"((long)fd), "c"(buffer), "d"(sz), "S"(0L), "D"(0L)
			 : "memory", "cc", "r8", "r9", "r10", "r11");
	return ret;
}
#else
#define MAP_32BIT 0

static long call_32(long nr, int fd, const void *buffer, size_t sz)
{
	(void)nr, (void)fd, (void)buffer, (void)sz;
	return -ENOSYS;
}
#endif

static void compat(void)
{
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct pair p = streams(), d = datagrams();

	CHECK(low != MAP_FAILED);
	CHECK(call_32(369, p.a, low, 100) == 100 && call_32(371, p.b, low, 1000) == 100);
	CHECK(call_32(369, d.a, low, 10) == 10 && call_32(371, d.b, low, 1000) == 10);
}

/* ---- io_uring ----------------------------------------------------------------------------------
 */

struct uring {
	int fd;
	struct io_uring_params p;
	struct io_uring_sqe *sqes;
	char *sq, *cq;
};

static void uring__open(struct uring *u)
{
	u->fd = (int)syscall(__NR_io_uring_setup, 4, &u->p);
	if (u->fd < 0) {
		printf("no io_uring\n");
		exit(0);
	}
	u->sqes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, u->fd, IORING_OFF_SQES);
	u->sq = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, u->fd, IORING_OFF_SQ_RING);
	u->cq = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, u->fd, IORING_OFF_CQ_RING);
	CHECK(u->sqes != MAP_FAILED && u->sq != MAP_FAILED && u->cq != MAP_FAILED);
}

/* Runs one operation to completion. */
static int uring__do(struct uring *u, const struct io_uring_sqe *op)
{
	unsigned *tail = (void *)(u->sq + u->p.sq_off.tail),
		 *head = (void *)(u->cq + u->p.cq_off.head);
	struct io_uring_cqe *cqes = (void *)(u->cq + u->p.cq_off.cqes);
	int res;

	u->sqes[0] = *op;
	*(unsigned *)(void *)(u->sq + u->p.sq_off.array +
			      (*tail & (u->p.sq_entries - 1)) * sizeof(unsigned)) = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	CHECK(syscall(__NR_io_uring_enter, u->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	res = cqes[*head & (u->p.cq_entries - 1)].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return res;
}

static void uring(uint8_t flags)
{
	struct pair p = streams();
	struct uring u = { 0 };
	struct io_uring_sqe op = { .flags = flags, .addr = (uintptr_t)bytes };

	uring__open(&u);
	for (int i = 0; i < 3; i++) {
		op.opcode = IORING_OP_SEND;
		op.fd = p.a;
		op.len = 100;
		CHECK(uring__do(&u, &op) == 100);
		op.opcode = IORING_OP_RECV;
		op.fd = p.b;
		op.len = 1000;
		CHECK(uring__do(&u, &op) == 100);
	}
}

static void uring_inline(void)
{
	uring(0);
}

/* By a kernel thread that belongs to this process. */
static void uring_worker(void)
{
	uring(IOSQE_ASYNC);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "peek", peek },
	{ "calls", calls },
	{ "file", file },
	{ "splice", splices },
	{ "again", again },
	{ "timeout", timeouts },
	{ "interrupted", interrupted },
	{ "errors", errors },
	{ "end", end_of_stream },
	{ "empty", empty_datagrams },
	{ "many", many },
	{ "names", names },
	{ "mapped", mapped },
	{ "others", others },
	{ "unix", unix_sockets },
	{ "error_queue", error_queue },
	{ "compat", compat },
	{ "uring", uring_inline },
	{ "uring_worker", uring_worker },
};

int main(int argc, char **argv)
{
	char name[16];

	for (size_t i = 0; argc == 3 && i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		family = strcmp(argv[2], "6") == 0 ? AF_INET6 : AF_INET;
		snprintf(name, sizeof(name), "%s%s", argv[1], argv[2]);
		prctl(PR_SET_NAME, name);
		cases[i].run();
		return 0;
	}
	errx(2, "usage: sockets CASE 4|6");
}
