/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "protocol/fsstat.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "protocol/rpc.h"

#define RPCBIND_PORT 111
#define PATH_MAX_LEN 1024 /* MNTPATHLEN of RFC 1813 */

/* Replies to nobody, in one request: more is no network's doing. */
#define STRAYS_MAX 16

enum service { RPCBIND, MOUNT, NFS, SERVICES };

static const char *const service_names[SERVICES] = { "rpcbind", "MOUNT", "NFS" };

enum step { IDLE, ASK_MOUNT_PORT, ASK_NFS_PORT, ASK_HANDLE, ASK_FSSTAT };

struct canfs_fsstat {
	struct sockaddr_storage address;
	uint16_t given[SERVICES]; /* ports, 0: not given */
	uint16_t known[SERVICES]; /* ports, given or learned */
	char *path;               /* NULL: not given */
	size_t handle_len;        /* 0: not known */
	uint8_t handle[CANFS_NFS3_HANDLE_MAX];

	enum step step;
	enum service service; /* which one rpc is connected to */
	struct canfs_rpc rpc;
	uint32_t xid;
	unsigned int strays;
	uint64_t deadline_usec;
	char error[256];
};

static int check_target(const struct canfs_fsstat_target *target)
{
	const int family = target->address.ss_family;

	if (family != AF_INET && family != AF_INET6)
		return -EINVAL;
	if (target->handle)
		return target->handle_len >= 1 && target->handle_len <= CANFS_NFS3_HANDLE_MAX
			       ? 0
			       : -EINVAL;
	if (!target->path || target->path[0] == '\0' || strlen(target->path) > PATH_MAX_LEN)
		return -EINVAL;
	return 0;
}

/* Random, so that a late reply to an earlier process at this port is not taken for ours. */
static uint32_t first_xid(void)
{
	uint32_t xid;

	if (getrandom(&xid, sizeof(xid), GRND_NONBLOCK) != sizeof(xid))
		xid = (uint32_t)time(NULL);
	return xid;
}

int canfs_fsstat_new(struct canfs_fsstat **fsstat, const struct canfs_fsstat_target *target)
{
	struct canfs_fsstat *f;

	*fsstat = NULL;
	if (check_target(target) < 0)
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	if (target->path) {
		f->path = strdup(target->path);
		if (!f->path) {
			free(f);
			return -ENOMEM;
		}
	}
	if (target->handle) {
		f->handle_len = target->handle_len;
		memcpy(f->handle, target->handle, target->handle_len);
	}
	f->address = target->address;
	f->given[RPCBIND] = target->rpcbind_port ? target->rpcbind_port : RPCBIND_PORT;
	f->given[MOUNT] = target->mount_port;
	f->given[NFS] = target->nfs_port;
	memcpy(f->known, f->given, sizeof(f->known));
	f->xid = first_xid();
	canfs_rpc_init(&f->rpc);
	*fsstat = f;
	return 0;
}

void canfs_fsstat_free(struct canfs_fsstat *fsstat)
{
	if (!fsstat)
		return;
	canfs_rpc_close(&fsstat->rpc);
	free(fsstat->path);
	free(fsstat);
}

static struct sockaddr_storage address_of(const struct canfs_fsstat *fsstat, enum service service)
{
	struct sockaddr_storage address = fsstat->address;
	const in_port_t port = htons(fsstat->known[service]);

	if (address.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&address)->sin6_port = port;
	else
		((struct sockaddr_in *)&address)->sin_port = port;
	return address;
}

/* "NFS at 192.0.2.1 port 2049: " before what went wrong there. */
static void say(struct canfs_fsstat *fsstat, const char *what)
{
	const struct sockaddr_storage address = address_of(fsstat, fsstat->service);
	char host[INET6_ADDRSTRLEN + 1 + IF_NAMESIZE] = "";

	getnameinfo((const struct sockaddr *)&address, sizeof(address), host, sizeof(host), NULL, 0,
		NI_NUMERICHOST);
	snprintf(fsstat->error, sizeof(fsstat->error), "%s at %s port %u: %s",
		service_names[fsstat->service], host, fsstat->known[fsstat->service], what);
}

/*
 * Ends a request that failed. What was learned from rpcbind is forgotten: a server that was
 * restarted may sit at other ports. what: in words; NULL: those of the error number.
 */
static int fail(struct canfs_fsstat *fsstat, int r, const char *what)
{
	say(fsstat, what ? what : strerrordesc_np(-r));
	canfs_rpc_close(&fsstat->rpc);
	memcpy(fsstat->known, fsstat->given, sizeof(fsstat->known));
	if (r == -ESTALE && fsstat->path)
		fsstat->handle_len = 0;
	fsstat->step = IDLE;
	return r;
}

/* The first thing that is not known yet. Both ports come before MNT: one connection asks both. */
static enum step next_step(const struct canfs_fsstat *fsstat)
{
	if (fsstat->handle_len == 0 && fsstat->known[MOUNT] == 0)
		return ASK_MOUNT_PORT;
	if (fsstat->known[NFS] == 0)
		return ASK_NFS_PORT;
	if (fsstat->handle_len == 0)
		return ASK_HANDLE;
	return ASK_FSSTAT;
}

static enum service service_of(enum step step)
{
	if (step == ASK_FSSTAT)
		return NFS;
	return step == ASK_HANDLE ? MOUNT : RPCBIND;
}

