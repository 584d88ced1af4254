// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/status/server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/log.h"
#include "client-agent/status/metrics.h"
#include "common/clock.h"

static const uint64_t tick_usec = 1000000;

static void close_socket(struct canfs_status_server *status_server)
{
	if (status_server->socket[0])
		canfs_control_server_close(&status_server->server);
	status_server->socket[0] = '\0';
}

static void close_http(struct canfs_status_server *status_server)
{
	canfs_http_close(status_server->http);
	status_server->http = NULL;
	status_server->listen[0] = '\0';
}

static void open_socket(
	struct canfs_status_server *status_server, const struct canfs_agent_config *config)
{
	const struct canfs_control_service service = { .commands = canfs_status_commands,
		.less = "\"last\" or one \"mount\"",
		.subject = &status_server->view,
		.counters = &status_server->view.counters };
	int n = snprintf(status_server->socket, sizeof(status_server->socket), "%s%s/agent.sock",
		status_server->root, config->state_dir);
	int ret = n < (int)sizeof(status_server->socket)
			  ? canfs_control_server_open(
				    &status_server->server, status_server->socket, &service, 0)
			  : -ENAMETOOLONG;

	if (!ret)
		return;
	canfs_log("%s/agent.sock: %s; canfsctl cannot connect", config->state_dir, strerror(-ret));
	status_server->socket[0] = '\0';
}

static char *render(void *data)
{
	const struct canfs_status_server *status_server = data;
	json_t *status = canfs_status_json(&status_server->view, canfs_now_usec());
	json_t *servers = json_array();
	char *text;

	for (size_t i = 0; i < status_server->readers; i++)
		json_array_append_new(servers, canfs_server_reader_json(&status_server->reader[i]));
	text = status ? canfs_metrics_text(status, servers) : NULL;
	json_decref(status);
	json_decref(servers);
	return text;
}

static void close_readers(struct canfs_status_server *status_server)
{
	for (size_t i = 0; i < status_server->readers; i++)
		canfs_server_reader_close(&status_server->reader[i]);
	status_server->readers = 0;
}

/* Only while the metrics are served. */
static void open_readers(
	struct canfs_status_server *status_server, const struct canfs_config_list *servers)
{
	close_readers(status_server);
	status_server->servers = *servers;
	for (size_t i = 0; status_server->http && i < servers->n; i++) {
		int ret = canfs_server_reader_open(&status_server->reader[status_server->readers],
			status_server->root, servers->path[i]);

		if (ret == 0)
			status_server->readers++;
		else
			canfs_log("servers: %s: %s; no metrics of this server", servers->path[i],
				strerror(-ret));
	}
}

void canfs_status_server_configure(
	struct canfs_status_server *status_server, const struct canfs_agent_config *config)
{
	int ret;

	if (!status_server->socket[0])
		open_socket(status_server, config);
	if (strcmp(status_server->listen, config->metrics_listen) != 0) {
		close_http(status_server);
		ret = config->metrics_listen[0]
			      ? canfs_http_open(&status_server->http, config->metrics_listen,
					render, status_server)
			      : 0;
		if (ret)
			canfs_log("metrics_listen = %s: %s; no metrics", config->metrics_listen,
				strerror(-ret));
		else
			strcpy(status_server->listen, config->metrics_listen);
		open_readers(status_server, &config->servers);
	}
	if (memcmp(&status_server->servers, &config->servers, sizeof(config->servers)) != 0)
		open_readers(status_server, &config->servers);
}

void canfs_status_server_close(struct canfs_status_server *status_server)
{
	close_socket(status_server);
	close_http(status_server);
	close_readers(status_server);
}

size_t canfs_status_server_poll(struct canfs_status_server *status_server,
	struct pollfd polled[CANFS_DESK_POLLED], int *timeout_msec)
{
	size_t n = status_server->socket[0]
			   ? canfs_control_server_poll(&status_server->server, polled)
			   : 0;
	int http_msec = -1;

	if (status_server->http) {
		polled[n++] = (struct pollfd) { .fd = canfs_http_fd(status_server->http),
			.events = POLLIN };
		http_msec = canfs_http_timeout_msec(status_server->http);
	}
	if (http_msec >= 0 && http_msec < *timeout_msec)
		*timeout_msec = http_msec;
	for (size_t i = 0; i < status_server->readers; i++)
		n += canfs_server_reader_poll(
			&status_server->reader[i], canfs_now_usec(), polled + n, timeout_msec);
	status_server->polled = n;
	return n;
}

static bool has_news(const struct canfs_status_server *status_server, const struct pollfd *polled)
{
	for (size_t i = 0; i < status_server->polled; i++) {
		if (polled[i].revents)
			return true;
	}
	return false;
}

void canfs_status_server_serve(
	struct canfs_status_server *status_server, const struct pollfd *polled, uint64_t now_usec)
{
	bool is_due = now_usec - status_server->ticked_usec >= tick_usec;
	struct canfs_control_time now;

	if (!is_due && !status_server->http && !has_news(status_server, polled))
		return;
	now = canfs_control_time_now();
	if (status_server->socket[0])
		canfs_control_server_serve(&status_server->server, polled, now);
	/* libmicrohttpd finds out which connections are ready or have timed out. */
	if (status_server->http)
		canfs_http_run(status_server->http);
	for (size_t i = 0; i < status_server->readers; i++)
		canfs_server_reader_serve(&status_server->reader[i], now.monotonic_usec);
	if (!is_due)
		return;
	status_server->ticked_usec = now.monotonic_usec;
	if (status_server->socket[0])
		canfs_control_server_tick(&status_server->server, now.monotonic_usec);
}
