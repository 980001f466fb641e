// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"

#define MESSAGE_MAX 256

/* Returns false if the name is not one of a socket: a path, or '@' and an abstract name. */
static bool notify_set_address(struct notify *n, const char *name)
{
	size_t sz = strlen(name);

	if ((*name != '/' && *name != '@') || sz < 2 || sz >= sizeof(n->to.sun_path))
		return false;
	n->to.sun_family = AF_UNIX;
	memcpy(n->to.sun_path, name, sz);
	if (*name == '@')
		n->to.sun_path[0] = '\0';
	/* an abstract name has no terminator: each byte counts */
	n->to_sz = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sz + (*name == '/'));
	return true;
}

static uint64_t notify_half_of_watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t v;

	if (pid && (parse__u64(pid, &v) || v != (uint64_t)getpid()))
		return 0;
	if (!usec || parse__u64(usec, &v) || v > UINT64_MAX / 1000)
		return 0;
	return v * 1000 / 2;
}

void notify__open(struct notify *n)
{
	const char *name = getenv("NOTIFY_SOCKET");

	*n = (struct notify){ .fd = -1 };
	if (name && notify_set_address(n, name))
		n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->fd >= 0)
		n->watchdog_ns = notify_half_of_watchdog_ns();
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void notify__close(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

bool notify__is_open(const struct notify *n)
{
	return n->fd >= 0;
}

/* Returns false if the queue of the socket is full, or nothing receives. */
static bool notify_send(const struct notify *n, const char *message)
{
	const struct sockaddr *to = (const struct sockaddr *)&n->to;

	return n->fd < 0 ||
	       sendto(n->fd, message, strlen(message), MSG_NOSIGNAL, to, n->to_sz) >= 0;
}

void notify__ready(struct notify *n)
{
	n->ready_due = !notify_send(n, "READY=1");
}

void notify__status(const struct notify *n, const char *text)
{
	char message[MESSAGE_MAX];

	snprintf(message, sizeof(message), "STATUS=%s", text);
	notify_send(n, message);
}

void notify__stopping(struct notify *n)
{
	n->ready_due = false;
	n->watchdog_ns = 0;
	notify_send(n, "STOPPING=1");
}

void notify__tick(struct notify *n, uint64_t now_ns)
{
	if (n->ready_due)
		notify__ready(n);
	if (!n->watchdog_ns || now_ns < n->watchdog_due_ns)
		return;
	if (notify_send(n, "WATCHDOG=1"))
		n->watchdog_due_ns = now_ns + n->watchdog_ns;
}

uint64_t notify__interval_ns(const struct notify *n)
{
	return n->watchdog_ns ? n->watchdog_ns / 2 : UINT64_MAX;
}
