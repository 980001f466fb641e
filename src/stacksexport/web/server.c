// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/utf8.h"
#include "stacksexport/web/answers.h"
#include "stacksexport/web/assets.h"
#include "stacksexport/web/jsonout.h"

#define BODY_MAX	(256 * 1024) /* of a POST */
#define HEADERS_MAX	(64 * 1024)
#define CONNECTIONS_MAX 512 /* a browser has six for each tab */
#define IDLE_SECONDS	10

/* Scripts, styles and requests may come from this server only, and no other page may embed this
 * one. */
static const struct {
	const char *name, *value;
} headers[] = {
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
	  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
	{ "Cache-Control", "no-store" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Referrer-Policy", "no-referrer" }, /* the address has the token in it */
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
};

/* One request, from its head to its answer. */
struct exchange {
	struct server *server;
	struct MHD_Connection *connection;
	struct buf body;
	struct web_request request;
	bool too_large, bad_params;
};

/* ---- what may be asked ---------------------------------------------------------------------- */

/* "127.0.0.1:1234" or "localhost:1234" */
static bool server_is_own_host(const struct server *s, const char *host)
{
	char own[64];

	snprintf(own, sizeof(own), "127.0.0.1:%u", s->port);
	if (strcasecmp(host, own) == 0)
		return true;
	snprintf(own, sizeof(own), "localhost:%u", s->port);
	return strcasecmp(host, own) == 0;
}

/* Returns false for requests through another host name (DNS rebinding), and for those of scripts
 * of other pages. */
static bool server_is_from_here(const struct exchange *e)
{
	const char *host = MHD_lookup_connection_value(e->connection, MHD_HEADER_KIND, "Host");
	const char *origin = MHD_lookup_connection_value(e->connection, MHD_HEADER_KIND, "Origin");

	if (!host || !server_is_own_host(e->server, host))
		return false;
	return !origin ||
	       (strncmp(origin, "http://", 7) == 0 && server_is_own_host(e->server, origin + 7));
}

/* Returns the path below the token, or NULL. Takes the same time for each wrong token. */
static const char *server_path_below_token(const struct server *s, const char *url)
{
	unsigned char difference = 0;

	if (strlen(url) < SERVER_TOKEN_SZ + 2 || url[0] != '/' || url[SERVER_TOKEN_SZ + 1] != '/')
		return NULL;
	for (size_t i = 0; i < SERVER_TOKEN_SZ; i++)
		difference |= (unsigned char)(url[1 + i] ^ s->token[i]);
	return difference ? NULL : url + SERVER_TOKEN_SZ + 2;
}

/* ---- answers -------------------------------------------------------------------------------- */

static enum MHD_Result server_send_response(const struct exchange *e, unsigned status,
					    struct MHD_Response *response, const char *type)
{
	enum MHD_Result sent;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		MHD_add_response_header(response, headers[i].name, headers[i].value);
	sent = MHD_queue_response(e->connection, status, response);
	MHD_destroy_response(response);
	return sent;
}

/* Takes the memory of the buffer. */
static enum MHD_Result server_send_json(const struct exchange *e, unsigned status, struct buf *json)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(json->sz, json->data, MHD_RESPMEM_MUST_FREE);

	return server_send_response(e, status, response, "application/json");
}

static enum MHD_Result server_send_error(const struct exchange *e, unsigned status,
					 const char *text, size_t sz)
{
	struct buf json = { 0 };

	json_out__open(&json, '{');
	json_out__key(&json, "error");
	json_out__text(&json, text, sz);
	json_out__close(&json, '}');
	return server_send_json(e, status, &json);
}

static enum MHD_Result server_refuse(const struct exchange *e, unsigned status, const char *text)
{
	return server_send_error(e, status, text, strlen(text));
}

static enum MHD_Result server_send_asset(const struct exchange *e, const char *path)
{
	const struct asset *asset = asset__find(*path ? path : "index.html");

	if (!asset)
		return server_refuse(e, 404, "there is no such page");
	return server_send_response(
		e, 200,
		MHD_create_response_from_buffer((size_t)(asset->end - asset->data),
						(void *)asset->data, MHD_RESPMEM_PERSISTENT),
		asset__type(asset));
}

static enum MHD_Result server_send_answer(struct exchange *e, const struct endpoint *endpoint)
{
	struct web_request *r = &e->request;
	struct answer a = { 0 };
	enum MHD_Result sent;

	r->view = e->server->view;
	r->source = &r->view->sources[0];
	r->body = (const char *)e->body.data;
	endpoint__answer(endpoint, r, &a);
	if (a.status == 200) {
		sent = server_send_json(e, 200, &a.json);
	} else {
		sent = server_send_error(e, (unsigned)a.status, (const char *)a.error.data,
					 a.error.sz);
		buf__free(&a.json);
	}
	buf__free(&a.error);
	return sent;
}

