/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The case `unix` of sockets.c, which has family, bytes and CHECK(). */
#ifndef SOCKETS_UNIX_H
#define SOCKETS_UNIX_H

#include <stddef.h>
#include <sys/un.h>

/* One message of `sz` bytes, which is looked at first. */
static void pass_unix(int from, int to, size_t sz)
{
	CHECK(write(from, bytes, sz) == (ssize_t)sz);
	CHECK(recv(to, bytes, BULK, MSG_PEEK) == (ssize_t)sz);
	CHECK(recv(to, bytes, BULK, 0) == (ssize_t)sz);
}

/* A server at an abstract address and its client, and pairs of sockets without an address. */
static void unix_sockets(void)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1;
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	int pair[2], server;

	len += (socklen_t)snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "stacks-%d-%d", family,
				   getpid());
	CHECK(!bind(listener, (struct sockaddr *)&at, len) && !listen(listener, 1));
	CHECK(!connect(client, (struct sockaddr *)&at, len));
	server = accept(listener, NULL, NULL);
	CHECK(server >= 0);
	pass_unix(client, server, 100);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		CHECK(!socketpair(AF_UNIX, types[i], 0, pair));
		pass_unix(pair[0], pair[1], 10);
	}
	CHECK(!close(client) && recv(server, bytes, BULK, 0) == 0);
	printf("unix%d @%s %d\n", family == AF_INET ? 4 : 6, at.sun_path + 1, getpid());
}

#endif
