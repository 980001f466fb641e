// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/log.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

#define WAIT_MS 200

static struct {
	const char *program;
	enum log_level level;
	void (*before)(void);
} state = { "stacks", LOG_INFO, NULL };

static void log_fill_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

void log__init(const char *program, enum log_level level)
{
	log_fill_streams();
	state.program = program;
	state.level = level;
}

void log__set_before(void (*before)(void))
{
	state.before = before;
}

bool log__writable(int wait_ms)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&p, 1, wait_ms) > 0;
}

/* Sanitizes the message: it may contain names of hostile processes and files. */
static void __attribute__((format(printf, 3, 0)))
log_print(enum log_level level, const char *prefix, const char *fmt, va_list ap)
{
	struct buf shown = { 0 };
	char line[2048];

	if (level > state.level || !log__writable(WAIT_MS))
		return;
	if (state.before)
		state.before();
	vsnprintf(line, sizeof(line), fmt, ap);
	utf8__sanitize_lines(&shown, line, strlen(line));
	fprintf(stderr, "%s: %s%.*s\n", state.program, prefix, (int)shown.sz, shown.data);
	buf__free(&shown);
}

#define LOG_FN(name, level, prefix)                \
	void log__##name(const char *fmt, ...)     \
	{                                          \
		va_list ap;                        \
		va_start(ap, fmt);                 \
		log_print(level, prefix, fmt, ap); \
		va_end(ap);                        \
	}

LOG_FN(error, LOG_ERROR, "")
LOG_FN(warn, LOG_WARN, "warning: ")
LOG_FN(answer, LOG_ERROR, "")
LOG_FN(info, LOG_INFO, "")
LOG_FN(debug, LOG_DEBUG, "debug: ")
