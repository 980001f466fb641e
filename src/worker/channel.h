/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between the program, the process that starts workers, and the workers. */
#ifndef WORKER_CHANNEL_H
#define WORKER_CHANNEL_H

#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>

enum message_kind {
	/* to and from the process that starts workers */
	MESSAGE_READY,	 /* from it: it is ready. `pid` is its process */
	MESSAGE_START,	 /* to it: start a worker on the socket `fd`, for the user `value` */
	MESSAGE_STARTED, /* from it: it has started `pid`, or `err` */
	MESSAGE_KILL,	 /* to it: kill its child `pid`, which read a file of the user `value` */
	/* to and from a worker */
	MESSAGE_HELLO,	 /* from it: it is ready, or `err` at the step `value` */
	MESSAGE_REQUEST, /* to it: request number `value`, about the file `fd` */
	MESSAGE_WANT,	 /* from it: what it needs to go on */
	MESSAGE_GIVE,	 /* to it: `fd`, or `err` */
	MESSAGE_ANSWER,	 /* from it: the payload, or the bytes of the memory file `fd`, or `err` */
};

struct message {
	uint32_t kind; /* enum message_kind */
	int32_t err;   /* 0 or -errno */
	int32_t pid;
	uint32_t value;
};

#define CHANNEL_PAYLOAD_MAX 16384

/* One message with its payload. */
struct packet {
	struct message message;
	int fd;	      /* -1: none */
	pid_t sender; /* as the kernel says, if the socket has SO_PASSCRED; else 0 */
	size_t sz;    /* of the payload */
	uint8_t payload[CHANNEL_PAYLOAD_MAX];
};

/* Creates a pair of sockets (SOCK_SEQPACKET, close-on-exec). Returns 0 or -errno. */
int channel__pair(int sockets[2]);

/*
 * Sends the message with `sz` bytes of payload and a descriptor (-1: none), which stays open.
 * Returns 0 or -errno: -EPIPE if the other side is gone, -EAGAIN if it does not read, so that the
 * queue is full. Does not block.
 */
int channel__send(int socket, struct message, const void *payload, size_t sz, int fd);

/*
 * Waits for a message. The caller closes `->fd`. Returns 0, -EPIPE if the other side is gone, or
 * -EPROTO if the message is malformed, for example if it has several descriptors, which are
 * closed.
 */
int channel__receive(int socket, struct packet *);

#endif
