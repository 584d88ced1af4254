// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Decodes replies: untrusted octets in, plain data out. Every variable-length item gets its buffer
 * before it is decoded, so the XDR routines neither allocate nor overrun it.
 */
#include "protocol/fsstat.h"

#include <errno.h>
#include <string.h>
#include <rpc/rpc.h>

#include "protocol/message.h"
#include "protocol/mount3.h"
#include "protocol/nfs3.h"

_Static_assert(CANFS_NFS3_HANDLE_MAX == NFS3_FHSIZE && NFS3_FHSIZE == FHSIZE3, "RFC 1813");

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct canfs_status accept_stats[] = {
	{ PROG_UNAVAIL, "the server does not offer this service (PROG_UNAVAIL)" },
	{ PROG_MISMATCH, "the server does not offer this version of the service (PROG_MISMATCH)" },
	{ PROC_UNAVAIL, "the server does not know this procedure (PROC_UNAVAIL)" },
	{ GARBAGE_ARGS, "the server could not decode the call (GARBAGE_ARGS)" },
	{ SYSTEM_ERR, "internal error at the server (SYSTEM_ERR)" },
};

static const struct canfs_status auth_stats[] = {
	{ AUTH_BADCRED, "authentication refused (AUTH_BADCRED)" },
	{ AUTH_REJECTEDCRED, "authentication refused (AUTH_REJECTEDCRED)" },
	{ AUTH_TOOWEAK, "the server requires more than AUTH_SYS (AUTH_TOOWEAK)" },
};

static const struct canfs_status mount_stats[] = {
	{ MNT3ERR_PERM, "mounting is not permitted (MNT3ERR_PERM)" },
	{ MNT3ERR_NOENT, "no such export (MNT3ERR_NOENT)" },
	{ MNT3ERR_IO, "I/O error at the server (MNT3ERR_IO)" },
	{ MNT3ERR_ACCES, "access to the export denied, or no such export (MNT3ERR_ACCES)" },
	{ MNT3ERR_NOTDIR, "not a directory (MNT3ERR_NOTDIR)" },
	{ MNT3ERR_INVAL, "the server rejects the path as invalid (MNT3ERR_INVAL)" },
	{ MNT3ERR_NAMETOOLONG, "the path is too long (MNT3ERR_NAMETOOLONG)" },
	{ MNT3ERR_NOTSUPP, "the server does not support MNT (MNT3ERR_NOTSUPP)" },
	{ MNT3ERR_SERVERFAULT, "server fault (MNT3ERR_SERVERFAULT)" },
};

static const struct canfs_status nfs_stats[] = {
	{ NFS3ERR_PERM, "not permitted (NFS3ERR_PERM)" },
	{ NFS3ERR_IO, "I/O error at the server (NFS3ERR_IO)" },
	{ NFS3ERR_ACCES, "access denied (NFS3ERR_ACCES)" },
	{ NFS3ERR_STALE, "stale file handle (NFS3ERR_STALE)" },
	{ NFS3ERR_BADHANDLE, "bad file handle (NFS3ERR_BADHANDLE)" },
	{ NFS3ERR_NOTSUPP, "the server does not support FSSTAT (NFS3ERR_NOTSUPP)" },
	{ NFS3ERR_SERVERFAULT, "server fault (NFS3ERR_SERVERFAULT)" },
	{ NFS3ERR_JUKEBOX, "the server asks us to retry later (NFS3ERR_JUKEBOX)" },
};

int canfs_reply_refused(const struct canfs_status *table, size_t count, int number,
	const char *unknown, const char **error)
{
	*error = unknown;
	for (size_t i = 0; i < count; i++) {
		if (table[i].number == number)
			*error = table[i].text;
	}
	return -EREMOTEIO;
}

int canfs_reply_malformed(const char *what, const char **error)
{
	*error = what;
	return -EPROTO;
}

/*
 * Decodes nothing: xdr_replymsg() calls this for the results, but each decoder reads them after the
 * header.
 */
static bool_t results_later(XDR *xdrs, ...)
{
	(void)xdrs;
	return TRUE;
}

