// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/compound.h"

#include <errno.h>
#include <string.h>

#include "protocol/fsstat.h"
#include "protocol/message.h"
#include "protocol/nfs4.h"

_Static_assert(CANFS_NFS4_HANDLE_MAX == NFS4_FHSIZE, "RFC 7530");
_Static_assert(CANFS_PROGRAM_NFS == NFS4_PROGRAM, "RFC 7530");
_Static_assert(sizeof(((struct canfs_session *)0)->id) == NFS4_SESSIONID_SIZE, "RFC 8881");

/* Cuts the next component from *rest. Returns an empty one at the end. */
static component4 next_component(const char **rest)
{
	component4 name;

	do {
		*rest += strspn(*rest, "/");
		name.component4_val = (char *)*rest; /* encoding does not write to it */
		name.component4_len = (u_int)strcspn(*rest, "/");
		*rest += name.component4_len;
	} while (name.component4_len == 1 && name.component4_val[0] == '.');
	return name;
}

size_t canfs_path_components(const char *path)
{
	size_t n = 0;

	while (next_component(&path).component4_len > 0)
		n++;
	return n;
}

size_t canfs_getattr_plan(const struct canfs_getattr *what, uint32_t ops[CANFS_OPS_MAX])
{
	size_t lookups = what->handle_len ? 0 : canfs_path_components(what->path);
	size_t n = 0;

	if (lookups > CANFS_COMPONENTS_MAX)
		return 0;
	if (what->minor > 0)
		ops[n++] = OP_SEQUENCE;
	ops[n++] = what->handle_len ? OP_PUTFH : OP_PUTROOTFH;
	while (lookups--)
		ops[n++] = OP_LOOKUP;
	ops[n++] = OP_GETATTR;
	return n;
}

static bool_t begin(
	struct canfs_call *call, XDR *xdrs, uint32_t xid, unsigned int minor, size_t operations)
{
	COMPOUND4args_head head = { .minorversion = minor, .argarray_len = (u_int)operations };

	return canfs_call_begin(call, xdrs, xid, NFS4_PROGRAM, NFS_V4, NFSPROC4_COMPOUND) &&
	       xdr_COMPOUND4args_head(xdrs, &head);
}

static bool_t put_sequence(XDR *xdrs, const struct canfs_session *session)
{
	SEQUENCE4args args = { .sa_sequenceid = session->sequence };

	memcpy(args.sa_sessionid, session->id, sizeof(args.sa_sessionid));
	return xdr_SEQUENCE4args(xdrs, &args);
}

static bool_t put_handle(XDR *xdrs, const struct canfs_getattr *what)
{
	nfs_fh4 handle = {
		.nfs_fh4_len = (u_int)what->handle_len,
		.nfs_fh4_val = (char *)what->handle,
	};

	return xdr_nfs_fh4(xdrs, &handle);
}

static bool_t put_space_attributes(XDR *xdrs)
{
	u_int words[] = { 0, CANFS_SPACE_ATTRIBUTES };
	bitmap4 mask = { .bitmap4_len = 2, .bitmap4_val = words };

	return xdr_bitmap4(xdrs, &mask);
}

int canfs_call_getattr(struct canfs_call *call, uint32_t xid, const struct canfs_getattr *what)
{
	uint32_t ops[CANFS_OPS_MAX];
	const size_t n = canfs_getattr_plan(what, ops);
	const char *rest = what->path;
	XDR xdrs;
	bool_t ok = n > 0 && begin(call, &xdrs, xid, what->minor, n);

	for (size_t i = 0; ok && i < n; i++) {
		component4 name;

		ok = xdr_u_int32_t(&xdrs, &ops[i]);
		switch (ops[i]) {
		case OP_SEQUENCE:
			ok = ok && put_sequence(&xdrs, what->session);
			break;
		case OP_PUTFH:
			ok = ok && put_handle(&xdrs, what);
			break;
		case OP_LOOKUP:
			name = next_component(&rest);
			ok = ok && xdr_component4(&xdrs, &name);
			break;
		case OP_GETATTR:
			ok = ok && put_space_attributes(&xdrs);
			break;
		}
	}
	return canfs_call_end(call, &xdrs, ok);
}

int canfs_call_exchange_id(struct canfs_call *call, uint32_t xid, unsigned int minor,
	const struct canfs_session *session, const uint8_t verifier[8])
{
	EXCHANGE_ID4args args = { 0 };
	uint32_t op = OP_EXCHANGE_ID;
	XDR xdrs;

	memcpy(args.co_verifier, verifier, sizeof(args.co_verifier));
	args.co_ownerid.limited4_len = sizeof(session->owner);
	args.co_ownerid.limited4_val = (char *)session->owner;
	return canfs_call_end(call, &xdrs,
		begin(call, &xdrs, xid, minor, 1) && xdr_u_int32_t(&xdrs, &op) &&
			xdr_EXCHANGE_ID4args(&xdrs, &args));
}

int canfs_call_create_session(struct canfs_call *call, uint32_t xid, unsigned int minor,
	const struct canfs_session *session)
{
	u_int auth_none = AUTH_NONE;
	/* More than we need, because some servers refuse small sizes. */
	const channel_attrs4 channel = {
		.ca_maxrequestsize = CANFS_REPLY_MAX,
		.ca_maxresponsesize = CANFS_REPLY_MAX,
		.ca_maxresponsesize_cached = 1024,
		.ca_maxoperations = CANFS_OPS_MAX,
		.ca_maxrequests = 1,
	};
	CREATE_SESSION4args args = {
		.csa_clientid = session->client_id,
		.csa_sequence = session->create_sequence,
		.csa_fore_chan_attrs = channel,
		.csa_back_chan_attrs = channel,
		.csa_cb_program = 0x40000000, /* never called: we ask for no back channel */
		.csa_sec_parms = { .csa_sec_parms_len = 1, .csa_sec_parms_val = &auth_none },
	};
	uint32_t op = OP_CREATE_SESSION;
	XDR xdrs;

	return canfs_call_end(call, &xdrs,
		begin(call, &xdrs, xid, minor, 1) && xdr_u_int32_t(&xdrs, &op) &&
			xdr_CREATE_SESSION4args(&xdrs, &args));
}
