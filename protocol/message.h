/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The RPC header that all calls and replies have in common. Private to protocol/. */
#ifndef CANFS_PROTOCOL_MESSAGE_H
#define CANFS_PROTOCOL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rpc/rpc.h>

#include "protocol/call.h"

/* Writes the header of a call. The caller then encodes the arguments through *xdrs. */
bool_t canfs_call_begin(struct canfs_call *call, XDR *xdrs, uint32_t xid, rpcprog_t program,
	rpcvers_t version, rpcproc_t procedure);

/* complete: everything was encoded. Returns 0, or -EMSGSIZE if not complete. */
int canfs_call_end(struct canfs_call *call, XDR *xdrs, bool_t complete);

/*
 * Reads the header of a reply. Returns 0 with *xdrs at the results and *error "". Returns -EPROTO
 * if the header is malformed, or -EREMOTEIO if the server refused the call; *error gives the
 * reason.
 */
int canfs_reply_open(
	XDR *xdrs, const uint8_t *record, size_t len, uint32_t xid, const char **error);
bool canfs_reply_is_at_end(XDR *xdrs, size_t len);

/* An error status of a server and its description. */
struct canfs_status {
	int number;
	const char *text;
};

/* Sets *error to the text of number, or to `unknown`. Returns -EREMOTEIO. */
int canfs_reply_refused(const struct canfs_status *table, size_t count, int number,
	const char *unknown, const char **error);

/* Sets *error to what. Returns -EPROTO. */
int canfs_reply_malformed(const char *what, const char **error);

#endif
