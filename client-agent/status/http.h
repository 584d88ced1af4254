/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * GET /metrics over HTTP, by libmicrohttpd: in the caller's poll loop, without a thread, never
 * blocking. A connection has 16 KiB for what it asks; one that stands still for 10 s is closed.
 */
#ifndef CANFS_CLIENT_AGENT_STATUS_HTTP_H
#define CANFS_CLIENT_AGENT_STATUS_HTTP_H

#define CANFS_HTTP_CONNECTIONS 8

struct canfs_http;

/* The text to serve, for the server to free(); NULL: none (503). */
typedef char *canfs_http_render(void *data);

/*
 * listen: as listen.h takes it. 0; -EADDRINUSE; -ELIBACC: libmicrohttpd is not installed; -EINVAL,
 * -EACCES as there; else -errno.
 */
int canfs_http_open(
	struct canfs_http **http, const char *listen, canfs_http_render *render, void *data);
void canfs_http_close(struct canfs_http *http); /* NULL allowed */

/* Poll it for POLLIN; and after so many ms (-1: whenever) call canfs_http_run() all the same. */
int canfs_http_fd(const struct canfs_http *http);
int canfs_http_timeout_msec(const struct canfs_http *http);
void canfs_http_run(struct canfs_http *http);

#endif
