// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `stacksexport metrics`: gives Prometheus the file that `collector --metrics` writes, by HTTP on
 * 127.0.0.1. The collector itself has rights of root and no server.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"
#include "stacksexport/commands.h"

#define DEFAULT_PORT	9464
#define TEXT_MAX	(4 << 20)
#define STALE_S		30 /* the collector writes every five seconds */
#define CONNECTIONS_MAX 16
#define IDLE_SECONDS	10

/* As Prometheus wants it (exposition formats, text-based format). */
#define CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Returns the text, which the caller frees, or NULL with the reason in *why. */
static char *read_metrics(const char *path, size_t *sz, const char **why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st = { 0 };
	char *text = NULL;
	ssize_t n = -1;

	*why = "the collector's metrics cannot be read: is it running?\n";
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= TEXT_MAX)
		text = malloc((size_t)st.st_size + 1);
	if (text)
		n = pread(fd, text, (size_t)st.st_size, 0);
	if (fd >= 0)
		close(fd);
	if (n >= 0 && time(NULL) - st.st_mtime > STALE_S) {
		*why = "the collector has not written its metrics for half a minute\n";
		n = -1;
	}
	*sz = n < 0 ? 0 : (size_t)n;
	if (n >= 0)
		return text;
	free(text);
	return NULL;
}

static enum MHD_Result metrics_send_text(struct MHD_Connection *connection, unsigned status,
					 struct MHD_Response *response)
{
	enum MHD_Result sent;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", CONTENT_TYPE);
	sent = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return sent;
}

static enum MHD_Result metrics_refuse(struct MHD_Connection *connection, unsigned status,
				      const char *why)
{
	return metrics_send_text(
		connection, status,
		MHD_create_response_from_buffer(strlen(why), (void *)why, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result metrics_on_request(void *path, struct MHD_Connection *connection,
					  const char *url, const char *method, const char *version,
					  const char *data, size_t *data_sz, void **state)
{
	const char *why;
	size_t sz;
	char *text;

	(void)version;
	(void)data;
	(void)state;
	if (*data_sz || (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0))
		return *data_sz ? MHD_NO : metrics_refuse(connection, 405, "only GET is known\n");
	if (strcmp(url, "/metrics") != 0)
		return metrics_refuse(connection, 404, "the metrics are at /metrics\n");
	text = read_metrics(path, &sz, &why);
	if (!text)
		return metrics_refuse(connection, 503, why);
	return metrics_send_text(connection, 200,
				 MHD_create_response_from_buffer(sz, text, MHD_RESPMEM_MUST_FREE));
}

static struct MHD_Daemon *metrics_start_server(const char *path, uint64_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, metrics_on_request,
				(void *)path, MHD_OPTION_SOCK_ADDR, &address,
				MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
				MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_END);
}

static void metrics_say_port(struct MHD_Daemon *server)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(server, MHD_DAEMON_INFO_BIND_PORT);

	printf("http://127.0.0.1:%u/metrics\n", info ? info->port : 0);
	fflush(stdout);
}

int metrics__run(const struct export_options *o)
{
	uint64_t port = DEFAULT_PORT;
	struct MHD_Daemon *server;
	sigset_t signals;
	int signal;

	if (!o->argument_cnt)
		return export_options__wrong(o, "name the file of collector --metrics");
	if (o->argument_cnt > 1 && (parse__u64(o->arguments[1], &port) != 0 || port > UINT16_MAX))
		return export_options__wrong(o, "'%s' is not a port", o->arguments[1]);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	server = metrics_start_server(o->arguments[0], port);
	if (!server) {
		log__error("cannot listen on 127.0.0.1, port %u: %s", (unsigned)port,
			   strerror(errno));
		return STATUS_FAILED;
	}
	metrics_say_port(server);
	sigwait(&signals, &signal);
	MHD_stop_daemon(server);
	return STATUS_OK;
}