static int encode(const struct canfs_fsstat *fsstat, struct canfs_call *call)
{
	switch (fsstat->step) {
	case ASK_MOUNT_PORT:
		return canfs_call_getport(call, fsstat->xid, CANFS_PROGRAM_MOUNT);
	case ASK_NFS_PORT:
		return canfs_call_getport(call, fsstat->xid, CANFS_PROGRAM_NFS);
	case ASK_HANDLE:
		return canfs_call_mnt(call, fsstat->xid, fsstat->path);
	case ASK_FSSTAT:
		return canfs_call_fsstat(call, fsstat->xid, fsstat->handle, fsstat->handle_len);
	case IDLE:
		break;
	}
	return -EINVAL;
}

/* Connects where the step needs it, and makes its call ready to be sent. */
static int begin(struct canfs_fsstat *fsstat, enum step step)
{
	const enum service service = service_of(step);
	struct canfs_call call;
	int r;

	fsstat->step = step;
	if (service != fsstat->service || !canfs_rpc_is_quiet(&fsstat->rpc)) {
		fsstat->service = service;

		const struct sockaddr_storage address = address_of(fsstat, service);

		r = canfs_rpc_open(&fsstat->rpc, &address, service != RPCBIND);
		if (r < 0)
			return fail(fsstat, r, NULL);
	}
	fsstat->xid++;
	r = encode(fsstat, &call);
	if (r < 0)
		return fail(fsstat, r, "the call cannot be encoded");
	canfs_rpc_queue(&fsstat->rpc, &call);
	return 0;
}

int canfs_fsstat_start(struct canfs_fsstat *fsstat, uint64_t deadline_usec)
{
	if (fsstat->step != IDLE)
		return -EBUSY;
	fsstat->error[0] = '\0';
	fsstat->strays = 0;
	fsstat->deadline_usec = deadline_usec;
	return begin(fsstat, next_step(fsstat));
}

int canfs_fsstat_fd(const struct canfs_fsstat *fsstat)
{
	return fsstat->step == IDLE ? -1 : fsstat->rpc.fd;
}

short canfs_fsstat_events(const struct canfs_fsstat *fsstat)
{
	return fsstat->step == IDLE ? 0 : canfs_rpc_events(&fsstat->rpc);
}

uint64_t canfs_fsstat_deadline_usec(const struct canfs_fsstat *fsstat)
{
	return fsstat->step == IDLE ? UINT64_MAX : fsstat->deadline_usec;
}

static bool is_for(const struct canfs_rpc *rpc, uint32_t xid)
{
	uint32_t first;

	if (rpc->in_len < sizeof(first))
		return true; /* the decoder says what is wrong with it */
	memcpy(&first, rpc->in, sizeof(first));
	return ntohl(first) == xid;
}

/* Sends the call and reads records until one answers it. */
static int exchange(struct canfs_fsstat *fsstat)
{
	int r = canfs_rpc_send(&fsstat->rpc);

	while (r == 0) {
		r = canfs_rpc_receive(&fsstat->rpc);
		if (r == 0 && is_for(&fsstat->rpc, fsstat->xid))
			return 0;
		if (r == 0 && ++fsstat->strays > STRAYS_MAX)
			return -EBADMSG;
	}
	return r;
}

static int take(struct canfs_fsstat *fsstat, struct canfs_space *space, const char **error)
{
	const struct canfs_rpc *rpc = &fsstat->rpc;

	switch (fsstat->step) {
	case ASK_MOUNT_PORT:
		return canfs_decode_getport(
			rpc->in, rpc->in_len, fsstat->xid, &fsstat->known[MOUNT], error);
	case ASK_NFS_PORT:
		return canfs_decode_getport(
			rpc->in, rpc->in_len, fsstat->xid, &fsstat->known[NFS], error);
	case ASK_HANDLE:
		return canfs_decode_mnt(rpc->in, rpc->in_len, fsstat->xid, fsstat->handle,
			&fsstat->handle_len, error);
	case ASK_FSSTAT:
		return canfs_decode_fsstat(rpc->in, rpc->in_len, fsstat->xid, space, error);
	case IDLE:
		break;
	}
	return -EINVAL;
}

static int fail_exchange(struct canfs_fsstat *fsstat, int r)
{
	switch (r) {
	case -EPROTO:
		return fail(fsstat, r, "the reply is too long, or its record marks are wrong");
	case -EBADMSG:
		return fail(fsstat, -EPROTO, "too many replies to other calls");
	case -ECONNRESET:
		return fail(fsstat, r, "the server closed the connection");
	default:
		return fail(fsstat, r, NULL);
	}
}

int canfs_fsstat_step(struct canfs_fsstat *fsstat, uint64_t now_usec, struct canfs_space *space)
{
	if (fsstat->step == IDLE)
		return -EINVAL;

	/* Each round learns what next_step() asked for, so there are at most four. */
	for (;;) {
		const char *error;
		int r = exchange(fsstat);

		if (r == -EINPROGRESS && now_usec >= fsstat->deadline_usec)
			return fail(fsstat, -ETIMEDOUT, "no answer in time");
		if (r == -EINPROGRESS)
			return r;
		if (r < 0)
			return fail_exchange(fsstat, r);
		r = take(fsstat, space, &error);
		if (r < 0)
			return fail(fsstat, r, error);
		if (fsstat->step == ASK_FSSTAT) {
			fsstat->step = IDLE;
			return 0;
		}
		r = begin(fsstat, next_step(fsstat));
		if (r < 0)
			return r;
	}
}

const char *canfs_fsstat_error(const struct canfs_fsstat *fsstat)
{
	return fsstat->error;
}
