// SPDX-License-Identifier: LGPL-3.0-or-later
/* Like decode.c: every variable-length item gets its buffer before it is decoded. */
#include "protocol/compound.h"

#include <errno.h>
#include <string.h>

#include "protocol/message.h"
#include "protocol/nfs4.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct canfs_status nfs4_stats[] = {
	{ NFS4ERR_PERM, "not permitted (NFS4ERR_PERM)" },
	{ NFS4ERR_NOENT, "no such path below the server's NFSv4 root (NFS4ERR_NOENT)" },
	{ NFS4ERR_IO, "I/O error at the server (NFS4ERR_IO)" },
	{ NFS4ERR_ACCES, "access denied (NFS4ERR_ACCES)" },
	{ NFS4ERR_NOTDIR, "not a directory (NFS4ERR_NOTDIR)" },
	{ NFS4ERR_NAMETOOLONG, "the path is too long (NFS4ERR_NAMETOOLONG)" },
	{ NFS4ERR_STALE, "stale file handle (NFS4ERR_STALE)" },
	{ NFS4ERR_BADHANDLE, "bad file handle (NFS4ERR_BADHANDLE)" },
	{ NFS4ERR_SERVERFAULT, "server fault (NFS4ERR_SERVERFAULT)" },
	{ NFS4ERR_DELAY, "the server asks us to retry later (NFS4ERR_DELAY)" },
	{ NFS4ERR_EXPIRED, "the session has expired (NFS4ERR_EXPIRED)" },
	{ NFS4ERR_FHEXPIRED, "expired file handle (NFS4ERR_FHEXPIRED)" },
	{ NFS4ERR_WRONGSEC, "the server requires more than AUTH_SYS (NFS4ERR_WRONGSEC)" },
	{ NFS4ERR_CLID_INUSE, "another client uses our client ID (NFS4ERR_CLID_INUSE)" },
	{ NFS4ERR_RESOURCE, "the server is short of a resource (NFS4ERR_RESOURCE)" },
	{ NFS4ERR_MOVED, "the file system has moved to another server (NFS4ERR_MOVED)" },
	{ NFS4ERR_MINOR_VERS_MISMATCH,
		"the server offers neither NFSv4.0 nor 4.1 nor 4.2 (NFS4ERR_MINOR_VERS_MISMATCH)" },
	{ NFS4ERR_STALE_CLIENTID,
		"the server no longer knows our client ID (NFS4ERR_STALE_CLIENTID)" },
	{ NFS4ERR_SYMLINK, "the path contains a symbolic link (NFS4ERR_SYMLINK)" },
	{ NFS4ERR_OP_ILLEGAL, "the server does not know the operation (NFS4ERR_OP_ILLEGAL)" },
	{ NFS4ERR_BADSESSION, "the server does not know the session (NFS4ERR_BADSESSION)" },
	{ NFS4ERR_TOO_MANY_OPS, "the path is too deep for the server (NFS4ERR_TOO_MANY_OPS)" },
	{ NFS4ERR_DEADSESSION, "the session has ended (NFS4ERR_DEADSESSION)" },
};

/* op: the operation that failed; 0: none was started. */
static int failed(uint32_t op, uint32_t status, const char **error)
{
	int ret = canfs_reply_refused(nfs4_stats, COUNT(nfs4_stats), (int)status,
		op == OP_SEQUENCE ? "the server refuses the session with an unknown status"
				  : "COMPOUND failed with an unknown status",
		error);

	/* Servers use different statuses for a lost session. */
	if (op == OP_SEQUENCE && status != NFS4ERR_DELAY)
		return -ENOLINK;
	switch (status) {
	case NFS4ERR_STALE:
	case NFS4ERR_BADHANDLE:
	case NFS4ERR_FHEXPIRED:
		return -ESTALE;
	case NFS4ERR_MINOR_VERS_MISMATCH:
		return -EPROTONOSUPPORT;
	}
	return ret;
}

/* Input and results of the decoders. Each call uses some of them. */
struct into {
	const struct canfs_getattr *what;
	struct canfs_session session;
	bool tells_space;
	struct canfs_space space;
};

/* The server's strings are not used, so they share one buffer. */
static bool_t take_exchange_id(XDR *xdrs, struct into *into)
{
	char unread[NFS4_OPAQUE_LIMIT];
	const limited4 place = { .limited4_val = unread };
	nfs_impl_id4 implementation = { .nii_domain = place, .nii_name = place };
	EXCHANGE_ID4resok ok = { .so_major_id = place, .eir_server_scope = place };

	ok.eir_server_impl_id.eir_server_impl_id_val = &implementation;
	if (!xdr_EXCHANGE_ID4resok(xdrs, &ok) || ok.eir_state_protect != 0)
		return FALSE;
	into->session.client_id = ok.eir_clientid;
	into->session.create_sequence = ok.eir_sequenceid;
	return TRUE;
}

static bool_t take_create_session(XDR *xdrs, struct into *into)
{
	u_int fore, back;
	CREATE_SESSION4resok ok = { 0 };

	ok.csr_fore_chan_attrs.ca_rdma_ird.ca_rdma_ird_val = &fore;
	ok.csr_back_chan_attrs.ca_rdma_ird.ca_rdma_ird_val = &back;
	if (!xdr_CREATE_SESSION4resok(xdrs, &ok))
		return FALSE;
	memcpy(into->session.id, ok.csr_sessionid, sizeof(into->session.id));
	return TRUE;
}

