// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ways in which connections begin and end, over loopback: the tests of `tcp` know the rows of each
 * case.
 * Usage: connections CASE 4|6.
 * The process takes the name CASE4 or CASE6, and prints the port of the listener, that of the
 * connecting side (0: none), its process id and the duration in ns.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int family = AF_INET;

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct result {
	union address listener, client;
	pid_t pid;
	long long ns;
};

static void check(bool ok, const char *what)
{
	if (!ok)
		err(1, "%s", what);
}

#define CHECK(x) check(x, #x)

static socklen_t address_sz(void)
{
	return family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static int port(const union address *a)
{
	return ntohs(family == AF_INET ? a->v4.sin_port : a->v6.sin6_port);
}

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void nap(void)
{
	usleep(100000);
}

static union address address_of(int fd)
{
	union address a;
	socklen_t sz = address_sz();

	CHECK(!getsockname(fd, &a.any, &sz));
	return a;
}

static int bound(struct result *r)
{
	union address a = { .any.sa_family = (sa_family_t)family };
	int fd = socket(family, SOCK_STREAM, 0);

	if (family == AF_INET)
		a.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		a.v6.sin6_addr = in6addr_loopback;
	CHECK(fd >= 0 && !bind(fd, &a.any, address_sz()));
	r->listener = address_of(fd);
	return fd;
}

static int listening(struct result *r, int backlog)
{
	int fd = bound(r);

	CHECK(!listen(fd, backlog));
	return fd;
}

__attribute__((noinline)) static int try_to_connect(int fd, struct result *r)
{
	long long begin_ns = now_ns();
	int failed = connect(fd, &r->listener.any, address_sz()), error = errno;

	r->ns = now_ns() - begin_ns;
	if (!failed || error == EINPROGRESS)
		r->client = address_of(fd);
	errno = error;
	return failed;
}

static int client(void)
{
	int fd = socket(family, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	return fd;
}

/* A listener with a full queue drops packets; accept() makes room. */
static int full(struct result *r)
{
	int listener = listening(r, 0);

	CHECK(!connect(client(), &r->listener.any, address_sz()));
	return listener;
}

struct pair {
	int client, server;
};

static struct pair connected(struct result *r)
{
	int listener = listening(r, 1);
	struct pair p = { client(), -1 };

	CHECK(!try_to_connect(p.client, r));
	p.server = accept(listener, NULL, NULL);
	CHECK(p.server >= 0 && !close(listener));
	return p;
}

__attribute__((noinline)) static void reset(int fd)
{
	const struct linger now = { .l_onoff = 1 };

	CHECK(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)) && !close(fd));
}

/* ---- cases -------------------------------------------------------------------------------------
 */

static void plain(struct result *r)
{
	connected(r);
}

static void refused(struct result *r)
{
	bound(r);
	CHECK(try_to_connect(client(), r) && errno == ECONNREFUSED);
}

/* Waits until the first thread is in its call, and for a while more. */
static void wait_until_asleep(void)
{
	char state = 0;

	while (state != 'S') {
		FILE *f = fopen("/proc/self/stat", "r");

		CHECK(f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1 && !fclose(f));
	}
	nap();
}

static void *connect_late(void *r)
{
	wait_until_asleep();
	try_to_connect(client(), r);
	return NULL;
}

/* Measures how long accept() takes. */
static void waiting(struct result *r)
{
	int listener = listening(r, 1);
	long long begin_ns = now_ns();
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, connect_late, r));
	CHECK(accept(listener, NULL, NULL) >= 0);
	begin_ns = now_ns() - begin_ns;
	pthread_join(thread, NULL);
	r->ns = begin_ns;
}

static void again(struct result *r)
{
	int listener = listening(r, 1);

	CHECK(!fcntl(listener, F_SETFL, O_NONBLOCK));
	for (int i = 0; i < 3; i++)
		CHECK(accept(listener, NULL, NULL) < 0 && errno == EAGAIN);
}