int canfs_reply_open(XDR *xdrs, const uint8_t *record, size_t len, uint32_t xid, const char **error)
{
	char verifier[MAX_AUTH_BYTES];
	struct rpc_msg reply = { 0 };

	*error = "";
	if (len > CANFS_REPLY_MAX)
		return canfs_reply_malformed("the reply is too long", error);
	xdrmem_create(xdrs, (char *)record, (u_int)len, XDR_DECODE);
	reply.acpted_rply.ar_verf.oa_base = verifier;
	reply.acpted_rply.ar_results.proc = results_later;
	if (!xdr_replymsg(xdrs, &reply))
		return canfs_reply_malformed("the RPC header of the reply is malformed", error);
	if (reply.rm_xid != xid)
		return canfs_reply_malformed("the reply answers another call", error);

	if (reply.rm_reply.rp_stat == MSG_DENIED) {
		if (reply.rjcted_rply.rj_stat == AUTH_ERROR)
			return canfs_reply_refused(auth_stats, COUNT(auth_stats),
				(int)reply.rjcted_rply.rj_why, "authentication refused", error);
		*error = "the server does not speak RPC version 2 (RPC_MISMATCH)";
		return -EREMOTEIO;
	}
	if (reply.acpted_rply.ar_stat != SUCCESS)
		return canfs_reply_refused(accept_stats, COUNT(accept_stats),
			(int)reply.acpted_rply.ar_stat,
			"the server refused the call with an unknown RPC status", error);
	return 0;
}

bool canfs_reply_is_at_end(XDR *xdrs, size_t len)
{
	return xdr_getpos(xdrs) == len;
}

int canfs_decode_getport(
	const uint8_t *record, size_t len, uint32_t xid, uint16_t *port, const char **error)
{
	u_int32_t number;
	XDR xdrs;
	int ret = canfs_reply_open(&xdrs, record, len, xid, error);

	if (ret < 0)
		return ret;
	if (!xdr_u_int32_t(&xdrs, &number) || !canfs_reply_is_at_end(&xdrs, len) ||
		number > UINT16_MAX)
		return canfs_reply_malformed("the reply to GETPORT is malformed", error);
	if (number == 0) {
		*error = "version 3 of the service over TCP is not registered with rpcbind";
		return -EREMOTEIO;
	}
	*port = (uint16_t)number;
	return 0;
}

int canfs_decode_mnt(const uint8_t *record, size_t len, uint32_t xid,
	uint8_t handle[CANFS_NFS3_HANDLE_MAX], size_t *handle_len, const char **error)
{
	char fhandle[FHSIZE3];
	int flavors[AUTH_FLAVORS_MAX];
	mountres3 result = { 0 };
	mountres3_ok *ok = &result.mountres3_u.mountinfo;
	XDR xdrs;
	int ret = canfs_reply_open(&xdrs, record, len, xid, error);

	if (ret < 0)
		return ret;
	ok->fhandle.fhandle3_val = fhandle;
	ok->auth_flavors.auth_flavors_val = flavors;
	if (!xdr_mountres3(&xdrs, &result) || !canfs_reply_is_at_end(&xdrs, len))
		return canfs_reply_malformed("the reply to MNT is malformed", error);
	if (result.fhs_status != MNT3_OK)
		return canfs_reply_refused(mount_stats, COUNT(mount_stats), (int)result.fhs_status,
			"MNT failed with an unknown status", error);
	if (ok->fhandle.fhandle3_len == 0)
		return canfs_reply_malformed("the file handle in the reply to MNT is empty", error);
	memcpy(handle, fhandle, ok->fhandle.fhandle3_len);
	*handle_len = ok->fhandle.fhandle3_len;
	return 0;
}

int canfs_decode_fsstat(const uint8_t *record, size_t len, uint32_t xid, struct canfs_space *space,
	const char **error)
{
	FSSTAT3res result = { 0 };
	const FSSTAT3resok *ok = &result.FSSTAT3res_u.resok;
	XDR xdrs;
	int ret = canfs_reply_open(&xdrs, record, len, xid, error);

	if (ret < 0)
		return ret;
	if (!xdr_FSSTAT3res(&xdrs, &result) || !canfs_reply_is_at_end(&xdrs, len))
		return canfs_reply_malformed("the reply to FSSTAT is malformed", error);
	if (result.status != NFS3_OK) {
		ret = canfs_reply_refused(nfs_stats, COUNT(nfs_stats), (int)result.status,
			"FSSTAT failed with an unknown status", error);
		if (result.status == NFS3ERR_STALE || result.status == NFS3ERR_BADHANDLE)
			ret = -ESTALE;
		return ret;
	}
	*space = (struct canfs_space) { ok->tbytes, ok->fbytes, ok->abytes };
	return 0;
}
