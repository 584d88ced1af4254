/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What all calls and all replies have in common: the RPC header around them. Private to protocol/. */
#ifndef CANFS_PROTOCOL_MESSAGE_H
#define CANFS_PROTOCOL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rpc/rpc.h>

#include "protocol/call.h"

/* Writes the header of a call; the arguments follow through *xdrs. */
bool_t canfs_call_begin(struct canfs_call *call, XDR *xdrs, uint32_t xid, rpcprog_t program,
	rpcvers_t version, rpcproc_t procedure);

/* complete: was all of it encoded? 0 or -EMSGSIZE. */
int canfs_call_end(struct canfs_call *call, XDR *xdrs, bool_t complete);

/*
 * Reads the header of a reply; on 0 *xdrs stands at the results. -EPROTO, or -EREMOTEIO if the server
 * refused; *error says why, and is "" on 0.
 */
int canfs_reply_open(
	XDR *xdrs, const uint8_t *record, size_t len, uint32_t xid, const char **error);
bool canfs_reply_is_at_end(XDR *xdrs, size_t len);

/* An error status of a server, in words. */
struct canfs_status {
	int number;
	const char *text;
};

/* Sets *error to the text of number, or to unknown. -EREMOTEIO. */
int canfs_reply_refused(const struct canfs_status *table, size_t count, int number,
	const char *unknown, const char **error);

/* Sets *error. -EPROTO. */
int canfs_reply_malformed(const char *what, const char **error);

#endif
