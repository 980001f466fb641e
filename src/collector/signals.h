/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The signals that control the collector, read from a descriptor. */
#ifndef COLLECTOR_SIGNALS_H
#define COLLECTOR_SIGNALS_H

enum signals {
	SIGNALS_INTERRUPT = 1, /* SIGINT, SIGTERM */
	SIGNALS_HANGUP = 2,    /* SIGHUP */
	SIGNALS_TRIGGER = 4,   /* SIGUSR1 */
};

/* Blocks the signals. Returns their descriptor or -errno. */
int signals__open(void);
/* Returns a set of enum signals: those that came since the last call. */
unsigned signals__read(int fd);

#endif
