/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The steps of a request, and the knowledge gained from their replies. No I/O: fsstat.c owns the
 * connection. Private to protocol/.
 */
#ifndef CANFS_PROTOCOL_STEP_H
#define CANFS_PROTOCOL_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/call.h"
#include "protocol/compound.h"
#include "protocol/fsstat.h"

enum canfs_service { CANFS_RPCBIND, CANFS_MOUNT, CANFS_NFS, CANFS_SERVICES };

enum canfs_step {
	CANFS_IDLE,
	CANFS_ASK_MOUNT_PORT,
	CANFS_ASK_NFS_PORT,
	CANFS_ASK_HANDLE,
	CANFS_ASK_FSSTAT, /* the last step over NFSv3 */
	CANFS_ASK_CLIENT_ID,
	CANFS_ASK_SESSION,
	CANFS_ASK_GETATTR, /* the last step over NFSv4 */
};

struct canfs_known {
	int version;                    /* 3 or 4 */
	uint16_t given[CANFS_SERVICES]; /* ports, 0: not given */
	uint16_t port[CANFS_SERVICES];  /* given or learned */
	char *path;                     /* NULL: not given */
	size_t handle_len;              /* 0: not known */
	uint8_t handle[CANFS_FSSTAT_HANDLE_MAX];

	/* NFSv4 only */
	unsigned int minor;
	bool has_client_id, has_session;
	bool is_new; /* the session has not carried an answer yet */
	struct canfs_session session;
};

/* Returns 0, -EINVAL or -ENAMETOOLONG (see canfs_fsstat_new()), or -ENOMEM. */
int canfs_known_init(struct canfs_known *known, const struct canfs_fsstat_target *target);
void canfs_known_fini(struct canfs_known *known);

/*
 * Call this after a request failed with error. A restarted server may use other ports and has lost
 * the session. A stale handle is not valid any more.
 */
void canfs_known_forget(struct canfs_known *known, int error);

/* Returns the step that asks for the first thing not known yet. */
enum canfs_step canfs_step_next(const struct canfs_known *known);

enum canfs_service canfs_step_service(enum canfs_step step);

/* Encodes the call of a step. Returns 0 or -EMSGSIZE. */
int canfs_step_call(
	enum canfs_step step, struct canfs_known *known, uint32_t xid, struct canfs_call *call);

/*
 * Decodes the reply to a step. Returns 0 if *space is set, -EAGAIN if canfs_step_next() now returns
 * another step, or the decoder's error. -EAGAIN comes at most ten times per request.
 */
int canfs_step_take(enum canfs_step step, struct canfs_known *known, uint32_t xid,
	const uint8_t *record, size_t len, struct canfs_space *space, const char **error);

#endif
