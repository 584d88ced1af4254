// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/status/http.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "client-agent/config/listen.h"
#include "client-agent/status/metrics.h"

#define IDLE_SEC     10u
#define MEMORY_BYTES ((size_t)16384)

/*
 * Loaded on demand, not linked. The library brings TLS libraries, which are useless on the loopback
 * and would double the agent's memory on every client.
 */
#define LIBRARY "libmicrohttpd.so.12"

struct library {
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_stop_daemon) *stop_daemon;
	__typeof__(MHD_run) *run;
	__typeof__(MHD_get_timeout) *get_timeout;
	__typeof__(MHD_get_daemon_info) *get_daemon_info;
	__typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
	__typeof__(MHD_add_response_header) *add_response_header;
	__typeof__(MHD_queue_response) *queue_response;
	__typeof__(MHD_destroy_response) *destroy_response;
};

static const struct {
	const char *name;
	size_t offset;
} symbols[] = {
	{ "MHD_start_daemon", offsetof(struct library, start_daemon) },
	{ "MHD_stop_daemon", offsetof(struct library, stop_daemon) },
	{ "MHD_run", offsetof(struct library, run) },
	{ "MHD_get_timeout", offsetof(struct library, get_timeout) },
	{ "MHD_get_daemon_info", offsetof(struct library, get_daemon_info) },
	{ "MHD_create_response_from_buffer",
		offsetof(struct library, create_response_from_buffer) },
	{ "MHD_add_response_header", offsetof(struct library, add_response_header) },
	{ "MHD_queue_response", offsetof(struct library, queue_response) },
	{ "MHD_destroy_response", offsetof(struct library, destroy_response) },
};

struct canfs_http {
	struct library mhd;
	struct MHD_Daemon *daemon;
	canfs_http_render *render;
	void *data;
};

/* Never unloads the library, because it may be needed again after the next SIGHUP. */
static int load(struct library *mhd)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return -ELIBACC;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(library, symbols[i].name);

		if (!symbol)
			return -ELIBBAD;
		memcpy((char *)mhd + symbols[i].offset, &symbol, sizeof(symbol));
	}
	return 0;
}

/* Takes ownership of text. If text is NULL, only the status is sent. */
static enum MHD_Result reply(const struct library *mhd, struct MHD_Connection *connection,
	unsigned int status, const char *header, const char *value, char *text)
{
	struct MHD_Response *response = mhd->create_response_from_buffer(
		text ? strlen(text) : 0, text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (!response) {
		free(text);
		return MHD_NO;
	}
	if (header)
		mhd->add_response_header(response, header, value);
	result = mhd->queue_response(connection, status, response);
	mhd->destroy_response(response);
	return result;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size,
	void **state)
{
	static int seen;
	struct canfs_http *http = data;
	char *text;

	(void)version;
	(void)upload;
	if (!*state) { /* headers only; libmicrohttpd calls again for the rest */
		*state = &seen;
		return MHD_YES;
	}
	if (*upload_size) { /* discard the body */
		*upload_size = 0;
		return MHD_YES;
	}
	if (strcmp(url, "/metrics") != 0)
		return reply(&http->mhd, connection, MHD_HTTP_NOT_FOUND,
			MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain",
			strdup("canfs-agent: only /metrics is served\n"));
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return reply(&http->mhd, connection, MHD_HTTP_METHOD_NOT_ALLOWED,
			MHD_HTTP_HEADER_ALLOW, "GET, HEAD", NULL);
	text = http->render(http->data);
	if (!text)
		return reply(
			&http->mhd, connection, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, NULL, NULL);
	return reply(&http->mhd, connection, MHD_HTTP_OK, MHD_HTTP_HEADER_CONTENT_TYPE,
		CANFS_METRICS_TYPE, text);
}

int canfs_http_open(
	struct canfs_http **http, const char *listen, canfs_http_render *render, void *data)
{
	struct sockaddr_storage address;
	struct canfs_http *new;
	unsigned int flags = MHD_USE_EPOLL;
	int ret = canfs_listen_parse(listen, &address);

	if (ret)
		return ret;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	*new = (struct canfs_http) { .render = render, .data = data };
	ret = load(&new->mhd);
	if (ret) {
		free(new);
		return ret;
	}
	if (address.ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	new->daemon = new->mhd.start_daemon(flags, 0, NULL, NULL, on_request, new,
		MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)CANFS_HTTP_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SEC,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_BYTES, MHD_OPTION_END);
	if (!new->daemon) {
		ret = errno ? -errno : -ENOMEM;
		free(new);
		return ret;
	}
	*http = new;
	return 0;
}

void canfs_http_close(struct canfs_http *http)
{
	if (!http)
		return;
	http->mhd.stop_daemon(http->daemon);
	free(http);
}

int canfs_http_fd(const struct canfs_http *http)
{
	return http->mhd.get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int canfs_http_timeout_msec(const struct canfs_http *http)
{
	MHD_UNSIGNED_LONG_LONG timeout;

	if (http->mhd.get_timeout(http->daemon, &timeout) != MHD_YES)
		return -1;
	return timeout < INT_MAX ? (int)timeout : INT_MAX;
}

void canfs_http_run(struct canfs_http *http)
{
	http->mhd.run(http->daemon);
}
