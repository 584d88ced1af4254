/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Sends requests to a daemon's control socket (common/control/) and reads the replies. */
#ifndef CANFS_CANFSCTL_SOCKET_H
#define CANFS_CANFSCTL_SOCKET_H

#include <stdbool.h>
#include <stdio.h>
#include <jansson.h>

#define CTL_GANESHA_SOCKET "/run/canfs/ganesha.sock" /* the default */
#define CTL_SIDECAR_SOCKET "/run/canfs/priced.sock"

struct ctl_peer {
	const char *who; /* for messages: "server", "agent" */
	const char *socket;
	double timeout_sec; /* of each read and write; 0: 10 */
	bool json;          /* print each reply as one line of JSON */
	FILE *stream;       /* for replies; requests go to its descriptor. NULL: not connected */
	char error[512];    /* why the last call failed */
};

/* Connects. On failure returns false and sets error. */
bool ctl_dial(struct ctl_peer *peer);

/*
 * Connects to the server on this host. If socket is NULL, tries NFS-Ganesha, then the sidecar of
 * the kernel's server.
 */
bool ctl_dial_server(struct ctl_peer *peer, const char *socket);

void ctl_hang_up(struct ctl_peer *peer);

/*
 * Sends a request, which is consumed, and returns the reply. Returns NULL and sets error if that
 * fails or the daemon refuses.
 */
json_t *ctl_ask(struct ctl_peer *peer, json_t *request);

/*
 * Returns a member of a reply, or "-" (ctl_text()) or NaN (ctl_number()) if it is missing or of
 * another type.
 */
const char *ctl_text(const json_t *object, const char *name);
double ctl_number(const json_t *object, const char *name);

/* Formats 1234567 as "1.2M", and NaN as "-". */
#define CTL_SHORT_MAX 16
const char *ctl_short(double value, char text[CTL_SHORT_MAX]);

#endif
