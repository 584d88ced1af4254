// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/path.h"
#include "common/random.h"

#define RPCBIND_PORT 111
#define NFS4_PORT    2049 /* RFC 7530 §3.1: NFSv4 needs no rpcbind */
#define PATH_MAX_LEN 1024 /* MNTPATHLEN of RFC 1813 */

static int check_target(const struct canfs_fsstat_target *target)
{
	const int family = target->address.ss_family;
	const int version = target->version;

	if (family != AF_INET && family != AF_INET6)
		return -EINVAL;
	if (version != 0 && version != 3 && version != 4)
		return -EINVAL;
	if (target->handle)
		return target->handle_len >= 1 && target->handle_len <= CANFS_FSSTAT_HANDLE_MAX
			       ? 0
			       : -EINVAL;
	if (!target->path || target->path[0] == '\0')
		return -EINVAL;
	if (strlen(target->path) > PATH_MAX_LEN)
		return -ENAMETOOLONG;
	if (version == 4 && canfs_path_components(target->path) > CANFS_COMPONENTS_MAX)
		return -ENAMETOOLONG;
	return 0;
}

int canfs_known_init(struct canfs_known *known, const struct canfs_fsstat_target *target)
{
	int ret = check_target(target);

	*known = (struct canfs_known) { .version = target->version ? target->version : 3 };
	if (ret < 0)
		return ret;
	if (target->path) {
		known->path = strdup(target->path);
		if (!known->path)
			return -ENOMEM;
		canfs_path_clean(known->path);
	}
	if (target->handle) {
		known->handle_len = target->handle_len;
		memcpy(known->handle, target->handle, target->handle_len);
	}
	known->given[CANFS_RPCBIND] = target->rpcbind_port ? target->rpcbind_port : RPCBIND_PORT;
	known->given[CANFS_MOUNT] = target->mount_port;
	known->given[CANFS_NFS] = target->nfs_port;
	if (known->version == 4 && !target->nfs_port)
		known->given[CANFS_NFS] = NFS4_PORT;
	memcpy(known->port, known->given, sizeof(known->port));
	canfs_random(known->session.owner, sizeof(known->session.owner));
	return 0;
}

void canfs_known_fini(struct canfs_known *known)
{
	free(known->path);
}

void canfs_known_forget(struct canfs_known *known, int error)
{
	memcpy(known->port, known->given, sizeof(known->port));
	if (error == -ESTALE && known->path)
		known->handle_len = 0;
	known->minor = 0;
	known->has_client_id = known->has_session = false;
}

/* Gets both ports before MNT, so that one rpcbind connection serves both. */
static enum canfs_step next_of_version_3(const struct canfs_known *known)
{
	if (known->handle_len == 0 && known->port[CANFS_MOUNT] == 0)
		return CANFS_ASK_MOUNT_PORT;
	if (known->port[CANFS_NFS] == 0)
		return CANFS_ASK_NFS_PORT;
	if (known->handle_len == 0)
		return CANFS_ASK_HANDLE;
	return CANFS_ASK_FSSTAT;
}

enum canfs_step canfs_step_next(const struct canfs_known *known)
{
	if (known->version == 3)
		return next_of_version_3(known);
	if (known->minor > 0 && !known->has_client_id)
		return CANFS_ASK_CLIENT_ID;
	if (known->minor > 0 && !known->has_session)
		return CANFS_ASK_SESSION;
	return CANFS_ASK_GETATTR;
}

enum canfs_service canfs_step_service(enum canfs_step step)
{
	switch (step) {
	case CANFS_ASK_MOUNT_PORT:
	case CANFS_ASK_NFS_PORT:
		return CANFS_RPCBIND;
	case CANFS_ASK_HANDLE:
		return CANFS_MOUNT;
	default:
		return CANFS_NFS;
	}
}

static struct canfs_getattr question_of(const struct canfs_known *known)
{
	return (struct canfs_getattr) {
		.minor = known->minor,
		.session = &known->session,
		.path = known->path,
		.handle = known->handle,
		.handle_len = known->handle_len,
	};
}

