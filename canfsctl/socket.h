/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How canfsctl asks a daemon over its control socket (common/control/), and reads the reply. */
#ifndef CANFS_CANFSCTL_SOCKET_H
#define CANFS_CANFSCTL_SOCKET_H

#include <stdbool.h>
#include <stdio.h>
#include <jansson.h>

#define CTL_GANESHA_SOCKET "/run/canfs/ganesha.sock" /* by default */
#define CTL_SIDECAR_SOCKET "/run/canfs/priced.sock"

struct ctl_peer {
	const char *who; /* "server", "agent" */
	const char *socket;
	double timeout_sec; /* for each step; 0: 10 */
	bool json;          /* replies are printed as they come, one a line */
	FILE *stream;       /* of its replies; requests go to the descriptor below. NULL: none */
	char error[512];    /* why the last call failed */
};

/* Connects. False with an error. */
bool ctl_dial(struct ctl_peer *peer);

/* To the server on this host: the one at socket, or, if that is NULL, NFS-Ganesha, or the sidecar of the kernel's. */
bool ctl_dial_server(struct ctl_peer *peer, const char *socket);

void ctl_hang_up(struct ctl_peer *peer);

/* The reply to a request, which it takes; NULL with an error, and after a refusal, too. */
json_t *ctl_ask(struct ctl_peer *peer, json_t *request);

/* A member of a reply. "-" if there is no such string; NaN if there is no such number. */
const char *ctl_text(const json_t *object, const char *name);
double ctl_number(const json_t *object, const char *name);

/* 1234567 as "1.2M" ("-" if it is NaN). */
#define CTL_SHORT_MAX 16
const char *ctl_short(double value, char text[CTL_SHORT_MAX]);

#endif
