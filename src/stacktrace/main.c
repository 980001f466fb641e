// SPDX-License-Identifier: GPL-2.0-or-later
/* stacktrace: converts raw stack samples to call chains. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "stacktrace/filter.h"

static volatile int interrupts;

/* Only counts: the program that writes the input gets the signal too, and ends the stream. */
static void main_on_interrupt(int sig)
{
	(void)sig;
	interrupts++;
}

static void main_set_signals(void)
{
	struct sigaction interrupt = { .sa_handler = main_on_interrupt };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

static int main_open_input(const char *path)
{
	int fd;

	if (!path)
		return STDIN_FILENO;
	do
		fd = open(path, O_RDONLY | O_CLOEXEC); /* blocks until a fifo has a writer */
	while (fd < 0 && errno == EINTR && interrupts < 3);
	if (fd < 0)
		log__error("%s: %s", path, strerror(errno));
	return fd;
}

static bool main_is_same_file(int in, const char *path)
{
	struct stat a, b;

	return fstat(in, &a) == 0 && stat(path, &b) == 0 && S_ISREG(a.st_mode) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int main_open_output(const char *path, int in)
{
	int fd;

	if (!path)
		return STDOUT_FILENO;
	if (main_is_same_file(in, path)) {
		log__error("%s is also the input", path);
		return -1;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		log__error("%s: %s", path, strerror(errno));
	return fd;
}

/*
 * Returns STATUS_OK, or an exit status after logging the reason. Rejects terminals. Rejects
 * folders, in which each thread of perf has its own file without round marks; perf inject merges
 * them.
 */
static int main_check(int in, int out, const char *name)
{
	struct stat st;

	if (fstat(in, &st) == 0 && S_ISDIR(st.st_mode)) {
		log__error("the input is a folder (perf record --threads); convert it to one "
			   "stream: perf inject -i %s -o - | stacktrace",
			   name ? name : "FOLDER");
		return STATUS_FAILED;
	}
	if (isatty(in) || isatty(out)) {
		log__error("%s is a terminal: see stacktrace --help",
			   isatty(in) ? "the input" : "the output");
		return STATUS_USAGE;
	}
	return STATUS_OK;
}

int main(int argc, char **argv)
{
	struct filter_options options;
	struct filter_files files = { .interrupts = &interrupts };
	int status;

	log__init("stacktrace", LOG_INFO);
	filter_options__parse(&options, argc, argv);
	if (options.verbosity > 1)
		log__init("stacktrace", LOG_DEBUG);
	main_set_signals();
	files.in = main_open_input(options.input);
	files.out = files.in < 0 ? -1 : main_open_output(options.output, files.in);
	if (files.in < 0 || files.out < 0)
		return STATUS_FAILED;
	status = main_check(files.in, files.out, options.input);
	return status ? status : filter__run(&options, &files);
}
