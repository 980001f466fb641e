/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to the service manager that started this program, as sd_notify(3) defines them. Without
 * a service manager every function does nothing. */
#ifndef COLLECTOR_NOTIFY_H
#define COLLECTOR_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct notify {
	int fd; /* -1: no service manager */
	struct sockaddr_un to;
	socklen_t to_sz;
	bool ready_due;		  /* READY=1 did not fit into the queue of the socket yet */
	uint64_t watchdog_ns;	  /* interval of WATCHDOG=1, half of what is allowed; 0: none */
	uint64_t watchdog_due_ns; /* CLOCK_MONOTONIC of the next one */
};

/*
 * Takes the socket and the watchdog's time from the environment, and removes them there, so that no
 * launched command sends messages in this program's name. Call it in the process that the service
 * manager started: the watchdog's time may be for that process only. Its children may use `n`.
 * Malformed values count as absent.
 */
void notify__open(struct notify *n);
void notify__close(struct notify *n);
bool notify__is_open(const struct notify *n);

/* Send one datagram each. Never block. */
void notify__ready(struct notify *n); /* notify__tick() sends it again if the queue is full */
void notify__status(const struct notify *n, const char *text);
void notify__stopping(struct notify *n); /* no watchdog afterwards */
/* Sends what is due at `now_ns` of CLOCK_MONOTONIC. */
void notify__tick(struct notify *n, uint64_t now_ns);
/* Returns the longest wait between two ticks that is punctual enough; UINT64_MAX: any. */
uint64_t notify__interval_ns(const struct notify *n);

#endif
