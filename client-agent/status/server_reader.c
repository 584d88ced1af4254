// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/status/server_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "client-agent/status/server_metrics.h"
#include "common/control/request.h"

#define ASK_USEC   5000000
#define CHUNK      65536
#define TEXT_MAX   (CANFS_SERVER_QUESTIONS * (size_t)CANFS_CONTROL_REPLY_MAX)
#define SOCKET_END ".sock"

/* The commands, which are also the names of their replies. Asks for no more than is shown. */
#define TEXT_OF(number)  #number
#define LIMIT_OF(number) ",\"limit\":" TEXT_OF(number)
static const struct {
	const char *command, *arguments;
} questions[CANFS_SERVER_QUESTIONS] = { { "prices", LIMIT_OF(CANFS_SERVER_EXPORTS_MAX) },
	{ "counters", "" }, { "clients", "" }, { "who", "" }, { "prefetch", "" } };

static void take_name(struct canfs_server_reader *reader)
{
	const char *slash = strrchr(reader->path, '/');
	size_t length;

	strcpy(reader->name, slash ? slash + 1 : reader->path);
	length = strlen(reader->name);
	if (length > strlen(SOCKET_END) &&
		strcmp(reader->name + length - strlen(SOCKET_END), SOCKET_END) == 0)
		reader->name[length - strlen(SOCKET_END)] = '\0';
}

int canfs_server_reader_open(struct canfs_server_reader *reader, const char *root, const char *path)
{
	*reader = (struct canfs_server_reader) { .fd = -1 };
	if ((size_t)snprintf(reader->path, sizeof(reader->path), "%s%s", root, path) >=
		sizeof(reader->path))
		return -ENAMETOOLONG;
	take_name(reader);
	return 0;
}

static void hang_up(struct canfs_server_reader *reader)
{
	if (reader->fd >= 0)
		close(reader->fd);
	reader->fd = -1;
	free(reader->text);
	reader->text = NULL;
	reader->text_bytes = reader->text_room = 0;
}

static void forget(struct canfs_server_reader *reader)
{
	for (size_t i = 0; i < CANFS_SERVER_QUESTIONS; i++) {
		json_decref(reader->said[i]);
		reader->said[i] = NULL;
	}
	reader->is_up = false;
}

void canfs_server_reader_close(struct canfs_server_reader *reader)
{
	hang_up(reader);
	forget(reader);
}

static bool connect_to(struct canfs_server_reader *reader)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	strcpy(address.sun_path, reader->path);
	reader->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return reader->fd >= 0 &&
	       connect(reader->fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

static void ask(struct canfs_server_reader *reader, uint64_t now_usec)
{
	char text[CANFS_SERVER_QUESTIONS * 32];
	int length = 0;

	reader->asked_usec = now_usec;
	for (size_t i = 0; i < CANFS_SERVER_QUESTIONS; i++)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
			"{\"command\":\"%s\"%s}\n", questions[i].command, questions[i].arguments);
	if (!connect_to(reader) ||
		send(reader->fd, text, (size_t)length, MSG_NOSIGNAL) != (ssize_t)length)
		canfs_server_reader_close(reader);
}

static size_t count_lines(const struct canfs_server_reader *reader)
{
	size_t lines = 0;

	for (size_t i = 0; i < reader->text_bytes; i++)
		lines += reader->text[i] == '\n';
	return lines;
}

/* Returns NULL for a question that the server does not know. */
static json_t *read_reply(const char *line, size_t length)
{
	json_t *reply = json_loadb(line, length, 0, NULL);

	if (json_is_true(json_object_get(reply, "ok")))
		return reply;
	json_decref(reply);
	return NULL;
}

static void take_replies(struct canfs_server_reader *reader)
{
	const char *line = reader->text;

	forget(reader);
	for (size_t i = 0; i < CANFS_SERVER_QUESTIONS; i++) {
		size_t left = reader->text_bytes - (size_t)(line - reader->text);
		const char *end = memchr(line, '\n', left);

		if (!end)
			break;
		reader->said[i] = read_reply(line, (size_t)(end - line));
		line = end + 1;
	}
	if (reader->said[0])
		reader->is_up = true;
	hang_up(reader);
}

static bool make_room(struct canfs_server_reader *reader)
{
	char *text;

	if (reader->text_bytes < reader->text_room)
		return true;
	if (reader->text_room >= TEXT_MAX)
		return false;
	text = realloc(reader->text, reader->text_room + CHUNK);
	if (!text)
		return false;
	reader->text = text;
	reader->text_room += CHUNK;
	return true;
}

static void receive(struct canfs_server_reader *reader)
{
	ssize_t bytes;

	if (!make_room(reader)) {
		canfs_server_reader_close(reader);
		return;
	}
	bytes = recv(reader->fd, reader->text + reader->text_bytes,
		reader->text_room - reader->text_bytes, MSG_DONTWAIT);
	if (bytes <= 0) {
		if (bytes == 0 || (errno != EAGAIN && errno != EINTR))
			canfs_server_reader_close(reader);
		return;
	}
	reader->text_bytes += (size_t)bytes;
	if (reader->text[reader->text_bytes - 1] == '\n' &&
		count_lines(reader) >= CANFS_SERVER_QUESTIONS)
		take_replies(reader);
}

static bool is_time(const struct canfs_server_reader *reader, uint64_t now_usec)
{
	return reader->asked_usec == 0 || now_usec - reader->asked_usec >= ASK_USEC;
}

size_t canfs_server_reader_poll(struct canfs_server_reader *reader, uint64_t now_usec,
	struct pollfd *polled, int *timeout_msec)
{
	uint64_t next_usec = is_time(reader, now_usec) ? now_usec : reader->asked_usec + ASK_USEC;
	int msec = (int)((next_usec - now_usec + 999) / 1000);

	if (msec < *timeout_msec)
		*timeout_msec = msec;
	if (reader->fd < 0)
		return 0;
	*polled = (struct pollfd) { .fd = reader->fd, .events = POLLIN };
	return 1;
}

void canfs_server_reader_serve(struct canfs_server_reader *reader, uint64_t now_usec)
{
	if (reader->fd >= 0)
		receive(reader);
	if (!is_time(reader, now_usec))
		return;
	if (reader->fd >= 0)
		canfs_server_reader_close(reader); /* no answer in all this time */
	ask(reader, now_usec);
}

json_t *canfs_server_reader_json(const struct canfs_server_reader *reader)
{
	json_t *json = json_pack("{s:s, s:b}", "server", reader->name, "up", reader->is_up);

	for (size_t i = 0; json && i < CANFS_SERVER_QUESTIONS; i++) {
		if (reader->said[i])
			json_object_set(json, questions[i].command, reader->said[i]);
	}
	return json;
}