static void impatient(struct result *r)
{
	const struct timeval tv = { .tv_usec = 50000 };
	int listener = listening(r, 1);

	CHECK(!setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	CHECK(accept(listener, NULL, NULL) < 0 && errno == EAGAIN);
}

static void in_progress(struct result *r)
{
	struct pollfd fd = { .fd = client(), .events = POLLOUT };

	listening(r, 1);
	CHECK(!fcntl(fd.fd, F_SETFL, O_NONBLOCK));
	CHECK(try_to_connect(fd.fd, r) && errno == EINPROGRESS);
	CHECK(poll(&fd, 1, 5000) == 1);
}

/* There is no answer; the client closes after a while. */
static void given_up(struct result *r)
{
	int fd = client();
	long long begin_ns = now_ns();

	full(r);
	CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
	CHECK(try_to_connect(fd, r) && errno == EINPROGRESS);
	nap();
	CHECK(!close(fd));
	r->ns = now_ns() - begin_ns;
}

static void timeout(struct result *r)
{
	int fd = client(), ms = 100;

	full(r);
	CHECK(!setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms)));
	CHECK(try_to_connect(fd, r) && errno == ETIMEDOUT);
}

static void *accept_late(void *listener)
{
	wait_until_asleep();
	CHECK(accept(*(int *)listener, NULL, NULL) >= 0);
	return NULL;
}

/* The first packet is dropped, the second comes 1 s later. */
static void slow(struct result *r)
{
	int listener = full(r);
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, accept_late, &listener));
	CHECK(!try_to_connect(client(), r));
	pthread_join(thread, NULL);
}

/* In a separate network namespace with one local port. */
static void no_port(struct result *r)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int range;

	CHECK(!unshare(CLONE_NEWNET));
	CHECK(!ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &lo));
	range = open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY);
	CHECK(range >= 0 && write(range, "40000 40001", 11) == 11);
	listening(r, 5);
	CHECK(!connect(client(), &r->listener.any, address_sz()));
	CHECK(try_to_connect(client(), r) && errno == EADDRNOTAVAIL);
}

static void linger(struct result *r)
{
	struct pair p = connected(r);
	char byte;

	reset(p.client);
	CHECK(read(p.server, &byte, 1) < 0 && errno == ECONNRESET);
}

/* The kernel answers packets for a socket that is gone. */
static void gone(struct result *r)
{
	struct pair p = connected(r);
	struct pollfd fd = { .fd = p.client };

	CHECK(!close(p.server) && send(p.client, "x", 1, MSG_NOSIGNAL) == 1);
	CHECK(poll(&fd, 1, 5000) == 1 && fd.revents & POLLERR);
}

/* A child serves the connection that its parent has accepted. */
static void handed_on(struct result *r)
{
	struct pair p = connected(r);
	int has_read[2];
	char byte;

	CHECK(write(p.client, "x", 1) == 1 && !pipe(has_read));
	r->pid = fork();
	if (r->pid == 0) {
		close(p.client);
		CHECK(read(p.server, &byte, 1) == 1 && write(has_read[1], "x", 1) == 1);
		_exit(read(p.server, &byte, 1) < 0 && errno == ECONNRESET ? 0 : 1);
	}
	close(p.server);
	CHECK(read(has_read[0], &byte, 1) == 1);
	reset(p.client);
	CHECK(waitpid(r->pid, NULL, 0) == r->pid);
}

static const struct {
	const char *name;
	void (*run)(struct result *);
} cases[] = {
	{ "plain", plain },	    { "refused", refused },	{ "waiting", waiting },
	{ "again", again },	    { "impatient", impatient }, { "in_progress", in_progress },
	{ "given_up", given_up },   { "timeout", timeout },	{ "slow", slow },
	{ "no_port", no_port },	    { "linger", linger },	{ "gone", gone },
	{ "handed_on", handed_on },
};

int main(int argc, char **argv)
{
	struct result r = { .pid = getpid() };
	char name[16];

	for (size_t i = 0; argc == 3 && i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		family = strcmp(argv[2], "6") == 0 ? AF_INET6 : AF_INET;
		snprintf(name, sizeof(name), "%s%s", argv[1], argv[2]);
		prctl(PR_SET_NAME, name);
		cases[i].run(&r);
		printf("%s %d %d %d %lld\n", name, port(&r.listener), port(&r.client), r.pid, r.ns);
		return 0;
	}
	errx(2, "usage: connections CASE 4|6");
}
