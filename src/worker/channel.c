// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/channel.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int channel__pair(int sockets[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) ? -errno : 0;
}

int channel__send(int socket, struct message message, const void *payload, size_t sz, int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] __attribute__((aligned(8))) = { 0 };
	struct iovec parts[] = { { &message, sizeof(message) }, { (void *)payload, sz } };
	struct msghdr head = { .msg_iov = parts, .msg_iovlen = sz ? 2 : 1 };
	ssize_t n;

	if (sz > CHANNEL_PAYLOAD_MAX)
		return -EMSGSIZE;
	if (fd >= 0) {
		struct cmsghdr *c = (struct cmsghdr *)(void *)control;

		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
				       .cmsg_type = SCM_RIGHTS,
				       .cmsg_len = CMSG_LEN(sizeof(fd)) };
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
		head.msg_control = control;
		head.msg_controllen = sizeof(control);
	}
	do
		n = sendmsg(socket, &head, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return 0;
}

/* Takes the only descriptor. Returns false, and closes all, if there are several. */
static bool packet_take_descriptors(struct packet *p, struct cmsghdr *c)
{
	size_t cnt = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	bool one = cnt == 1 && p->fd < 0;

	for (size_t i = 0; i < cnt; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (one)
			p->fd = fd;
		else
			close(fd);
	}
	return one;
}

/* Returns false if a part is malformed. */
static bool packet_take_control(struct packet *p, struct msghdr *head)
{
	bool ok = true;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(head); c; c = CMSG_NXTHDR(head, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS)
			ok &= packet_take_descriptors(p, c);
		if (c->cmsg_type == SCM_CREDENTIALS &&
		    c->cmsg_len >= CMSG_LEN(sizeof(struct ucred)))
			memcpy(&p->sender, CMSG_DATA(c) + offsetof(struct ucred, pid),
			       sizeof(p->sender));
	}
	return ok;
}

int channel__receive(int socket, struct packet *p)
{
	char control[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))]
		__attribute__((aligned(8)));
	struct iovec parts[] = { { &p->message, sizeof(p->message) },
				 { p->payload, sizeof(p->payload) } };
	struct msghdr head = { .msg_iov = parts,
			       .msg_iovlen = 2,
			       .msg_control = control,
			       .msg_controllen = sizeof(control) };
	ssize_t n;

	p->fd = -1;
	p->sender = 0;
	do
		n = recvmsg(socket, &head, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 && errno != ECONNRESET ? -errno : -EPIPE;
	if (packet_take_control(p, &head) && !(head.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
	    (size_t)n >= sizeof(p->message)) {
		p->sz = (size_t)n - sizeof(p->message);
		return 0;
	}
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	return -EPROTO;
}
