/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Serves GET /metrics over HTTP with libmicrohttpd, in the caller's poll loop, without a thread and
 * without blocking. A connection has 16 KiB for its request. A connection that is idle for 10 s is
 * closed.
 */
#ifndef CANFS_CLIENT_AGENT_STATUS_HTTP_H
#define CANFS_CLIENT_AGENT_STATUS_HTTP_H

#define CANFS_HTTP_CONNECTIONS 8

struct canfs_http;

/* Returns the text to serve, which the server frees, or NULL (503). */
typedef char *canfs_http_render(void *data);

/*
 * listen: see listen.h. Returns 0, -EADDRINUSE, -ELIBACC if libmicrohttpd is not installed, -EINVAL
 * or -EACCES as in listen.h, or another -errno.
 */
int canfs_http_open(
	struct canfs_http **http, const char *listen, canfs_http_render *render, void *data);
void canfs_http_close(struct canfs_http *http); /* NULL allowed */

/*
 * Poll the descriptor for POLLIN. Call canfs_http_run() when it is ready, and at the latest after
 * the timeout (-1: none).
 */
int canfs_http_fd(const struct canfs_http *http);
int canfs_http_timeout_msec(const struct canfs_http *http);
void canfs_http_run(struct canfs_http *http);

#endif
