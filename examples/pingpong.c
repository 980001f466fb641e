// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two processes that send each other messages over loopback, so that every byte is known.
 *
 * Usage: pingpong tcp4|tcp6|udp4|udp6 [ROUNDS] [BYTES]: in each round a message of BYTES goes there
 * and one back. The server's UDP socket is not connected, the client's is. Port 0 is taken: the
 * kernel chooses.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char message[65536];

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t loopback(union address *a, int v6)
{
	memset(a, 0, sizeof(*a));
	if (v6) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_addr = in6addr_loopback;
		return sizeof(a->v6);
	}
	a->v4.sin_family = AF_INET;
	a->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sizeof(a->v4);
}

static void receive_all(int fd, size_t sz)
{
	for (size_t got = 0; got < sz;) {
		ssize_t n = recv(fd, message, sz - got, MSG_WAITALL);

		if (n <= 0)
			err(1, "recv");
		got += (size_t)n;
	}
}

__attribute__((noinline)) static void serve_stream(int listener, int rounds, size_t sz)
{
	int fd = accept(listener, NULL, NULL);

	for (int i = 0; i < rounds; i++) {
		receive_all(fd, sz);
		if (send(fd, message, sz, 0) != (ssize_t)sz)
			err(1, "send");
	}
	close(fd);
}

__attribute__((noinline)) static void serve_datagrams(int fd, int rounds, size_t sz)
{
	for (int i = 0; i < rounds; i++) {
		union address from;
		socklen_t len = sizeof(from);

		if (recvfrom(fd, message, sz, 0, &from.any, &len) != (ssize_t)sz ||
		    sendto(fd, message, sz, 0, &from.any, len) != (ssize_t)sz)
			err(1, "server");
	}
}

__attribute__((noinline)) static void play(int fd, int rounds, size_t sz)
{
	for (int i = 0; i < rounds; i++) {
		if (send(fd, message, sz, 0) != (ssize_t)sz)
			err(1, "send");
		receive_all(fd, sz);
	}
}

int main(int argc, char **argv)
{
	int tcp = argc > 1 && !strncmp(argv[1], "tcp", 3), type = tcp ? SOCK_STREAM : SOCK_DGRAM;
	int v6 = argc > 1 && strlen(argv[1]) == 4 && argv[1][3] == '6', on = 1;
	int rounds = argc > 2 ? atoi(argv[2]) : 1000;
	size_t sz = argc > 3 ? strtoul(argv[3], NULL, 10) : 100;
	union address to;
	socklen_t len = loopback(&to, v6);
	int server = socket(to.any.sa_family, type, 0), client = socket(to.any.sa_family, type, 0);
	pid_t child;

	if (argc < 2 || rounds < 1 || sz < 1 || sz > sizeof(message))
		errx(2, "usage: pingpong tcp4|tcp6|udp4|udp6 [ROUNDS] [BYTES]");
	if (bind(server, &to.any, len) || (tcp && listen(server, 1)) ||
	    getsockname(server, &to.any, &len))
		err(1, "server");
	child = fork();
	if (child == 0) {
		close(client);
		(tcp ? serve_stream : serve_datagrams)(server, rounds, sz);
		return 0;
	}
	if (connect(client, &to.any, len))
		err(1, "connect");
	if (tcp)
		setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	play(client, rounds, sz);
	printf("%s port %d: %d messages of %zu bytes each way\n", argv[1],
	       ntohs(v6 ? to.v6.sin6_port : to.v4.sin_port), rounds, sz);
	waitpid(child, NULL, 0);
	return 0;
}
