/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real debuginfod server on loopback. */
#ifndef UNIT_DEBUGINFOD_H
#define UNIT_DEBUGINFOD_H

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elf/elffile.h"
#include "lib/shell.h"

/* A socket on an unused port of loopback: requests to it get no answer. */
static inline int debuginfod__listen(char url[64])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t sz = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sz), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &sz), 0);
	snprintf(url, 64, "http://127.0.0.1:%d", ntohs(a.sin_port));
	return fd;
}

static inline pid_t debuginfod__start(const char *dir, const char *url)
{
	const char *port = strrchr(url, ':') + 1;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!freopen("/dev/null", "w", stderr))
			_exit(127);
		execlp("debuginfod", "debuginfod", "-F", dir, "-p", port, "-d", ":memory:", NULL);
		_exit(127);
	}
	return pid;
}

/* Waits until it has indexed its folder. */
static inline void debuginfod__wait(const char *url, const struct build_id *id)
{
	char hex[2 * BUILD_ID_MAX + 1];

	for (int i = 0; i < id->sz; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
	shell__run("python3 -c '\n"
		   "import time, urllib.request\n"
		   "for i in range(600):\n"
		   "    try:\n"
		   "        urllib.request.urlopen(\"%s/buildid/%s/executable\")\n"
		   "        break\n"
		   "    except OSError:\n"
		   "        time.sleep(0.1)\n"
		   "else:\n"
		   "    exit(1)'",
		   url, hex);
}

/* Sets the server and the cache for clients from now on. */
static inline void debuginfod__set(const char *url, const char *dir)
{
	char cache[128];

	snprintf(cache, sizeof(cache), "%s/cache", dir);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
}

#endif
