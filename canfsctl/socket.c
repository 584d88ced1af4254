// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/socket.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/control/request.h"

/* Daemons answer from memory, so a longer delay means that the daemon is stuck. */
#define TIMEOUT_SEC 10

bool ctl_dial(struct ctl_peer *peer)
{
	const double sec = peer->timeout_sec > 0 ? peer->timeout_sec : TIMEOUT_SEC;
	const struct timeval timeout = { .tv_sec = (time_t)sec,
		.tv_usec = (suseconds_t)((sec - (double)(time_t)sec) * 1e6) };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(peer->socket) >= sizeof(address.sun_path)) {
		snprintf(peer->error, sizeof(peer->error),
			"--socket: '%.256s' is longer than %zu characters", peer->socket,
			sizeof(address.sun_path) - 1);
		return false;
	}
	strcpy(address.sun_path, peer->socket);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) == 0 &&
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) == 0 &&
		connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		peer->stream = fdopen(fd, "r");
	if (peer->stream)
		return true;
	snprintf(peer->error, sizeof(peer->error), "%s: %s (is the %s running, and are you root?)",
		peer->socket, strerror(errno), peer->who);
	if (fd >= 0)
		close(fd);
	return false;
}

bool ctl_dial_server(struct ctl_peer *peer, const char *socket)
{
	peer->socket = socket ? socket : CTL_GANESHA_SOCKET;
	if (ctl_dial(peer))
		return true;
	if (socket)
		return false;
	peer->socket = CTL_SIDECAR_SOCKET;
	if (ctl_dial(peer))
		return true;
	/* Dial again, so that the error names this socket. */
	peer->socket = CTL_GANESHA_SOCKET;
	return ctl_dial(peer);
}

void ctl_hang_up(struct ctl_peer *peer)
{
	if (peer->stream)
		fclose(peer->stream);
	peer->stream = NULL;
}

/* Sends the request. Returns the reply line, which the caller frees, or NULL with error set. */
static char *exchange(struct ctl_peer *peer, const json_t *request)
{
	char *text = canfs_control_print(request, JSON_COMPACT), *line = NULL;
	const int fd = fileno(peer->stream);
	size_t size = 0;

	errno = text ? 0 : ENOMEM;
	/*
	 * A daemon at its connection limit sends an error line and closes without reading. Ignore
	 * EPIPE, and read that line.
	 */
	if (text)
		(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
	free(text);
	if (errno == EPIPE)
		errno = 0;
	if (errno == 0 && getline(&line, &size, peer->stream) >= 0)
		return line;
	if (errno == EAGAIN)
		snprintf(peer->error, sizeof(peer->error), "%s: the %s does not answer",
			peer->socket, peer->who);
	else if (errno != 0)
		snprintf(peer->error, sizeof(peer->error), "%s: %s", peer->socket, strerror(errno));
	else
		snprintf(peer->error, sizeof(peer->error), "%s: the %s hung up", peer->socket,
			peer->who);
	free(line);
	return NULL;
}

json_t *ctl_ask(struct ctl_peer *peer, json_t *request)
{
	char *line = exchange(peer, request);
	const char *why;
	json_t *reply;

	json_decref(request);
	if (!line)
		return NULL;
	reply = json_loads(line, 0, NULL);
	if (json_is_true(json_object_get(reply, "ok"))) {
		if (peer->json)
			fputs(line, stdout);
		free(line);
		return reply;
	}
	free(line);
	why = json_string_value(json_object_get(reply, "error"));
	if (!json_is_object(reply))
		snprintf(peer->error, sizeof(peer->error), "%s: the reply is not a JSON object",
			peer->socket);
	else if (why)
		snprintf(peer->error, sizeof(peer->error), "%s", why);
	else
		snprintf(peer->error, sizeof(peer->error), "the %s gave no reason", peer->who);
	json_decref(reply);
	return NULL;
}

const char *ctl_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "-";
}

double ctl_number(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

const char *ctl_short(double value, char text[CTL_SHORT_MAX])
{
	static const char units[] = " kMGTPE";
	size_t unit = 0;

	while (value >= 999.5 && units[unit + 1] != '\0') {
		value /= 1000;
		unit++;
	}
	if (isnan(value))
		snprintf(text, CTL_SHORT_MAX, "- ");
	else
		snprintf(text, CTL_SHORT_MAX, "%.*f%c", unit != 0 && value < 99.95, value,
			units[unit]);
	return text;
}
