// SPDX-License-Identifier: LGPL-3.0-or-later
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

#include "common/random.h"
#include "protocol/rpc.h"
#include "protocol/step.h"

/* Limit of replies to other calls in one request. No network causes more. */
#define STRAYS_MAX 16

static const char *const service_names[CANFS_SERVICES] = { "rpcbind", "MOUNT", "NFS" };

struct canfs_fsstat {
	struct sockaddr_storage address;
	struct canfs_known known;

	enum canfs_step step;
	enum canfs_service service; /* which service rpc is connected to */
	struct canfs_rpc rpc;
	uint32_t xid;
	unsigned int strays;
	uint64_t deadline_usec;
	char error[256];
};

int canfs_fsstat_new(struct canfs_fsstat **fsstat, const struct canfs_fsstat_target *target)
{
	struct canfs_fsstat *f = calloc(1, sizeof(*f));
	int ret;

	*fsstat = NULL;
	if (!f)
		return -ENOMEM;
	ret = canfs_known_init(&f->known, target);
	if (ret < 0) {
		free(f);
		return ret;
	}
	f->address = target->address;
	/* Random, so that a late reply to an earlier process at this port is not taken for ours. */
	canfs_random(&f->xid, sizeof(f->xid));
	canfs_rpc_init(&f->rpc);
	*fsstat = f;
	return 0;
}

void canfs_fsstat_free(struct canfs_fsstat *fsstat)
{
	if (!fsstat)
		return;
	canfs_rpc_close(&fsstat->rpc);
	canfs_known_fini(&fsstat->known);
	free(fsstat);
}

static struct sockaddr_storage address_of(
	const struct canfs_fsstat *fsstat, enum canfs_service service)
{
	struct sockaddr_storage address = fsstat->address;
	const in_port_t port = htons(fsstat->known.port[service]);

	if (address.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&address)->sin6_port = port;
	else
		((struct sockaddr_in *)&address)->sin_port = port;
	return address;
}

/* Sets the error text, such as "NFS at 192.0.2.1 port 2049: no answer in time". */
static void say(struct canfs_fsstat *fsstat, const char *what)
{
	const struct sockaddr_storage address = address_of(fsstat, fsstat->service);
	char host[INET6_ADDRSTRLEN + 1 + IF_NAMESIZE] = "";

	getnameinfo((const struct sockaddr *)&address, sizeof(address), host, sizeof(host), NULL, 0,
		NI_NUMERICHOST);
	snprintf(fsstat->error, sizeof(fsstat->error), "%s at %s port %u: %s",
		service_names[fsstat->service], host, fsstat->known.port[fsstat->service], what);
}

/* Ends a failed request. what: the error text; NULL: the text of errno r. */
static int fail(struct canfs_fsstat *fsstat, int r, const char *what)
{
	say(fsstat, what ? what : strerrordesc_np(-r));
	canfs_rpc_close(&fsstat->rpc);
	canfs_known_forget(&fsstat->known, r);
	fsstat->step = CANFS_IDLE;
	return r;
}

/* Connects if the step needs another connection, and queues the call of the step. */
static int begin(struct canfs_fsstat *fsstat, enum canfs_step step)
{
	const enum canfs_service service = canfs_step_service(step);
	struct canfs_call call;
	int ret;

	fsstat->step = step;
	if (service != fsstat->service || !canfs_rpc_is_quiet(&fsstat->rpc)) {
		fsstat->service = service;

		const struct sockaddr_storage address = address_of(fsstat, service);

		ret = canfs_rpc_open(&fsstat->rpc, &address, service != CANFS_RPCBIND);
		if (ret < 0)
			return fail(fsstat, ret, NULL);
	}
	fsstat->xid++;
	ret = canfs_step_call(step, &fsstat->known, fsstat->xid, &call);
	if (ret < 0)
		return fail(fsstat, ret, "the call cannot be encoded");
	canfs_rpc_queue(&fsstat->rpc, &call);
	return 0;
}

int canfs_fsstat_start(struct canfs_fsstat *fsstat, uint64_t deadline_usec)
{
	if (fsstat->step != CANFS_IDLE)
		return -EBUSY;
	fsstat->strays = 0;
	fsstat->deadline_usec = deadline_usec;
	return begin(fsstat, canfs_step_next(&fsstat->known));
}

int canfs_fsstat_fd(const struct canfs_fsstat *fsstat)
{
	return fsstat->step == CANFS_IDLE ? -1 : fsstat->rpc.fd;
}

uint32_t canfs_fsstat_round_trip_usec(const struct canfs_fsstat *fsstat)
{
	return canfs_rpc_round_trip_usec(&fsstat->rpc);
}

short canfs_fsstat_events(const struct canfs_fsstat *fsstat)
{
	return fsstat->step == CANFS_IDLE ? 0 : canfs_rpc_events(&fsstat->rpc);
}

uint64_t canfs_fsstat_deadline_usec(const struct canfs_fsstat *fsstat)
{
	return fsstat->step == CANFS_IDLE ? UINT64_MAX : fsstat->deadline_usec;
}

static bool is_for(const struct canfs_rpc *rpc, uint32_t xid)
{
	uint32_t first;

	if (rpc->in_len < sizeof(first))
		return true; /* too short: the decoder reports the error */
	memcpy(&first, rpc->in, sizeof(first));
	return ntohl(first) == xid;
}

/* Sends the call and reads records until one of them answers it. */
static int exchange(struct canfs_fsstat *fsstat)
{
	int ret = canfs_rpc_send(&fsstat->rpc);

	while (ret == 0) {
		ret = canfs_rpc_receive(&fsstat->rpc);
		if (ret == 0 && is_for(&fsstat->rpc, fsstat->xid))
			return 0;
		if (ret == 0 && ++fsstat->strays > STRAYS_MAX)
			return -EBADMSG;
	}
	return ret;
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
	if (fsstat->step == CANFS_IDLE)
		return -EINVAL;

	for (;;) {
		const struct canfs_rpc *rpc = &fsstat->rpc;
		const char *error;
		int ret = exchange(fsstat);

		if (ret == -EINPROGRESS && now_usec >= fsstat->deadline_usec)
			return fail(fsstat, -ETIMEDOUT, "no answer in time");
		if (ret == -EINPROGRESS)
			return ret;
		if (ret < 0)
			return fail_exchange(fsstat, ret);
		ret = canfs_step_take(fsstat->step, &fsstat->known, fsstat->xid, rpc->in,
			rpc->in_len, space, &error);
		if (ret == 0) {
			fsstat->step = CANFS_IDLE;
			fsstat->error[0] = '\0';
		} else if (ret != -EAGAIN) {
			return fail(fsstat, ret, error);
		} else {
			ret = begin(fsstat, canfs_step_next(&fsstat->known));
		}
		if (fsstat->step == CANFS_IDLE)
			return ret;
	}
}

const char *canfs_fsstat_error(const struct canfs_fsstat *fsstat)
{
	return fsstat->error;
}
