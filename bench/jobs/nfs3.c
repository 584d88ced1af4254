// SPDX-License-Identifier: LGPL-3.0-or-later
#include "bench/jobs/nfs3.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define NFS_PORT          2049
#define MOUNT_PORT        20048 /* set for the lab's servers */
#define TIMEOUT_MSEC      10000
#define UDP_RECEIVE_BYTES (16 << 20) /* so that no reply is lost: calls are not sent again */

/* libnfs exports these functions but declares them only in a private header. */
struct rpc_context *rpc_init_udp_context(void);
int rpc_bind_udp(struct rpc_context *rpc, char *address, int port);
int rpc_set_udp_destination(struct rpc_context *rpc, char *address, int port, int is_broadcast);

void canfs_nfs3_fail(struct canfs_nfs3 *nfs, const char *what)
{
	if (nfs->failed)
		return;
	snprintf(nfs->failure, sizeof(nfs->failure), "%s", what);
	nfs->failed = nfs->failure;
}

int canfs_nfs3_serve_any(struct canfs_nfs3 *nfs, unsigned int connections)
{
	struct pollfd p[CANFS_NFS3_CONNECTIONS_MAX];
	bool failed = false;
	int n;

	for (unsigned int i = 0; i < connections; i++)
		p[i] = (struct pollfd) { .fd = rpc_get_fd(nfs[i].rpc),
			.events = (short)rpc_which_events(nfs[i].rpc) };
	n = poll(p, connections, TIMEOUT_MSEC);
	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0)
		canfs_nfs3_fail(nfs, n == 0 ? "no reply within 10 s" : strerror(errno));
	for (unsigned int i = 0; i < connections; i++) {
		if (n > 0 && p[i].revents && rpc_service(nfs[i].rpc, p[i].revents) < 0)
			canfs_nfs3_fail(&nfs[i], rpc_get_error(nfs[i].rpc));
		failed = failed || nfs[i].failed;
	}
	return failed ? -EIO : 0;
}

int canfs_nfs3_serve(struct canfs_nfs3 *nfs)
{
	return canfs_nfs3_serve_any(nfs, 1);
}

/* Waits for the call that was just queued. queued: the result of queueing it. */
static int await(struct canfs_nfs3 *nfs, int queued)
{
	if (queued != 0)
		canfs_nfs3_fail(nfs, rpc_get_error(nfs->rpc));
	nfs->done = false;
	while (!nfs->failed && !nfs->done)
		canfs_nfs3_serve(nfs);
	return nfs->failed ? -EIO : 0;
}

void canfs_nfs3_take(
	struct canfs_nfs3 *nfs, struct canfs_nfs3_handle *handle, const struct nfs_fh3 *from)
{
	if (from->data.data_len > CANFS_NFS3_HANDLE_MAX) {
		canfs_nfs3_fail(nfs, "the server sent a file handle that is too long");
		return;
	}
	handle->length = from->data.data_len;
	memcpy(handle->bytes, from->data.data_val, handle->length);
}

static void on_connect(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct canfs_nfs3 *nfs = arg;

	(void)rpc;
	(void)data;
	nfs->done = true;
	if (status != RPC_STATUS_SUCCESS)
		canfs_nfs3_fail(nfs, "cannot connect");
}

static void on_mount(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct canfs_nfs3 *nfs = arg;
	const struct mountres3 *reply = data;

	(void)rpc;
	nfs->done = true;
	if (status != RPC_STATUS_SUCCESS || reply->fhs_status != MNT3_OK)
		canfs_nfs3_fail(nfs, "the server refused the mount");
	else
		canfs_nfs3_take(nfs, nfs->wanted,
			&(struct nfs_fh3) {
				.data = { reply->mountres3_u.mountinfo.fhandle.fhandle3_len,
					reply->mountres3_u.mountinfo.fhandle.fhandle3_val } });
}

static void on_found(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct canfs_nfs3 *nfs = arg;
	const struct LOOKUP3res *reply = data;

	(void)rpc;
	nfs->done = true;
	if (status != RPC_STATUS_SUCCESS || reply->status != NFS3_OK)
		canfs_nfs3_fail(nfs, "a file is missing in an export");
	else
		canfs_nfs3_take(nfs, nfs->wanted, &reply->LOOKUP3res_u.resok.object);
}

static int connect_to(struct canfs_nfs3 *nfs, int port, int program, int version)
{
	nfs->rpc = rpc_init_context();
	if (!nfs->rpc)
		return -ENOMEM;
	return await(nfs, rpc_connect_port_async(
				  nfs->rpc, nfs->server, port, program, version, on_connect, nfs));
}

static int connect_udp(struct canfs_nfs3 *nfs)
{
	char anywhere[] = "0.0.0.0";

	nfs->rpc = rpc_init_udp_context();
	if (!nfs->rpc)
		return -ENOMEM;
	if (rpc_bind_udp(nfs->rpc, anywhere, 0) != 0 ||
		rpc_set_udp_destination(nfs->rpc, (char *)nfs->server, NFS_PORT, 0) != 0)
		canfs_nfs3_fail(nfs, rpc_get_error(nfs->rpc));
	else if (setsockopt(rpc_get_fd(nfs->rpc), SOL_SOCKET, SO_RCVBUFFORCE,
			 &(int) { UDP_RECEIVE_BYTES }, sizeof(int)) != 0)
		canfs_nfs3_fail(nfs, "no large receive buffer for UDP");
	return nfs->failed ? -EIO : 0;
}

int canfs_nfs3_connect(struct canfs_nfs3 *nfs)
{
	if (nfs->udp)
		return connect_udp(nfs);
	return connect_to(nfs, NFS_PORT, NFS_PROGRAM, NFS_V3);
}

void canfs_nfs3_disconnect(struct canfs_nfs3 *nfs)
{
	if (nfs->rpc)
		rpc_destroy_context(nfs->rpc);
	nfs->rpc = NULL;
}

int canfs_nfs3_mount(struct canfs_nfs3 *nfs, const char *path, struct canfs_nfs3_handle *root)
{
	int ret = connect_to(nfs, MOUNT_PORT, MOUNT_PROGRAM, MOUNT_V3);

	nfs->wanted = root;
	if (!ret)
		ret = await(nfs, rpc_mount3_mnt_async(nfs->rpc, on_mount, (char *)path, nfs));
	canfs_nfs3_disconnect(nfs);
	return ret;
}

int canfs_nfs3_look_up(struct canfs_nfs3 *nfs, const struct canfs_nfs3_handle *dir, char *name,
	struct canfs_nfs3_handle *found)
{
	struct LOOKUP3args args = { .what = { canfs_nfs3_fh(dir), name } };

	nfs->wanted = found;
	return await(nfs, rpc_nfs3_lookup_async(nfs->rpc, on_found, &args, nfs));
}

struct nfs_fh3 canfs_nfs3_fh(const struct canfs_nfs3_handle *handle)
{
	return (struct nfs_fh3) { .data = { handle->length, (char *)handle->bytes } };
}
