/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "client-agent/status/desk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "client-agent/log.h"
#include "client-agent/status/metrics.h"
#include "protocol/clock.h"

static const uint64_t tick_usec = 1000000;

static void close_socket(struct canfs_desk *desk)
{
	if (desk->socket[0])
		canfs_control_server_close(&desk->server);
	desk->socket[0] = '\0';
}

static void close_http(struct canfs_desk *desk)
{
	canfs_http_close(desk->http);
	desk->http = NULL;
	desk->listen[0] = '\0';
}

static int open_socket(struct canfs_desk *desk, const char *socket)
{
	const struct canfs_control_service service = { .commands = canfs_status_commands,
		.less = "\"last\" or one \"mount\"",
		.subject = &desk->view,
		.counters = &desk->view.counters };
	char path[CANFS_SOCKET_PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s%s", desk->root, socket) >= sizeof(path))
		return -ENAMETOOLONG;
	return canfs_control_server_open(&desk->server, path, &service, 0);
}

static char *render(void *data)
{
	const struct canfs_desk *desk = data;
	json_t *status = canfs_status_json(&desk->view, canfs_now_usec());
	char *text = status ? canfs_metrics_text(status) : NULL;

	json_decref(status);
	return text;
}

void canfs_desk_configure(struct canfs_desk *desk, const struct canfs_config *config)
{
	int ret;

	if (strcmp(desk->socket, config->control_socket) != 0) {
		close_socket(desk);
		ret = config->control_socket[0] ? open_socket(desk, config->control_socket) : 0;
		if (ret)
			canfs_log("control_socket = %s: %s; canfsctl cannot ask",
				config->control_socket, strerror(-ret));
		else
			strcpy(desk->socket, config->control_socket);
	}
	if (strcmp(desk->listen, config->metrics_listen) != 0) {
		close_http(desk);
		ret = config->metrics_listen[0]
			      ? canfs_http_open(&desk->http, config->metrics_listen, render, desk)
			      : 0;
		if (ret)
			canfs_log("metrics_listen = %s: %s; no metrics", config->metrics_listen,
				strerror(-ret));
		else
			strcpy(desk->listen, config->metrics_listen);
	}
}

void canfs_desk_close(struct canfs_desk *desk)
{
	close_socket(desk);
	close_http(desk);
}

size_t canfs_desk_poll(
	struct canfs_desk *desk, struct pollfd polled[CANFS_DESK_POLLED], int *timeout_msec)
{
	size_t n = desk->socket[0] ? canfs_control_server_poll(&desk->server, polled) : 0;
	int http_msec;

	if (!desk->http)
		return n;
	polled[n] = (struct pollfd) { .fd = canfs_http_fd(desk->http), .events = POLLIN };
	http_msec = canfs_http_timeout_msec(desk->http);
	if (http_msec >= 0 && http_msec < *timeout_msec)
		*timeout_msec = http_msec;
	return n + 1;
}

void canfs_desk_serve(struct canfs_desk *desk, const struct pollfd *polled)
{
	struct canfs_control_time now = canfs_control_time_now();

	if (desk->socket[0])
		canfs_control_server_serve(&desk->server, polled, now);
	/* It sees itself who is ready, and whose time is over. */
	if (desk->http)
		canfs_http_run(desk->http);
	if (now.monotonic_usec - desk->ticked_usec < tick_usec)
		return;
	desk->ticked_usec = now.monotonic_usec;
	if (desk->socket[0])
		canfs_control_server_tick(&desk->server, now.monotonic_usec);
}