int canfs_step_call(
	enum canfs_step step, struct canfs_known *known, uint32_t xid, struct canfs_call *call)
{
	const struct canfs_getattr question = question_of(known);
	uint8_t verifier[8];

	switch (step) {
	case CANFS_ASK_MOUNT_PORT:
		return canfs_call_getport(call, xid, CANFS_PROGRAM_MOUNT);
	case CANFS_ASK_NFS_PORT:
		return canfs_call_getport(call, xid, CANFS_PROGRAM_NFS);
	case CANFS_ASK_HANDLE:
		return canfs_call_mnt(call, xid, known->path);
	case CANFS_ASK_FSSTAT:
		return canfs_call_fsstat(call, xid, known->handle, known->handle_len);
	case CANFS_ASK_CLIENT_ID:
		/*
		 * A new verifier, as from a restarted client: the server drops the session that we
		 * lost.
		 */
		canfs_random(verifier, sizeof(verifier));
		return canfs_call_exchange_id(call, xid, known->minor, &known->session, verifier);
	case CANFS_ASK_SESSION:
		return canfs_call_create_session(call, xid, known->minor, &known->session);
	case CANFS_ASK_GETATTR:
		return canfs_call_getattr(call, xid, &question);
	case CANFS_IDLE:
		break;
	}
	return -EINVAL;
}

/*
 * Prepares another attempt and returns -EAGAIN: the next minor version, or a new session if the
 * server dropped the old one. Otherwise returns r.
 */
static int try_otherwise(struct canfs_known *known, int r)
{
	if (r == -EPROTONOSUPPORT && known->minor < CANFS_NFS4_MINOR_MAX) {
		known->minor++;
	} else if (r != -ENOLINK || !known->has_session || known->is_new) {
		return r;
	}
	known->has_client_id = known->has_session = false;
	return -EAGAIN;
}

static int take_getattr(struct canfs_known *known, uint32_t xid, const uint8_t *record, size_t len,
	struct canfs_space *space, const char **error)
{
	const struct canfs_getattr question = question_of(known);
	int ret = canfs_decode_getattr(record, len, xid, &question, space, error);

	if (ret < 0)
		return try_otherwise(known, ret);
	known->session.sequence++;
	known->is_new = false;
	return 0;
}

/* r: a decoder's result. On success another step follows, hence -EAGAIN. */
static int learned(int r)
{
	return r < 0 ? r : -EAGAIN;
}

int canfs_step_take(enum canfs_step step, struct canfs_known *known, uint32_t xid,
	const uint8_t *record, size_t len, struct canfs_space *space, const char **error)
{
	int ret;

	switch (step) {
	case CANFS_ASK_MOUNT_PORT:
		return learned(
			canfs_decode_getport(record, len, xid, &known->port[CANFS_MOUNT], error));
	case CANFS_ASK_NFS_PORT:
		return learned(
			canfs_decode_getport(record, len, xid, &known->port[CANFS_NFS], error));
	case CANFS_ASK_HANDLE:
		return learned(canfs_decode_mnt(
			record, len, xid, known->handle, &known->handle_len, error));
	case CANFS_ASK_FSSTAT:
		return canfs_decode_fsstat(record, len, xid, space, error);
	case CANFS_ASK_CLIENT_ID:
		ret = canfs_decode_exchange_id(record, len, xid, &known->session, error);
		known->has_client_id = ret == 0;
		return ret < 0 ? try_otherwise(known, ret) : -EAGAIN;
	case CANFS_ASK_SESSION:
		ret = canfs_decode_create_session(record, len, xid, &known->session, error);
		known->has_session = known->is_new = ret == 0;
		return learned(ret);
	case CANFS_ASK_GETATTR:
		return take_getattr(known, xid, record, len, space, error);
	case CANFS_IDLE:
		break;
	}
	return -EINVAL;
}