/* ---- requests ------------------------------------------------------------------------------- */

/* A parameter has no NUL and is UTF-8. */
static enum MHD_Result server_take_param(void *arg, enum MHD_ValueKind kind, const char *name,
					 size_t name_sz, const char *value, size_t value_sz)
{
	struct exchange *e = arg;

	(void)kind;
	if (strlen(name) != name_sz || (value && strlen(value) != value_sz) ||
	    (value && utf8__valid(value, value_sz) != value_sz) ||
	    query_params__set(&e->request.params, name, value ? value : "") != 0)
		e->bad_params = true;
	return MHD_YES;
}

static enum MHD_Result server_answer_api(struct exchange *e, const char *name, bool is_post)
{
	const struct endpoint *endpoint = endpoint__find(name);

	if (!endpoint)
		return server_refuse(e, 404, "there is no such request");
	if (endpoint->is_post != is_post)
		return server_refuse(e, 405,
				     endpoint->is_post ? "this request is a POST"
						       : "this request is a GET");
	MHD_get_connection_values_n(e->connection, MHD_GET_ARGUMENT_KIND, server_take_param, e);
	if (e->bad_params)
		return server_refuse(e, 400, "the parameters are no UTF-8, or too many");
	return server_send_answer(e, endpoint);
}

static enum MHD_Result server_answer(struct exchange *e, const char *url, const char *method)
{
	const char *path = server_path_below_token(e->server, url);
	bool is_post = strcmp(method, "POST") == 0;

	if (!server_is_from_here(e))
		return server_refuse(e, 403, "this server answers only its own page");
	if (!path)
		return server_refuse(e, 404, "the address is not complete: it has a token in it");
	if (!is_post && strcmp(method, "GET") != 0)
		return server_refuse(e, 405, "only GET and POST are known");
	if (e->too_large)
		return server_refuse(e, 413, "the request is too large");
	if (strncmp(path, "api/", 4) == 0)
		return server_answer_api(e, path + 4, is_post);
	return is_post ? server_refuse(e, 405, "a page is read by GET")
		       : server_send_asset(e, path);
}

/* Reads the rest of a body that is too large, so that the client reads the answer. */
static void server_take_body(struct exchange *e, const char *data, size_t sz)
{
	if (e->too_large || e->body.sz + sz > BODY_MAX)
		e->too_large = true;
	else
		buf__append(&e->body, data, sz);
}

static enum MHD_Result server_on_request(void *server, struct MHD_Connection *connection,
					 const char *url, const char *method, const char *version,
					 const char *data, size_t *sz, void **state)
{
	struct exchange *e = *state;

	(void)version;
	if (!e) {
		*state = e = calloc(1, sizeof(*e));
		if (!e)
			return MHD_NO;
		e->server = server;
		e->connection = connection;
		/* No timeout: the connection is idle while the answer is computed. */
		MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
		return MHD_YES;
	}
	if (*sz) {
		server_take_body(e, data, *sz);
		*sz = 0;
		return MHD_YES;
	}
	buf__u8(&e->body, 0);
	return buf__err(&e->body) ? MHD_NO : server_answer(e, url, method);
}

static void server_on_end(void *server, struct MHD_Connection *connection, void **state,
			  enum MHD_RequestTerminationCode code)
{
	struct exchange *e = *state;

	(void)server;
	(void)code;
	MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
				  (unsigned)IDLE_SECONDS);
	if (e)
		buf__free(&e->body);
	free(e);
	*state = NULL;
}

/* ---- starting and ending -------------------------------------------------------------------- */

static int server_make_token(char token[SERVER_TOKEN_SZ + 1])
{
	unsigned char bytes[SERVER_TOKEN_SZ / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int server__start(struct server *s, struct view *view)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	const union MHD_DaemonInfo *info = NULL;

	*s = (struct server){ .view = view };
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (server_make_token(s->token) == 0)
		s->daemon = MHD_start_daemon(
			MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
				MHD_USE_POLL,
			0, NULL, NULL, server_on_request, s, MHD_OPTION_SOCK_ADDR, &address,
			MHD_OPTION_NOTIFY_COMPLETED, server_on_end, s, MHD_OPTION_CONNECTION_LIMIT,
			CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
			MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MAX, MHD_OPTION_END);
	if (s->daemon)
		info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
	if (info && info->port) {
		s->port = info->port;
		return 0;
	}
	log__error("cannot listen on 127.0.0.1: %s", strerror(errno));
	return -EIO;
}

void server__stop(struct server *s)
{
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
}