static bool_t take_sequence(XDR *xdrs, struct into *into)
{
	const struct canfs_session *session = into->what->session;
	SEQUENCE4resok ok;

	return xdr_SEQUENCE4resok(xdrs, &ok) && ok.sr_slotid == 0 &&
	       ok.sr_sequenceid == session->sequence &&
	       memcmp(ok.sr_sessionid, session->id, sizeof(session->id)) == 0;
}

/* Values are in the order of their numbers: space_avail 42, space_free 43, space_total 44. */
static bool_t take_values(XDR *values, struct canfs_space *space)
{
	u_quad_t avail, free, total;

	if (!xdr_u_quad_t(values, &avail) || !xdr_u_quad_t(values, &free) ||
		!xdr_u_quad_t(values, &total))
		return FALSE;
	*space = (struct canfs_space) { total, free, avail };
	return TRUE;
}

static bool_t take_getattr(XDR *xdrs, struct into *into)
{
	u_int words[BITMAP_WORDS_MAX] = { 0 };
	char values[ATTRIBUTES_MAX];
	fattr4 attributes = { .attrmask.bitmap4_val = words };
	XDR inner;

	attributes.attr_vals.attr_vals_val = values;
	if (!xdr_fattr4(xdrs, &attributes))
		return FALSE;
	for (u_int i = 0; i < attributes.attrmask.bitmap4_len; i++) {
		if (words[i] & ~(i == 1 ? CANFS_SPACE_ATTRIBUTES : 0)) /* not asked for */
			return FALSE;
	}
	into->tells_space = words[1] == CANFS_SPACE_ATTRIBUTES;
	if (!into->tells_space)
		return TRUE;
	xdrmem_create(&inner, values, attributes.attr_vals.attr_vals_len, XDR_DECODE);
	return take_values(&inner, &into->space) &&
	       canfs_reply_is_at_end(&inner, attributes.attr_vals.attr_vals_len);
}

static bool_t take_result(XDR *xdrs, uint32_t op, struct into *into)
{
	switch (op) {
	case OP_EXCHANGE_ID:
		return take_exchange_id(xdrs, into);
	case OP_CREATE_SESSION:
		return take_create_session(xdrs, into);
	case OP_SEQUENCE:
		return take_sequence(xdrs, into);
	case OP_GETATTR:
		return take_getattr(xdrs, into);
	default: /* PUTROOTFH, PUTFH, LOOKUP */
		return TRUE;
	}
}

/* Decodes the results up to the first that failed. A failed result is only a status. */
static bool_t take_results(
	XDR *xdrs, const COMPOUND4res_head *head, const uint32_t *ops, size_t n, struct into *into)
{
	uint32_t status = head->status;

	if (head->resarray_len > n)
		return FALSE;
	for (size_t i = 0; i < head->resarray_len; i++) {
		nfs_resop4_head result;

		if (i > 0 && status != NFS4_OK)
			return FALSE;
		if (!xdr_nfs_resop4_head(xdrs, &result))
			return FALSE;
		status = result.status;
		if (result.resop != ops[i] &&
			(result.resop != OP_ILLEGAL || status != NFS4ERR_OP_ILLEGAL))
			return FALSE;
		if (status == NFS4_OK && !take_result(xdrs, ops[i], into))
			return FALSE;
	}
	return status == head->status && (status != NFS4_OK || head->resarray_len == n);
}

static int decode(const uint8_t *record, size_t len, uint32_t xid, const uint32_t *ops, size_t n,
	struct into *into, const char **error)
{
	char tag[TAG_MAX];
	COMPOUND4res_head head = { .tag = { .tag_val = tag } };
	XDR xdrs;
	int ret = canfs_reply_open(&xdrs, record, len, xid, error);

	if (ret < 0)
		return ret;
	if (!xdr_COMPOUND4res_head(&xdrs, &head) || !take_results(&xdrs, &head, ops, n, into) ||
		!canfs_reply_is_at_end(&xdrs, len))
		return canfs_reply_malformed("the reply to COMPOUND is malformed", error);
	if (head.status == NFS4_OK)
		return 0;
	return failed(head.resarray_len ? ops[head.resarray_len - 1] : 0, head.status, error);
}

int canfs_decode_getattr(const uint8_t *record, size_t len, uint32_t xid,
	const struct canfs_getattr *what, struct canfs_space *space, const char **error)
{
	uint32_t ops[CANFS_OPS_MAX];
	struct into into = { .what = what };
	int ret = decode(record, len, xid, ops, canfs_getattr_plan(what, ops), &into, error);

	if (ret < 0)
		return ret;
	if (!into.tells_space) {
		*error = "the server does not report space_total, space_free and space_avail";
		return -EREMOTEIO;
	}
	*space = into.space;
	return 0;
}

int canfs_decode_exchange_id(const uint8_t *record, size_t len, uint32_t xid,
	struct canfs_session *session, const char **error)
{
	const uint32_t op = OP_EXCHANGE_ID;
	struct into into = { 0 };
	int ret = decode(record, len, xid, &op, 1, &into, error);

	if (ret < 0)
		return ret;
	session->client_id = into.session.client_id;
	session->create_sequence = into.session.create_sequence;
	return 0;
}

int canfs_decode_create_session(const uint8_t *record, size_t len, uint32_t xid,
	struct canfs_session *session, const char **error)
{
	const uint32_t op = OP_CREATE_SESSION;
	struct into into = { 0 };
	int ret = decode(record, len, xid, &op, 1, &into, error);

	if (ret < 0)
		return ret;
	memcpy(session->id, into.session.id, sizeof(session->id));
	session->sequence = 1;
	return 0;
}
