/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page's HTTP server. It listens on 127.0.0.1 only, at a port that the kernel chooses. Each
 * request must begin with a random token and name this server as its host. So neither other users
 * nor other pages of a browser can read the recording.
 */
#ifndef STACKSEXPORT_WEB_SERVER_H
#define STACKSEXPORT_WEB_SERVER_H

#include "stacksexport/web/view.h"

#define SERVER_TOKEN_SZ 32 /* 128 bits in hexadecimal */

struct server {
	struct view *view;
	struct MHD_Daemon *daemon;
	unsigned port;
	char token[SERVER_TOKEN_SZ + 1];
};

/* Returns 0 or -errno (already logged). */
int server__start(struct server *, struct view *);

/* Returns when all requests have ended. */
void server__stop(struct server *);

#endif
