// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/call.h"

#include <errno.h>
#include <netinet/in.h>
#include <rpc/rpc.h>
#include <rpc/auth_unix.h>
#include <rpc/pmap_prot.h>

#include "protocol/message.h"
#include "protocol/mount3.h"
#include "protocol/nfs3.h"

_Static_assert(CANFS_PROGRAM_NFS == NFS_PROGRAM, "RFC 1813");
_Static_assert(CANFS_PROGRAM_MOUNT == MOUNT_PROGRAM, "RFC 1813");

#define CREDENTIAL_MAX 64 /* octets: five words and a short machine name */

/* AUTH_SYS as root. Many servers refuse AUTH_NONE, and refuse MNT to any other user. */
static bool_t encode_credential(char *buffer, struct opaque_auth *credential)
{
	char machine[] = "canfs";
	struct authunix_parms parms = { .aup_machname = machine };
	XDR xdrs;

	xdrmem_create(&xdrs, buffer, CREDENTIAL_MAX, XDR_ENCODE);
	if (!xdr_authunix_parms(&xdrs, &parms))
		return FALSE;
	*credential = (struct opaque_auth) {
		.oa_flavor = AUTH_SYS,
		.oa_base = buffer,
		.oa_length = xdr_getpos(&xdrs),
	};
	return TRUE;
}

bool_t canfs_call_begin(struct canfs_call *call, XDR *xdrs, uint32_t xid, rpcprog_t program,
	rpcvers_t version, rpcproc_t procedure)
{
	char buffer[CREDENTIAL_MAX];
	struct rpc_msg message = { .rm_xid = xid, .rm_direction = CALL };

	message.rm_call.cb_rpcvers = RPC_MSG_VERSION;
	message.rm_call.cb_prog = program;
	message.rm_call.cb_vers = version;
	message.rm_call.cb_proc = procedure;
	message.rm_call.cb_verf.oa_flavor = AUTH_NONE;
	if (!encode_credential(buffer, &message.rm_call.cb_cred))
		return FALSE;
	xdrmem_create(xdrs, (char *)call->record, sizeof(call->record), XDR_ENCODE);
	return xdr_callmsg(xdrs, &message);
}

int canfs_call_end(struct canfs_call *call, XDR *xdrs, bool_t complete)
{
	call->len = complete ? xdr_getpos(xdrs) : 0;
	return complete ? 0 : -EMSGSIZE;
}

int canfs_call_getport(struct canfs_call *call, uint32_t xid, uint32_t program)
{
	struct pmap pmap = { .pm_prog = program, .pm_vers = 3, .pm_prot = IPPROTO_TCP };
	XDR xdrs;

	return canfs_call_end(call, &xdrs,
		canfs_call_begin(call, &xdrs, xid, PMAPPROG, PMAPVERS, PMAPPROC_GETPORT) &&
			xdr_pmap(&xdrs, &pmap));
}

int canfs_call_mnt(struct canfs_call *call, uint32_t xid, const char *path)
{
	dirpath dirpath = (char *)path; /* encoding does not write to it */
	XDR xdrs;

	return canfs_call_end(call, &xdrs,
		canfs_call_begin(call, &xdrs, xid, MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT) &&
			xdr_dirpath(&xdrs, &dirpath));
}

int canfs_call_fsstat(
	struct canfs_call *call, uint32_t xid, const uint8_t *handle, size_t handle_len)
{
	nfs_fh3 fh = { .data = { .data_len = (u_int)handle_len, .data_val = (char *)handle } };
	XDR xdrs;

	return canfs_call_end(call, &xdrs,
		canfs_call_begin(call, &xdrs, xid, NFS_PROGRAM, NFS_V3, NFSPROC3_FSSTAT) &&
			xdr_nfs_fh3(&xdrs, &fh));
}
