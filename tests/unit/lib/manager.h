/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A service manager's socket, for tests that play the service manager. */
#ifndef UNIT_MANAGER_H
#define UNIT_MANAGER_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/test.h"

struct manager {
	int fd;
	char name[64]; /* as in NOTIFY_SOCKET */
	char text[512];
};

/* Binds a socket with a path ('/') or an abstract name ('@'), and puts it into the environment. */
static inline void manager__begin(struct manager *m, char kind)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t sz;

	snprintf(m->name, sizeof(m->name), "%s%d",
		 kind == '/' ? "/tmp/test_notify." : "@test_notify.", (int)getpid());
	sz = strlen(m->name);
	memcpy(at.sun_path, m->name, sz);
	if (kind == '@')
		at.sun_path[0] = '\0';
	m->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(m->fd >= 0);
	assert_int_equal(bind(m->fd, (struct sockaddr *)&at,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sz)),
			 0);
	setenv("NOTIFY_SOCKET", m->name, 1);
}

static inline void manager__end(struct manager *m)
{
	close(m->fd);
	if (*m->name == '/')
		unlink(m->name);
}

/* Returns the next message; "" if there is none. */
static inline const char *manager__received(struct manager *m)
{
	ssize_t sz = recv(m->fd, m->text, sizeof(m->text) - 1, 0);

	m->text[sz > 0 ? sz : 0] = '\0';
	return m->text;
}

#endif
